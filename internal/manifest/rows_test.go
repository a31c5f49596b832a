package manifest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/batchbus/batchbus/internal/block"
	"github.com/batchbus/batchbus/internal/manifest"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
	"github.com/batchbus/batchbus/pkg/jetstore/jetstoretest"
	"github.com/batchbus/batchbus/pkg/rows"
)

const queue, job = "default", "nightly"

// entryOf is a row whose tail tells it from every other.
func entryOf(id string, size int) *block.Entry {
	tail := `,"body":{"model":"m","input":"` + id + strings.Repeat("x", size) + `"}}`
	return &block.Entry{
		Source: block.Hash{'s', id[0]}, ID: rows.HashID(id), Row: rows.HashRow([]byte(tail)), CustomID: id, Line: 1, Tail: []byte(tail),
		Group: events.GroupKey{Window: "24h", URL: "/v1/embeddings", Model: "m"},
	}
}

// plant publishes one block of a job and returns what a manifest says of its rows.
func plant(t *testing.T, f *jetstoretest.Fixture, job string, entries ...*block.Entry) []manifest.Entry {
	t.Helper()
	var b block.Builder
	for _, e := range entries {
		b.Add(e)
	}
	m := &nats.Msg{Subject: events.RowsSubject(queue, job), Data: b.Bytes()}
	m, err := f.Store.Fit(t.Context(), jetstore.StreamRows, m, block.Envelope(entries[0]))
	if err != nil {
		t.Fatal(err)
	}
	sequence, err := f.Store.Publish(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	planted := make([]manifest.Entry, len(entries))
	for i, e := range entries {
		planted[i] = manifest.Entry{Place: events.RowPlace{Sequence: sequence, Index: i}, Attempt: 1, Row: e.Row, Source: e.Source}
	}
	return planted
}

// read collects what Rows yields: "place:custom_id", and the error it ends with.
func read(t *testing.T, f *jetstoretest.Fixture, entries []manifest.Entry) (got []string, err error) {
	t.Helper()
	for placed, err := range manifest.Rows(t.Context(), f.Store, queue, job, entries) {
		if err != nil {
			return got, err
		}
		if want := entryOf(placed.CustomID, placed.Size-len(entryOf(placed.CustomID, 0).Tail)); !bytes.Equal(placed.Tail, want.Tail) {
			t.Errorf("the tail of %s is %.80q, want %.80q", placed.CustomID, placed.Tail, want.Tail)
		}
		got = append(got, fmt.Sprintf("%d:%s", placed.Place, placed.CustomID))
	}
	return got, nil
}

func TestRowsOfAManifestAreReadBackInOrder(t *testing.T) {
	t.Parallel()
	f := jetstoretest.Start(t)
	first := plant(t, f, job, entryOf("a", 0), entryOf("b", 0), entryOf("c", 0), entryOf("d", 0))
	plant(t, f, "other", entryOf("x", 0))
	plant(t, f, job, entryOf("unused", 0))
	object := plant(t, f, job, entryOf("big", 3<<20))
	plant(t, f, "other", entryOf("y", 0), entryOf("z", 0))
	last := plant(t, f, job, entryOf("e", 0), entryOf("g", 0))
	var all []manifest.Entry
	for _, part := range [][]manifest.Entry{first[1:2], first[3:], object, last} {
		all = append(all, part...)
	}
	for _, c := range []struct {
		name    string
		entries []manifest.Entry
		want    string
	}{
		{"rows of several blocks, with gaps, one of them in an object", all, "[0:b 1:d 2:big 3:e 4:g]"},
		{"the first row alone", first[:1], "[0:a]"},
		{"the last row alone", last[1:], "[0:g]"},
		{"a whole block", first, "[0:a 1:b 2:c 3:d]"},
		{"an empty manifest", nil, "[]"},
	} {
		if got, err := read(t, f, c.entries); err != nil || fmt.Sprint(got) != c.want {
			t.Errorf("%s: %v, %v, want %s", c.name, got, err, c.want)
		}
	}
}

func TestARowThatIsNotThereIsGone(t *testing.T) {
	t.Parallel()
	f := jetstoretest.Start(t)
	refused := entryOf("refused", 0)
	refused.Fault, refused.Tail = &block.Fault{Code: "invalid_json"}, nil
	first := plant(t, f, job, entryOf("a", 0), refused)
	foreign := plant(t, f, "other", entryOf("x", 0))
	last := plant(t, f, job, entryOf("b", 0))
	altered := func(e manifest.Entry, change func(*manifest.Entry)) manifest.Entry {
		change(&e)
		return e
	}
	for name, entries := range map[string][]manifest.Entry{
		"an index beyond the block":     {first[0], altered(first[0], func(e *manifest.Entry) { e.Place.Index = 7 }), last[0]},
		"another row at the place":      {first[0], altered(last[0], func(e *manifest.Entry) { e.Row[0]++ })},
		"a refused row at the place":    {first[0], first[1]},
		"a block of another job":        {first[0], foreign[0], last[0]},
		"a block behind the last":       {first[0], altered(last[0], func(e *manifest.Entry) { e.Place.Sequence += 5 })},
		"a block of another job, alone": {foreign[0]},
	} {
		got, err := read(t, f, entries)
		if !errors.Is(err, manifest.ErrRowsGone) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
		if want := len(entries); len(got) >= want {
			t.Errorf("%s: %v were yielded", name, got)
		}
	}
	if err := f.Store.Purge(t.Context(), jetstore.StreamRows, events.RowsSubject(queue, job), first[0].Place.Sequence); err != nil {
		t.Fatal(err)
	}
	if got, err := read(t, f, []manifest.Entry{first[0], last[0]}); !errors.Is(err, manifest.ErrRowsGone) || len(got) > 0 {
		t.Errorf("a purged block: %v, %v", got, err)
	}
	if got, err := read(t, f, last); err != nil || len(got) != 1 {
		t.Errorf("the block behind it: %v, %v", got, err)
	}
}

func TestReadingRowsCanStopEarlyAndEndsWithItsContext(t *testing.T) {
	t.Parallel()
	f := jetstoretest.Start(t)
	entries := append(plant(t, f, job, entryOf("a", 0), entryOf("b", 0)), plant(t, f, job, entryOf("c", 0))...)
	for stop := 1; stop <= len(entries); stop++ {
		seen := 0
		for _, err := range manifest.Rows(t.Context(), f.Store, queue, job, entries) {
			if err != nil {
				t.Fatal(err)
			}
			if seen++; seen == stop {
				break
			}
		}
		if seen != stop {
			t.Errorf("%d rows were yielded, the loop stopped at %d", seen, stop)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range manifest.Rows(ctx, f.Store, queue, job, entries) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("with an ended context: %v", err)
		}
	}
}

func TestAStoredManifestIsWhatTheBatchNamesOrAnError(t *testing.T) {
	t.Parallel()
	f := jetstoretest.Start(t)
	entries := plant(t, f, job, entryOf("a", 0), entryOf("b", 0))
	key := events.BatchKey(queue, job, "1")
	ref, err := manifest.Store(t.Context(), f.Store, key, entries)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := manifest.Store(t.Context(), f.Store, key, entries); err != nil || again.Name == ref.Name {
		t.Errorf("a second store has the name %q again, %v", again.Name, err)
	}
	if !strings.HasPrefix(ref.Name, "KV_batchbus_jobs/$KV.batchbus_jobs."+key+"/") {
		t.Errorf("the object is named %q", ref.Name)
	}
	if got, err := manifest.Load(t.Context(), f.Store, ref); err != nil || fmt.Sprint(got) != fmt.Sprint(entries) {
		t.Errorf("loaded %v, %v, want %v", got, err, entries)
	}
	missing, other := ref, ref
	missing.Name += "x"
	other.Digest = "SHA-256=other"
	if _, err := manifest.Load(t.Context(), f.Store, missing); !errors.Is(err, jetstore.ErrObjectMissing) {
		t.Errorf("a missing manifest: %v", err)
	}
	if _, err := manifest.Load(t.Context(), f.Store, other); !errors.Is(err, jetstore.ErrDigest) {
		t.Errorf("a manifest of another digest: %v", err)
	}
}
