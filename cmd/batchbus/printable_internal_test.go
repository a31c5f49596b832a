package main

import (
	"bytes"
	"errors"
	"fmt"
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
	say(env, "%s", evil)
	fail(env, fmt.Errorf("read: %w", errors.Join(errors.New(evil), errors.New("b: "+evil))))
	watched := &watchCommand{}
	if err := watched.print(env, &client.Event{Event: events.Event{Kind: events.BatchHeld, Batch: "1", BatchState: &batch, Note: evil}}); err != nil {
		t.Fatal(err)
	}
	entry := refused.Entry{Kind: "deadletter", Code: "bad_subject", Message: evil, Hint: evil, Subject: evil, Lost: evil}
	shown.WriteString(strings.Join(entryWords(&entry), "\n") + "\n")
	showTables(t, env, &status, &entry)
	for line := range strings.Lines(shown.String()) {
		if line = strings.TrimSuffix(line, "\n"); strings.IndexFunc(line, isUnprintable) >= 0 || strings.Contains(line, "batch 9") && !strings.Contains(line, `\nbatch 9`) {
			t.Errorf("raw on the terminal: %q", line)
		}
	}
}

func TestJoinedFaultsStandOneALineAndForeignLineFeedsBeginNone(t *testing.T) {
	t.Parallel()
	var shown bytes.Buffer
	inner := errors.Join(errors.New("a\nforged"), errors.New("b"))
	fail(app.Env{Stderr: &shown}, errors.Join(fmt.Errorf("read x: %w", inner), errors.New("c"), errors.Join(errors.New("d"))))
	if want := "batchbus: read x: a\\nforged; b\nbatchbus: c\nbatchbus: d\n"; shown.String() != want {
		t.Errorf("got  %q\nwant %q", shown.String(), want)
	}
}

// showTables prints what is no line of words: tables, findings, counts and ids.
func showTables(t *testing.T, env app.Env, job *events.JobStatus, entry *refused.Entry) {
	t.Helper()
	entries := func(yield func(refused.Entry, error) bool) { yield(*entry, nil) }
	listed := *job
	listed.Queue, listed.Job, listed.Hold = evil, evil, &events.Hold{Code: evil}
	queue := events.QueueStatus{Queue: evil, Record: []byte(evil), Fault: evil}
	for _, err := range []error{
		refusedTable(env.Stdout, entries), table(env, []events.JobStatus{listed}),
		queueTable(env, []events.QueueStatus{queue, {Queue: evil, Record: []byte(evil)}}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	newReporter(env, false).finding(finding{File: evil, Line: 1, Code: evil, Message: evil, Hint: evil})
	tellCounts(env, map[string]int{evil: 1}, "had")
	fmt.Fprintln(env.Stdout, or(evil))
}
