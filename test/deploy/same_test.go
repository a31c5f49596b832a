package deploy_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/test/rig"
)

// answer is what must be equal wherever a row is run.
type answer struct{ outcome, response, fault string }

// mixture is the examples and some hundred rows among which some are bad, doubled, contradicting, refused here or failing there. Rows
// that mean something to each other are neighbours: which comes first is decided by the order of blocks, which replicas may change.
func mixture(t *testing.T) string {
	t.Helper()
	examples, err := os.ReadFile("../../examples/requests.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	text.Write(examples)
	filler := strings.Repeat("All work and no play makes a dull batch. ", 20)
	for i := range 600 {
		id := rig.RowID(i)
		text.WriteString(rig.Chat(id, fmt.Sprintf("model-%d", i%3), fmt.Sprintf("%d %s", i, filler)))
		switch i % 60 {
		case 7:
			text.WriteString(rig.Chat(id, fmt.Sprintf("model-%d", i%3), fmt.Sprintf("%d %s", i, filler))) // duplicate
		case 17:
			text.WriteString(rig.Chat(id, "model-0", "something else")) // conflict
		case 27:
			fmt.Fprintf(&text, "this is no JSON %d\n", i)
		case 37:
			fmt.Fprintf(&text, `{"custom_id":"stream-%d","method":"POST","url":"/v1/chat/completions","body":{"model":"m","stream":true}}`+"\n", i)
		case 47:
			fmt.Fprintf(&text, `{"custom_id":"hot-%d","method":"POST","url":"/v1/chat/completions","body":{"model":"model-1","temperature":3,"messages":[]}}`+"\n", i)
		case 57:
			fmt.Fprintf(&text, `{"custom_id":"embed-%d","method":"POST","url":"/v1/embeddings","body":{"model":"embed","input":"text %d","dimensions":16}}`+"\n", i, i)
		}
	}
	return text.String()
}

func TestTheSameInputHasTheSameResultsInRunInDevAndInFourServicesOfTwoReplicas(t *testing.T) {
	t.Parallel()
	input := mixture(t)
	results, letters := runHere(t, input)
	if len(results) != 20+600+3*10 || len(letters) != 3*10 {
		t.Fatalf("batchbus run has %d results and %d dead letters: the input is not what it should be", len(results), len(letters))
	}
	t.Run("in batchbus dev", func(t *testing.T) {
		t.Parallel()
		address := rig.FreeAddress(t)
		rig.Launch(t, "batchbus", nil, "dev", "--listen="+address, "--data="+t.TempDir(), "--simulate", "--simulator-seed=7")
		d := rig.At(t, "nats://"+address)
		wantSame(t, d, input, results, letters)
	})
	t.Run("in four services of two replicas", func(t *testing.T) {
		t.Parallel()
		d := rig.Deploy(t, rig.Shape{Replicas: 2})
		wantSame(t, d, input, results, letters)
		d.WantQuietEnd()
	})
}

// wantSame publishes the input and checks what becomes of it.
func wantSame(t *testing.T, d *rig.Deployment, input string, wantResults map[string]answer, wantLetters []string) {
	t.Helper()
	d.Publish("same", strings.NewReader(input))
	d.Await(events.JobDone, "same")
	results := d.Results("same")
	for id, want := range wantResults {
		r := results[id]
		if got := (answer{string(r.Outcome), string(r.Response), faultOf(t, r.Raw)}); got != want {
			t.Errorf("row %q\nin run %+v\nhere   %+v", id, want, got)
		}
	}
	if len(results) != len(wantResults) {
		t.Errorf("%d results, want %d", len(results), len(wantResults))
	}
	var letters []string
	for _, l := range d.DeadLetters("same") {
		letters = append(letters, letterOf(t, l.Raw))
	}
	slices.Sort(letters)
	if !slices.Equal(letters, wantLetters) {
		t.Errorf("dead letters\n%s\nwant\n%s", strings.Join(letters, "\n"), strings.Join(wantLetters, "\n"))
	}
}

// runHere is what batchbus run makes of the input, with the same seed.
func runHere(t *testing.T, input string) (results map[string]answer, letters []string) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "rows.jsonl")
	if err := os.WriteFile(file, []byte(input), 0o600); err != nil {
		t.Fatal(err)
	}
	run := rig.Command(t, dir, nil, "batchbus", "run", file, "--simulate", "--simulator-seed=7", "--format=event", "--out=out", "--json")
	if run.Code != 1 { // some rows fail
		t.Fatalf("batchbus run ends with %d\n%s\n%s", run.Code, run.Stdout, run.Stderr)
	}
	var files struct {
		OutputFile string `json:"output_file"`
		ErrorsFile string `json:"errors_file"`
	}
	if err := json.Unmarshal(run.Stdout, &files); err != nil {
		t.Fatal(err)
	}
	results = map[string]answer{}
	for _, name := range []string{files.OutputFile, files.ErrorsFile} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(data) {
			if letter, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte(`{"outcome":"dead_letter",`)); ok {
				letters = append(letters, letterOf(t, append([]byte("{"), letter...)))
				continue
			}
			r, err := events.ParseResult(line)
			if err != nil {
				t.Fatalf("%v: %s", err, line)
			}
			results[r.CustomID] = answer{string(r.Outcome), string(r.Response), faultOf(t, line)}
		}
	}
	slices.Sort(letters)
	return results, letters
}

// faultOf is a result's error as it stands there.
func faultOf(t *testing.T, raw []byte) string {
	t.Helper()
	var event struct {
		Error json.RawMessage `json:"error"`
	}
	if err := json.Unmarshal(raw, &event); err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	return string(event.Error)
}

// letterOf is a dead letter without what differs from bus to bus: names of jobs, sequences and times.
func letterOf(t *testing.T, raw []byte) string {
	t.Helper()
	letter, err := events.ParseDeadLetter(raw)
	if err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	return fmt.Sprintf("%05d:%d %s %q %s", letter.Line, letter.Column, letter.Code, letter.CustomID, letter.Payload)
}
