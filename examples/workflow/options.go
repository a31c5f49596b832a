package main

import (
	"bytes"
	_ "embed" // the example rows
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/batchbus/batchbus/examples/workflow/flow"
	"github.com/batchbus/batchbus/pkg/events"
)

//go:embed rows.jsonl
var exampleRows []byte

// options are what the command line says.
type options struct {
	file, report string
	nats, creds  string
	data         string
	queue, job   string
	now          time.Time
	timeout      time.Duration
	toolTimeout  time.Duration
	caps         flow.Caps
}

func parse(args []string, stderr io.Writer) (*options, error) {
	o := &options{caps: flow.DefaultCaps(), now: time.Now()}
	flags := flag.NewFlagSet("workflow", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprintln(stderr, "usage: workflow [flags] [FILE]\n\nFILE holds chat rows, JSONL; without it the built-in example rows are taken.")
		flags.PrintDefaults()
	}
	flags.StringVar(&o.nats, "nats", "", "URL of a deployment's NATS; without it an embedded bus and the simulator are used: no model runs, nothing is paid")
	flags.StringVar(&o.creds, "creds", "", "NATS credentials file, with -nats")
	flags.StringVar(&o.data, "data", ".batchbus-workflow", "folder of the embedded bus")
	flags.StringVar(&o.queue, "queue", events.DefaultQueue, "queue of the jobs")
	flags.StringVar(&o.job, "job", "", "name of the workflow and of its first job (default: made of the rows, so that the same rows go on where they were)")
	flags.StringVar(&o.report, "report", "workflow-report.jsonl", "file for the report, a line for each row")
	flags.DurationVar(&o.timeout, "timeout", 0, "how long to go on at most, 0: to the end")
	flags.Func("now", "what the tool current_time says, such as 2026-11-30T02:00:00Z (default: when the program started)", func(text string) (err error) {
		o.now, err = time.Parse(time.RFC3339, text)
		return err //nolint:wrapcheck // package flag says which flag and value
	})
	flags.DurationVar(&o.toolTimeout, "tool-timeout", 10*time.Second, "how long a tool call may take")
	flags.IntVar(&o.caps.Stages, "max-stages", o.caps.Stages, "jobs, one behind the other")
	flags.IntVar(&o.caps.Rows, "max-rows", o.caps.Rows, "rows of the input")
	flags.IntVar(&o.caps.CallsPerRow, "max-calls-per-row", o.caps.CallsPerRow, "tool calls of a row")
	flags.IntVar(&o.caps.Calls, "max-calls", o.caps.Calls, "tool calls of all rows")
	flags.IntVar(&o.caps.ResultBytes, "max-result-bytes", o.caps.ResultBytes, "bytes of a tool's result")
	flags.IntVar(&o.caps.RowBytes, "max-row-bytes", o.caps.RowBytes, "bytes of a row with its whole conversation")
	flags.Int64Var(&o.caps.Bytes, "max-bytes", o.caps.Bytes, "bytes of all rows of all stages")
	if err := flags.Parse(args); err != nil {
		return nil, err //nolint:wrapcheck // it says which flag
	}
	if flags.NArg() > 1 {
		return nil, errors.New("give one FILE at most")
	}
	o.file = flags.Arg(0)
	return o, o.check()
}

func (o *options) check() error {
	faults := []error{o.caps.Check(), events.CheckName(o.queue)}
	if o.toolTimeout <= 0 {
		faults = append(faults, errors.New("-tool-timeout must be more than 0"))
	}
	if o.job != "" {
		faults = append(faults, events.CheckName(flow.JobName(o.job, o.caps.Stages)))
	}
	return errors.Join(faults...)
}

// load reads the rows, and names the workflow after them if it has no name.
func (o *options) load(tools []byte) ([]*flow.Thread, error) {
	input := io.Reader(bytes.NewReader(exampleRows))
	if o.file != "" {
		file, err := os.Open(o.file) //nolint:gosec // the user named it
		if err != nil {
			return nil, fmt.Errorf("open rows: %w", err)
		}
		defer file.Close()
		input = file
	}
	threads, err := flow.Load(input, tools, o.caps)
	if err == nil && len(threads) == 0 {
		err = errors.New("read rows: there are none")
	}
	if err == nil && o.job == "" {
		o.job = "workflow-" + flow.Digest(threads)[:12]
	}
	return threads, err
}
