package queues_test

import (
	"errors"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/batchbus/batchbus/internal/queues"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
	"github.com/batchbus/batchbus/pkg/jetstore/jetstoretest"
)

func put(t *testing.T, s *queues.Store, queue, fields string) queues.Queue {
	t.Helper()
	q, err := s.Put(t.Context(), queue, []byte(fields), nil)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// raw writes a record as any NATS tool does.
func raw(t *testing.T, f *jetstoretest.Fixture, queue, record string) {
	t.Helper()
	kv, err := f.Store.JetStream().KeyValue(t.Context(), jetstore.BucketQueues)
	if err == nil {
		_, err = kv.Put(t.Context(), queue, []byte(record))
	}
	if err != nil {
		t.Fatal(err)
	}
}

func stored(t *testing.T, f *jetstoretest.Fixture, queue string) string {
	t.Helper()
	entry, err := f.Store.Queue(t.Context(), queue)
	if err != nil {
		t.Fatal(err)
	}
	return string(entry.Value)
}

func TestAQueueWithoutARecordHasTheDefaultPolicy(t *testing.T) {
	t.Parallel()
	s := queues.New(jetstoretest.Start(t).Store, 0)
	q, err := s.Get(t.Context(), "night")
	if err != nil || !reflect.DeepEqual(q, queues.Queue{Name: "night", Policy: events.DefaultPolicy()}) {
		t.Errorf("%+v, %v", q, err)
	}
}

func TestARecordHoldsOnlyWhatDiffersFromTheDefault(t *testing.T) {
	t.Parallel()
	f := jetstoretest.Start(t)
	s := queues.New(f.Store, 0)
	q := put(t, s, "night", `{"window":"1h", "key":"night", "max_rows_per_job":2000000, "retry":{"max_attempts":3,"on":["missing_result","expired"]}}`)
	want := events.DefaultPolicy()
	want.Window, want.Key, want.Retry.MaxAttempts = "1h", "night", 3
	if !reflect.DeepEqual(q.Policy, want) {
		t.Errorf("policy %+v", q.Policy)
	}
	if got := stored(t, f, "night"); got != `{"key":"night","retry":{"max_attempts":3},"window":"1h"}` {
		t.Errorf("record %s", got)
	}
	if got, err := s.Policy(t.Context(), "night"); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("read again: %+v, %v", got, err)
	}
	if got, err := s.Policy(t.Context(), "day"); err != nil || !reflect.DeepEqual(got, events.DefaultPolicy()) {
		t.Errorf("another queue: %+v, %v", got, err)
	}
	put(t, s, "none", `{"retry":{"on":[]}}`)
	if got, err := s.Policy(t.Context(), "none"); err != nil || len(got.Retry.On) != 0 || got.Retry.MaxAttempts != 2 {
		t.Errorf("nothing is retried: %+v, %v", got.Retry, err)
	}
}

func TestTheDefaultPolicyRemovesTheRecord(t *testing.T) {
	t.Parallel()
	f := jetstoretest.Start(t)
	s := queues.New(f.Store, 0)
	first := put(t, s, "night", `{"window":"1h"}`)
	gone := put(t, s, "night", `{"window":"24h"}`)
	if gone.Record != nil || gone.Policy.Window != "24h" || gone.Revision <= first.Revision {
		t.Errorf("%+v", gone)
	}
	if _, err := f.Store.Queue(t.Context(), "night"); !errors.Is(err, jetstore.ErrNotFound) {
		t.Errorf("the record: %v", err)
	}
	if again := put(t, s, "night", `{}`); again.Revision != gone.Revision {
		t.Errorf("removing it again made revision %d of %d", again.Revision, gone.Revision)
	}
	if back := put(t, s, "night", `{"window":"1h"}`); back.Policy.Window != "1h" {
		t.Errorf("%+v", back)
	}
}

func TestTheSameRecordIsStoredOnce(t *testing.T) {
	t.Parallel()
	s := queues.New(jetstoretest.Start(t).Store, 0)
	first := put(t, s, "night", `{"window":"1h"}`)
	if again := put(t, s, "night", ` {"window" : "1h", "key":"default"}`); again.Revision != first.Revision {
		t.Errorf("revisions %d and %d", first.Revision, again.Revision)
	}
}

func TestAWriterThatReadAnOlderRecordIsRefused(t *testing.T) {
	t.Parallel()
	s := queues.New(jetstoretest.Start(t).Store, 0)
	none := uint64(0)
	first, err := s.Put(t.Context(), "night", []byte(`{"window":"1h"}`), &none)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put(t.Context(), "night", []byte(`{"key":"b"}`), &none); !errors.Is(err, queues.ErrRevision) {
		t.Errorf("over a record that it has not read: %v", err)
	}
	if again, err := s.Put(t.Context(), "night", []byte(`{"window":"1h"}`), &none); err != nil || again.Revision != first.Revision {
		t.Errorf("the same once more, as after an answer that was lost: %+v, %v", again, err)
	}
	if _, err := s.Put(t.Context(), "night", []byte(`{"key":"c"}`), &first.Revision); err != nil {
		t.Error(err)
	}
}

