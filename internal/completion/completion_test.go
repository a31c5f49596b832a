package completion_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/batchbus/batchbus/internal/completion"
)

// tool is a small command line with everything that a script has to tell apart.
func tool() *completion.Command {
	help := completion.Flag{Long: "help", Short: "h", Help: "Show help."}
	return &completion.Command{
		Name: "tool", Flags: []completion.Flag{help}, Commands: []completion.Command{
			{Name: "run", Help: "Run the user's \"files\": `all` of $them. More.", Files: true, Flags: []completion.Flag{
				help, {Long: "out", Short: "o", Help: "Where to\\.", Value: completion.File}, {Long: "dir", Value: completion.Folder}, {Long: "job", Help: "It's a job.", Value: completion.Text}, {Long: "json"},
			}},
			{Name: "queues", Help: "Queues.", Commands: []completion.Command{
				{Name: "get", Help: "One.", Flags: []completion.Flag{help, {Long: "json"}}}, {Name: "list", Help: "All."},
			}},
		},
	}
}

// cases are command lines, the last word of which is completed in a folder with a file "a b.jsonl" and a folder "sub".
func cases() map[string][]string {
	return map[string][]string{
		"tool ":             {"run", "queues"},
		"tool r":            {"run"},
		"tool queues ":      {"get", "list"},
		"tool queues get -": {"--help", "-h", "--json"},
		"tool run --":       {"--help", "--out", "--dir", "--job", "--json"},
		"tool run --j":      {"--job", "--json"},
		"tool run --job ":   nil,
		"tool run --job x ": {"a b.jsonl", "sub"},
		"tool run --dir ":   {"sub"},
		"tool run -o ":      {"a b.jsonl", "sub"},
		"tool run a":        {"a b.jsonl"},
		"tool queues list ": nil,
	}
}

// completed runs a shell with a program in a folder to complete in.
func completed(t *testing.T, shell, program, line string) []string {
	t.Helper()
	if _, err := exec.LookPath(shell); errors.Is(err, exec.ErrNotFound) {
		if shell == "bash" && os.Getenv("CI") != "" {
			t.Fatal("bash is not here, and the gate needs it")
		}
		t.Skipf("NOT TESTED: %s is not installed here", shell)
	}
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "script")
	var script strings.Builder
	if err := completion.Write(&script, shell, tool()); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "sub"), 0o700), os.WriteFile(filepath.Join(dir, "a b.jsonl"), nil, 0o600), os.WriteFile(file, []byte(script.String()), 0o600)); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	cmd := exec.CommandContext(ctx, shell, "-c", program, "x", line)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "LINE="+line, "SCRIPT="+file, "HOME="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var all []string
	for word := range strings.Lines(string(out)) {
		word, _, _ = strings.Cut(strings.TrimSuffix(word, "\n"), "\t")
		all = append(all, strings.TrimSuffix(word, "/"))
	}
	slices.Sort(all)
	return all
}

func check(t *testing.T, shell, program string, want map[string][]string) {
	t.Helper()
	for line, words := range want {
		slices.Sort(words)
		if got := completed(t, shell, program, line); !slices.Equal(got, words) {
			t.Errorf("%q is completed by %q, want %q", line, got, words)
		}
	}
}

func TestBashCompletes(t *testing.T) {
	t.Parallel()
	check(t, "bash", `source "$SCRIPT"
COMP_WORDS=($LINE); [[ $LINE == *" " ]] && COMP_WORDS+=(""); COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_tool; for word in "${COMPREPLY[@]}"; do printf '%s\n' "$word"; done`, cases())
}

// TestZshCompletes puts what zsh's own functions would offer into lines: they work only where somebody types.
func TestZshCompletes(t *testing.T) {
	t.Parallel()
	check(t, "zsh", `compdef() { : }
_message() { : }
_files() { [[ $1 == -/ ]] && print -l -- ${PREFIX}*(N/) || print -l -- ${PREFIX}*(N) }
_describe() { [[ $1 == -o ]] && shift; local word; for word in ${(P)2}; do [[ ${word%%:*} == ${PREFIX}* ]] && print -r -- ${word%%:*}; done; true }
source "$SCRIPT"
words=(${=LINE}); [[ $LINE == *" " ]] && words+=(""); CURRENT=$#words; PREFIX=$words[-1]; _tool`, cases())
}

func TestFishCompletes(t *testing.T) {
	t.Parallel()
	want := cases()
	want["tool queues get -"] = []string{"--help", "--json", "-h"}
	check(t, "fish", `source "$SCRIPT"; complete -C "$LINE"`, want)
}

func TestTextsOfHelpReachTheScriptsAsTexts(t *testing.T) {
	t.Parallel()
	for shell, want := range map[string]string{
		"zsh":  `'run:Run the user'\''s "files": ` + "`all`" + ` of $them'`,
		"fish": `-a run -d 'Run the user\'s "files": ` + "`all`" + ` of $them'`,
	} {
		var out strings.Builder
		if err := completion.Write(&out, shell, tool()); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("%s: %v\n%s", shell, err, out.String())
		}
	}
	if err := completion.Write(&strings.Builder{}, "ksh", tool()); err == nil {
		t.Error("an unknown shell is no error")
	}
}
