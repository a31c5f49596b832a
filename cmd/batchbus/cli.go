package main

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"strings"

	"github.com/batchbus/batchbus/internal/app"
)

const description = `LLM batch inference as events on NATS JetStream.

Rows go in as JSONL, one request a line; each gets exactly one answer. Without DOUBLEWORD_API_KEY the provider is simulated.
Every flag can be set by an environment variable too: --max-store by BATCHBUS_MAX_STORE.`

// commands is the whole command line.
type commands struct {
	Run         runCommand         `cmd:"" help:"Run files of rows to the end: embedded bus, all services, results in files."`
	Dev         devCommand         `cmd:"" help:"The same for any NATS client, until Ctrl-C: embedded bus, all services, a simulated or real provider."`
	Gateway     gatewayCommand     `cmd:"" help:"Take the calls of programs that know an OpenAI SDK, over HTTP, and answer them by batches."`
	Submit      submitCommand      `cmd:"" help:"Publish files of rows as a job to a deployment, and perhaps wait for it."`
	Status      statusCommand      `cmd:"" help:"Show a job and its batches."`
	Wait        waitCommand        `cmd:"" help:"Wait for the end of a job."`
	Watch       watchCommand       `cmd:"" help:"Print what happens to a job, until its end."`
	Results     resultsCommand     `cmd:"" help:"Print the results of a job."`
	Seal        sealCommand        `cmd:"" help:"Seal a job: nothing follows."`
	Cancel      cancelCommand      `cmd:"" help:"Cancel a job."`
	Resume      resumeCommand      `cmd:"" help:"End holds whose cause is gone: of a job, of one batch, or all of a queue that is out of credit."`
	Batch       batchCommand       `cmd:"" help:"End the hold of a batch by adopting or abandoning what the provider has."`
	Retry       retryCommand       `cmd:"" help:"Send rows of a completed job that have no answer once more, in a job that names it."`
	List        listCommand        `cmd:"" help:"List the jobs."`
	Top         topCommand         `cmd:"" help:"Show jobs, batches, rates and holds on a terminal as they change, with keys to filter, cancel and resume."`
	Jobs        jobsCommand        `cmd:"" help:"Open jobs with options of their own."`
	Queues      queuesCommand      `cmd:"" help:"Look at the policies of queues, and change them."`
	Audit       auditCommand       `cmd:"" help:"Prove that every row of a job ended as exactly one result or dead letter, and was paid once."`
	Deadletters deadlettersCommand `cmd:"" help:"Look at what was refused, publish it anew, delete it."`
	Usage       usageCommand       `cmd:"" help:"Show what queues have spent and reserved, what their limits leave, and what batches saved."`
	Forget      forgetCommand      `cmd:"" help:"Remove rows, results, dead letters and objects of a completed job."`
	Prepare     prepareCommand     `cmd:"" help:"Write files of rows anew as plain JSONL, with members set or dropped, ids added and images put in."`
	Stats       statsCommand       `cmd:"" help:"Count what files of rows hold: rows, models, sizes, estimated tokens, doubled ids, batches."`
	Sample      sampleCommand      `cmd:"" help:"Take some rows of files, each with the same chance."`
	Split       splitCommand       `cmd:"" help:"Cut files of rows into parts, by number, size, model or url."`
	Merge       mergeCommand       `cmd:"" help:"Make one file of several, and refuse a custom_id that comes twice."`
	Diff        diffCommand        `cmd:"" help:"Compare two sets of results by custom_id."`
	Completion  completionCommand  `cmd:"" help:"Print the script that completes command lines in bash, zsh or fish."`
	Validate    validateCommand    `cmd:"" help:"Check files of rows without any network: every bad or doubled row, with line and reason."`
	Setup       setupCommand       `cmd:"" help:"Create streams, buckets and consumers on a NATS server, or say how they differ."`
	Estimate    estimateCommand    `cmd:"" help:"Say how many tokens rows of files may take, and what that may cost, without any network."`
	Version     versionCommand     `cmd:"" help:"Print the version."`
}

// command is what each of them does. The code is the program's exit code; an error is printed, one line a fault.
type command interface {
	run(ctx context.Context, env app.Env) (code int, err error)
}

// execute parses the command line, runs the command and returns the exit code.
func execute(ctx context.Context, env app.Env) int {
	var cli commands
	parsed, err := app.ParseFlags(env, "batchbus", description, &cli)
	if errors.Is(err, app.ErrHelp) {
		return app.ExitOK
	}
	if err != nil {
		return fail(env, err)
	}
	chosen, ok := reflect.TypeAssert[command](parsed.Selected().Target.Addr())
	if !ok {
		return fail(env, errors.New("no command"))
	}
	code, err := chosen.run(ctx, env)
	if err != nil {
		return max(code, fail(env, err))
	}
	return code
}

// fail prints err, one line a joined fault, and returns the code of faults.
func fail(env app.Env, err error) int {
	for _, line := range faultLines(err) {
		fmt.Fprintln(env.Stderr, "batchbus:", line)
	}
	return app.ExitFault
}

// faultLines are the faults that were joined in err, each as one printable line. A line feed in a foreign text begins no line of its own.
func faultLines(err error) []string {
	if joined, ok := err.(interface{ Unwrap() []error }); ok && err.Error() == errors.Join(joined.Unwrap()...).Error() {
		var lines []string
		for _, one := range joined.Unwrap() {
			lines = append(lines, faultLines(one)...)
		}
		return lines
	}
	text, inner := err.Error(), errors.Unwrap(err)
	if inner != nil {
		if before, wraps := strings.CutSuffix(text, inner.Error()); wraps {
			return []string{printable(before) + strings.Join(faultLines(inner), "; ")}
		}
	}
	return []string{printable(text)}
}

type versionCommand struct{}

func (v *versionCommand) run(_ context.Context, env app.Env) (int, error) {
	version := "(devel)"
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		version = info.Main.Version
	}
	if _, err := fmt.Fprintln(env.Stdout, "batchbus", version); err != nil {
		return app.ExitFault, fmt.Errorf("print version: %w", err)
	}
	return app.ExitOK, nil
}