func TestOfWritersAtOnceEachIsStoredWhole(t *testing.T) {
	t.Parallel()
	f := jetstoretest.Start(t)
	s := queues.New(f.Store, 0)
	var group sync.WaitGroup
	for _, fields := range []string{`{"window":"1h","key":"a"}`, `{"model":"m","key":"b"}`, `{"opaque_ids":true,"key":"c"}`} {
		group.Go(func() {
			if _, err := s.Put(t.Context(), "night", []byte(fields), nil); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	switch got := stored(t, f, "night"); got {
	case `{"key":"a","window":"1h"}`, `{"key":"b","model":"m"}`, `{"key":"c","opaque_ids":true}`:
	default:
		t.Errorf("record %s", got)
	}
}

func TestEveryFaultIsReportedAtOnceAndNothingIsStored(t *testing.T) {
	t.Parallel()
	f := jetstoretest.Start(t)
	s := queues.New(f.Store, 0)
	_, err := s.Put(t.Context(), "night", []byte(`{"windows":["24 h","1h","1h"],"urls":["v1/x"],"key":"a.b","max_row_bytes":0,"max_rows_per_batch":50001,
		"keep_rows_seconds":-1,"linger_seconds":86401,
		"models":["m",""],"default_model":"n","set":["body.n=1","body.n=2","temperature=0"],"rolling_rows_per_batch":-1,"rolling_bytes_per_batch":5,"priority":101,
		"retry":{"on":["failed","succeeded"],"max_attempts":11}}`), nil)
	if !errors.Is(err, queues.ErrFaults) {
		t.Fatal(err)
	}
	for _, field := range []string{
		`windows: "24 h"`, `windows: "1h" stands there twice`, "window: ", "urls: ", "key: ", "max_row_bytes: 0", "max_rows_per_batch: 50001", "keep_rows_seconds: -1",
		"models: \"\"", `default_model: "n" is not one of models`, "set: body.n stands there twice", `set: read "temperature=0"`,
		"rolling_rows_per_batch: -1", "priority: 101", "linger_seconds: 86401", `retry.on: "succeeded"`, "retry.max_attempts: 11",
	} {
		if !strings.Contains(err.Error(), field) {
			t.Errorf("no word of %q in:\n%v", field, err)
		}
	}
	if _, err := f.Store.Queue(t.Context(), "night"); !errors.Is(err, jetstore.ErrNotFound) {
		t.Errorf("stored: %v", err)
	}
}

func TestWhatIsNoPolicyIsRefused(t *testing.T) {
	t.Parallel()
	s := queues.New(jetstoretest.Start(t).Store, 0)
	for name, fields := range map[string]string{
		"a field with a slip in its name": `{"windw":"1h"}`,
		"the same within an object":       `{"retry":{"attempts":2}}`,
		"a value of another kind":         `{"key":1}`,
		"two values":                      `{} {}`,
		"a list":                          `[]`,
		"no JSON":                         `window=1h`,
		"more than 64 KiB":                `{"default_model":"` + strings.Repeat("x", queues.MaxPolicyBytes) + `"}`,
		"a row too big for any batch":     `{"max_bytes_per_batch":1000}`,
		"no urls":                         `{"urls":[]}`,
		"a url with a query":              `{"urls":["/v1/x?y=z"]}`,
		"a long model":                    `{"model":"` + strings.Repeat("m", 257) + `"}`,
		"no attempt":                      `{"retry":{"max_attempts":0}}`,
		"settings in each other's way":    `{"set":["body.a=1","body.a.b=2"]}`,
		"rows beyond a rolling batch":     `{"rolling_bytes_per_batch":1000}`,
	} {
		if _, err := s.Put(t.Context(), "night", []byte(fields), nil); !errors.Is(err, queues.ErrFaults) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFieldsOfALaterVersionAreLeftAloneByAReader(t *testing.T) {
	t.Parallel()
	f := jetstoretest.Start(t)
	s := queues.New(f.Store, 0)
	raw(t, f, "night", `{"budget":{"usd":5},"window":"1h","retry":{"pause":3,"max_attempts":4}}`)
	p, err := s.Policy(t.Context(), "night")
	if err != nil || p.Window != "1h" || p.Retry.MaxAttempts != 4 || len(p.Retry.On) != 2 {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestARecordThatCannotBeObeyedIsToldAndCanBePutRight(t *testing.T) {
	t.Parallel()
	f := jetstoretest.Start(t)
	s := queues.New(f.Store, 0)
	for _, bad := range []string{`not JSON`, `{"window":"7h"}`, `{"retry":{"on":["sometimes"]}}`, ``} {
		raw(t, f, "night", bad)
		if _, err := s.Policy(t.Context(), "night"); !errors.Is(err, queues.ErrRecord) || !strings.Contains(err.Error(), "night") {
			t.Errorf("%s: %v", bad, err)
		}
		q, err := s.Get(t.Context(), "night")
		if err != nil || !errors.Is(q.Fault, queues.ErrRecord) || string(q.Record) != bad {
			t.Errorf("%s: %+v, %v", bad, q, err)
		}
		if good := put(t, s, "night", `{}`); good.Fault != nil || good.Record != nil {
			t.Errorf("%s, put right: %+v", bad, good)
		}
	}
}

func TestTheQueuesWithARecordAreListedFromAnyRevisionOn(t *testing.T) {
	t.Parallel()
	s := queues.New(jetstoretest.Start(t).Store, 0)
	for _, name := range []string{"a", "b", "c", "gone"} {
		put(t, s, name, `{"window":"1h"}`)
	}
	put(t, s, "gone", `{}`)
	put(t, s, "a", `{"key":"x"}`)
	list := func(from uint64) (names string, revisions []uint64) {
		for q, err := range s.From(t.Context(), from) {
			if err != nil {
				t.Fatal(err)
			}
			names, revisions = names+q.Name, append(revisions, q.Revision)
		}
		return names, revisions
	}
	names, revisions := list(0)
	if names != "bca" {
		t.Fatalf("listed %s", names)
	}
	if rest, _ := list(revisions[1]); rest != "ca" {
		t.Errorf("listed %s", rest)
	}
}
