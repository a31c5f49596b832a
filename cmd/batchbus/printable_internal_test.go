package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/batchbus/batchbus/internal/app"
	"github.com/batchbus/batchbus/internal/refused"
	"github.com/batchbus/batchbus/pkg/client"
	"github.com/batchbus/batchbus/pkg/events"
)

// evil is a text that would clear a line, forge another one and turn the rest around.
const evil = "m\x1b[2K\r\nbatch 9: settled\u202e\x9b\u0085 é\xff"

func TestAForeignTextIsPrintedAsOneLineOfPrintableCharacters(t *testing.T) {
	t.Parallel()
	if got, want := printable(evil), `m\x1b[2K\r\nbatch 9: settled\u202e\x9b\u0085 é\xff`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if plain := `a "quoted" name, C:\files — 日本`; printable(plain) != plain {
		t.Errorf("a harmless text became %s", printable(plain))
	}
}

func TestNoCommandLetsAForeignTextReachTheTerminalRaw(t *testing.T) {
	t.Parallel()
	var shown bytes.Buffer
	hold := &events.Hold{Code: "refused", Message: evil, At: time.Now()}
	batch := events.Batch{N: "1", State: events.BatchPlanned, Hold: hold, LastError: evil, Why: evil, Status: evil, GroupKey: events.GroupKey{Model: evil}}
	status := events.JobStatus{Job: "j", Queue: "q", Description: evil, Hold: hold, Batches: []events.Batch{batch}}
	if err := describeJob(&shown, &status); err != nil {
		t.Fatal(err)
	}
	env := app.Env{Stdout: &shown, Stderr: &shown}
	say(env, "%s", strings.ReplaceAll(evil, "\n", "")) // lines of ours may be several
	watched := &watchCommand{}
	if err := watched.print(env, &client.Event{Event: events.Event{Kind: events.BatchHeld, Batch: "1", BatchState: &batch, Note: evil}}); err != nil {
		t.Fatal(err)
	}
	entry := refused.Entry{Kind: "deadletter", Code: "bad_subject", Message: evil, Hint: evil, Subject: evil, Lost: evil}
	shown.WriteString(strings.Join(entryWords(&entry), "\n") + "\n")
	for line := range strings.Lines(shown.String()) {
		if line = strings.TrimSuffix(line, "\n"); strings.IndexFunc(line, isUnprintable) >= 0 || strings.HasPrefix(line, "batch 9") {
			t.Errorf("raw on the terminal: %q", line)
		}
	}
}
