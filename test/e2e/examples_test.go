package e2e_test

import (
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/batchbus/batchbus/test/rig"
)

// told is a command whose help has an example, and the exit code that the example ends with.
type told struct {
	command string
	code    int
}

// toldInOrder are the examples of a person's day with one data folder: each finds what those before it left.
func toldInOrder() []told {
	return []told{
		{"validate", 0},
		{"run", 0},
		{"status", 0},
		{"watch", 0},
		{"results", 0},
		{"usage", 0},
		{"queues put", 0},
		{"queues list", 0},
		{"queues get", 0},
		{"queues pause", 0},
		{"queues resume", 0},
		{"submit", 0},
		{"wait", 0},
		{"list", 0},
		{"jobs open", 0},
		{"seal", 0},
		{"cancel", 0},
		{"resume", 0},
		{"batch adopt", 2},
		{"batch abandon", 2}, // no batch is held, and they say so
		{"retry", 0},
		{"deadletters list", 0},
		{"deadletters show", 0},
		{"deadletters requeue", 0},
		{"deadletters purge", 0},
		{"audit", 0},
		{"forget", 0},
		{"estimate", 0},
		{"version", 0},
		{"top", 2}, // there is no terminal
	}
}

// exampleOf are the examples in the help of a command.
func exampleOf(t *testing.T, dir, command string) []string {
	t.Helper()
	help := batchbus(t, dir, nil, append(strings.Fields(command), "--help")...)
	help.want(t, 0)
	lines := regexp.MustCompile(`(?m)^ {2,4}(batchbus `+command+`( .*)?)$`).FindAllStringSubmatch(help.stdout, -1)
	if len(lines) == 0 {
		t.Fatalf("%s --help has no example:\n%s", command, help.stdout)
	}
	all := make([]string, len(lines))
	for i := range lines {
		all[i] = lines[i][1]
	}
	return all
}

func TestEachExampleInTheHelpOfACommandDoesWhatItSays(t *testing.T) {
	t.Parallel()
	dir := fileFolder(t)
	rows, err := os.ReadFile(filepath.Join(dir, "rows.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	bad := writeFile(t, filepath.Join(dir, "bad.jsonl"), strings.Replace(string(rows), `"r0","method":"POST","url":"/v1/chat/completions","body":{`, `"bad","method":"POST","url":"/v1/chat/completions","body":{"stream":true,`, 1))
	batchbus(t, dir, nil, "run", bad, "--job", "broken").want(t, 1)
	batchbus(t, dir, nil, "run", "rows.jsonl", "--job", "failing", "--simulator-failure-rate", "1").want(t, 1)
	for _, e := range toldInOrder() {
		for _, line := range exampleOf(t, dir, e.command) {
			if o := shellCode(t, dir, line); o != e.code {
				t.Errorf("%s ended with %d, want %d", line, o, e.code)
			}
		}
	}
}

// shellCode runs a line and returns its exit code.
func shellCode(t *testing.T, dir, line string) int {
	t.Helper()
	o := startProgram(t, "batchbus", dir, nil, argumentsOf(line)[1:]...).wait(t)
	t.Logf("%s\n%d\n%.500s\n%.500s", line, o.code, o.stdout, o.stderr)
	return o.code
}

// argumentsOf are the words of a line, of which those in single quotes are one.
func argumentsOf(line string) []string {
	var all []string
	for _, m := range regexp.MustCompile(`'([^']*)'|(\S+)`).FindAllStringSubmatch(line, -1) {
		all = append(all, m[1]+m[2])
	}
	return all
}

func TestTheExamplesOfServersServe(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for command, port := range map[string]string{"dev": "127.0.0.1:4222", "gateway": "127.0.0.1:8090"} {
		address := rig.FreeAddress(t)
		p := startProgram(t, "batchbus", dir, nil, argumentsOf(strings.ReplaceAll(exampleOf(t, dir, command)[0], port, address))[1:]...)
		waitUntil(t, p, command+" listens", func() bool { return listens(address) })
		if command == "dev" {
			setup := strings.ReplaceAll(exampleOf(t, dir, "setup")[0], port, address)
			rig.Eventually(t, "setup says how an embedded server differs from a deployment's", func() bool { return shellCode(t, dir, setup) == 2 })
		}
		if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		p.wait(t).want(t, 130)
	}
}

func TestEachCommandHasAnExampleThatATestRuns(t *testing.T) {
	t.Parallel()
	var run []string
	for _, e := range toldInOrder() {
		run = append(run, e.command)
	}
	run = append(append(run, fileCommands()...), "dev", "gateway", "setup")
	help := batchbus(t, t.TempDir(), nil, "--help")
	help.want(t, 0)
	_, list, _ := strings.Cut(help.stdout, "Commands:")
	commands := regexp.MustCompile(`(?m)^  ([a-z]+(?: [a-z]+)?)(?: [<\[-].*)?$`).FindAllStringSubmatch(list, -1)
	if len(commands) < 30 {
		t.Fatalf("%d commands in\n%s", len(commands), list)
	}
	for _, c := range commands {
		if !slices.Contains(run, c[1]) {
			t.Errorf("no test runs an example of %s", c[1])
		}
	}
}

func listens(address string) bool {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}
