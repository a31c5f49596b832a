package events_test

import (
	"bytes"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/batchbus/batchbus/pkg/events"
)

var update = flag.Bool("update", false, "add the golden vectors that are missing; one that exists is never changed")

// vector is one payload as it stands on the wire, and what it means.
type vector struct {
	name   string
	wire   []byte
	decode func([]byte) (any, error)
	means  any
}

func decodeResult(data []byte) (any, error)     { return events.ParseResult(data) }
func decodeDeadLetter(data []byte) (any, error) { return events.ParseDeadLetter(data) }
func decodeJob(data []byte) (any, error)        { return events.ParseJob(data) }
func decodeBatch(data []byte) (any, error)      { return events.ParseBatch(data) }
func decodeCursor(data []byte) (any, error)     { return events.ParseCursor(data) }
func decodeBudget(data []byte) (any, error)     { return events.ParseBudget(data) }
func decodeEvent(data []byte) (any, error)      { return events.ParseEvent(data) }

func vectors() []vector {
	var all []vector
	add := func(name string, wire []byte, decode func([]byte) (any, error), means any) {
		all = append(all, vector{name, wire, decode, means})
	}
	for name, r := range goldenResults() {
		add("result_"+name, r.Append(nil), decodeResult, r)
	}
	for name, d := range goldenDeadLetters() {
		add("deadletter_"+name, d.Append(nil), decodeDeadLetter, d)
	}
	for name, j := range goldenJobs() {
		add("job_"+name, j.Encode(), decodeJob, j)
	}
	for name, b := range goldenBatches() {
		add("batch_"+name, b.Encode(), decodeBatch, b)
	}
	for name, e := range goldenEvents() {
		add("event_"+name, e.Encode(), decodeEvent, e)
	}
	all = append(all, apiVectors()...)
	cursor := goldenCursor()
	budget := goldenBudget()
	add("budget", budget.Encode(), decodeBudget, budget)
	limited := limitedQueue()
	add("budget_limited", limited.Encode(), decodeBudget, limited)
	job := limitedJob()
	add("job_limited", job.Encode(), decodeJob, job)
	add("cursor", cursor.Encode(), decodeCursor, cursor)
	return all
}

const goldenDir = "testdata/golden"

func TestEveryPayloadIsItsGoldenVectorByteForByte(t *testing.T) {
	t.Parallel()
	for _, v := range vectors() {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			want := golden(t, v)
			if !bytes.Equal(v.wire, want) {
				t.Errorf("the wire changed:\n got %s\nwant %s", v.wire, want)
			}
			got, err := v.decode(want)
			if err != nil || !reflect.DeepEqual(got, v.means) {
				t.Errorf("decoded %+v, %v\n   want %+v", got, err, v.means)
			}
		})
	}
}

// golden reads a vector's file, which ends in a line feed that the wire does not have.
func golden(t *testing.T, v vector) []byte {
	t.Helper()
	path := filepath.Join(goldenDir, v.name+".json")
	file, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && *update {
		file = append(slices.Clone(v.wire), '\n')
		err = os.WriteFile(path, file, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return bytes.TrimSuffix(file, []byte("\n"))
}

func TestEveryGoldenFileIsStillProduced(t *testing.T) {
	t.Parallel()
	files, err := os.ReadDir(goldenDir)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, v := range vectors() {
		known[v.name] = true
	}
	for _, file := range files {
		if !known[strings.TrimSuffix(file.Name(), ".json")] {
			t.Errorf("%s belongs to no vector: a payload that was published once must stay readable", file.Name())
		}
	}
}
