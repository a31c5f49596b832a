package client_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/nats-io/nats.go"

	"github.com/batchbus/batchbus/pkg/client"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
	"github.com/batchbus/batchbus/pkg/jetstore/jetstoretest"
)

func TestMain(m *testing.M) { jetstoretest.Verify(m) }

const queue, job = "default", "nightly"

// requests returns every message in BATCHBUS_REQUESTS.
func requests(t *testing.T, f *jetstoretest.Fixture) []jetstore.Message {
	t.Helper()
	last, err := f.Store.Last(t.Context(), jetstore.StreamRequests, events.PrefixRequests+">")
	if errors.Is(err, jetstore.ErrNotFound) {
		return nil
	}
	var all []jetstore.Message
	for sequence := uint64(1); err == nil && sequence <= last.Sequence; sequence++ {
		var m jetstore.Message
		if m, err = f.Store.At(t.Context(), jetstore.StreamRequests, sequence); err == nil {
			all = append(all, m)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestPublishingAFileTwiceLeavesOneSetOfMessages(t *testing.T) {
	t.Parallel()
	f := jetstoretest.Start(t)
	big := strings.Repeat("x", 9<<20)
	file := "{\"a\":1}\n\n{\"b\":2}\n" + big + "\n{\"c\":3}"
	c := client.New(f.Store)
	for range 2 {
		published := 0
		n, err := c.Publish(t.Context(), client.Input{
			Queue: queue, Job: job, Digest: "d", Rows: strings.NewReader(file), Published: func(rows int) { published = rows },
		})
		if n != 4 || published != 4 || err != nil {
			t.Fatalf("%d rows, %d told, %v", n, published, err)
		}
		if err := c.Seal(t.Context(), queue, job, 4); err != nil {
			t.Fatal(err)
		}
	}
	all := requests(t, f)
	if len(all) != 4 {
		t.Fatalf("%d messages, want 3 chunks and a seal", len(all))
	}
	for i, want := range []struct{ id, first, data string }{
		{"default.nightly.d.1", "1", "{\"a\":1}\n\n{\"b\":2}\n"}, {"default.nightly.d.4", "4", ""}, {"default.nightly.d.5", "5", "{\"c\":3}\n"},
	} {
		m := all[i]
		if m.Subject != "batchbus.requests.default.nightly" || m.Header.Get(nats.MsgIdHdr) != want.id ||
			m.Header.Get(events.HeaderFirstLine) != want.first || string(m.Data) != want.data {
			t.Errorf("message %d: %s %v %.50q", i, m.Subject, m.Header, m.Data)
		}
	}
	seal := all[3].Header
	if seal.Get(events.HeaderSeal) != "true" || seal.Get(events.HeaderExpectedRows) != "4" || len(all[3].Data) > 0 {
		t.Errorf("the seal is %v %q", seal, all[3].Data)
	}
	object, ok := jetstore.ObjectOf(all[1].Header)
	if !ok {
		t.Fatalf("the big line names no object: %v", all[1].Header)
	}
	r, err := f.Store.OpenObject(t.Context(), object)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if data, err := io.ReadAll(r); err != nil || string(data) != big+"\n" {
		t.Errorf("the object has %d bytes, %v", len(data), err)
	}
}

func TestAnotherJobOrInputIsNoCopy(t *testing.T) {
	t.Parallel()
	f := jetstoretest.Start(t)
	c := client.New(f.Store)
	for _, in := range []client.Input{{Job: "a", Digest: "d"}, {Job: "b", Digest: "d"}, {Job: "a", Digest: "e"}} {
		in.Queue, in.Rows = queue, strings.NewReader("{}")
		if n, err := c.Publish(t.Context(), in); n != 1 || err != nil {
			t.Fatal(n, err)
		}
	}
	if got := requests(t, f); len(got) != 3 {
		t.Errorf("%d messages, want 3", len(got))
	}
}

func TestBadNamesAndBrokenInputsAreErrors(t *testing.T) {
	t.Parallel()
	f := jetstoretest.Start(t)
	c := client.New(f.Store)
	for _, name := range []string{"", "a.b", "*", strings.Repeat("x", 65)} {
		_, err := c.Publish(t.Context(), client.Input{Queue: queue, Job: name, Rows: strings.NewReader("{}")})
		if !errors.Is(err, events.ErrName) || !errors.Is(c.Seal(t.Context(), name, job, 1), events.ErrName) {
			t.Errorf("job %q: %v", name, err)
		}
	}
	broken := errors.New("broken disk")
	rows := io.MultiReader(strings.NewReader(strings.Repeat(strings.Repeat("x", 200<<10)+"\n", 2)), iotest.ErrReader(broken))
	n, err := c.Publish(t.Context(), client.Input{Queue: queue, Job: job, Rows: rows})
	if !errors.Is(err, broken) || n != len(requests(t, f)) {
		t.Errorf("%d rows, %v, %d messages", n, err, len(requests(t, f)))
	}
}

func put(t *testing.T, f *jetstoretest.Fixture, stream, subject string, whole, envelope []byte) {
	t.Helper()
	m, err := f.Store.Fit(t.Context(), stream, &nats.Msg{Subject: subject, Data: whole}, envelope)
	if err == nil {
		_, err = f.Store.PublishOnce(t.Context(), m)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestResultsAndDeadLettersAreReadWithTheirObjects(t *testing.T) {
	t.Parallel()
	f := jetstoretest.Start(t)
	c := client.New(f.Store)
	answers := []string{`{"n":1e5}`, `"` + strings.Repeat("x", 3<<20) + `"`, `{"n":2}`}
	for i, answer := range answers {
		r := events.Result{CustomID: fmt.Sprint("case ", i), Queue: queue, Job: job, Response: json.RawMessage(answer)}
		bare := r
		bare.Response = nil
		put(t, f, jetstore.StreamResults, events.ResultSubject(queue, job, r.CustomID), r.Append(nil), bare.Append(nil))
		put(t, f, jetstore.StreamResults, events.ResultSubject(queue, "other", r.CustomID), bare.Append(nil), nil)
		d := events.DeadLetter{Code: events.DLEmpty, Queue: queue, Job: job, Source: strconv.Itoa(i), Payload: []byte(answer + "\xff")}
		put(t, f, jetstore.StreamDeadletters, events.DeadletterSubject(queue, job, d.Source), d.Append(nil), []byte("{}"))
	}
	var behind uint64
	got := 0
	for r, err := range c.Results(t.Context(), queue, job, 0) {
		if err != nil || r.CustomID != fmt.Sprint("case ", got) || string(r.Response) != answers[got] || !bytes.Contains(r.Raw, r.Response) {
			t.Fatalf("result %d: %.100v, %v", got, r, err)
		}
		if got++; got == 2 {
			behind = r.Sequence + 1
		}
	}
	letters := 0
	for d, err := range c.DeadLetters(t.Context(), queue, job, 0) {
		if err != nil || d.Source != strconv.Itoa(letters) || string(d.Payload) != answers[letters]+"\xff" || d.Standing == 0 {
			t.Fatalf("dead letter %d: %.100v, %v", letters, d, err)
		}
		letters++
	}
	rest := 0
	for range c.Results(t.Context(), queue, job, behind) {
		rest++
	}
	if got != 3 || letters != 3 || rest != 1 {
		t.Errorf("%d results, %d dead letters, %d results from %d", got, letters, rest, behind)
	}
}

func TestAResultThatCannotBeReadEndsTheLoopWithItsError(t *testing.T) {
	t.Parallel()
	f := jetstoretest.Start(t)
	put(t, f, jetstore.StreamResults, events.ResultSubject(queue, job, "a"), []byte("no JSON"), nil)
	lost := &nats.Msg{Subject: events.ResultSubject(queue, "lost", "a"), Header: nats.Header{}}
	jetstore.Object{Name: "gone", Digest: "SHA-256=", Size: 1}.SetHeader(lost.Header)
	if _, err := f.Store.Publish(t.Context(), lost); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]error{job: nil, "lost": jetstore.ErrObjectMissing} {
		var last error
		n := 0
		for _, err := range client.New(f.Store).Results(t.Context(), queue, name, 0) {
			last, n = err, n+1
		}
		if last == nil || n != 1 || want != nil && !errors.Is(last, want) {
			t.Errorf("%s: %d pairs, %v", name, n, last)
		}
	}
}

func TestACancelIsASealThatSaysSo(t *testing.T) {
	t.Parallel()
	f := jetstoretest.Start(t)
	c := client.New(f.Store)
	const rolling = "auto-20261130T021100Z-60"
	for _, name := range []string{job, job, rolling} {
		if err := c.Cancel(t.Context(), queue, name); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Seal(t.Context(), queue, "silent", -1); err != nil {
		t.Fatal(err)
	}
	all := requests(t, f)
	if len(all) != 3 {
		t.Fatalf("%d messages, want two cancels, each once, and a seal", len(all))
	}
	if m := all[0]; m.Subject != "batchbus.requests.default.nightly" || m.Header.Get(events.HeaderCancel) != "true" {
		t.Errorf("%s %v", m.Subject, m.Header)
	}
	if m := all[1]; m.Subject != "batchbus.requests.default" || m.Header.Get(events.HeaderJob) != rolling {
		t.Errorf("of a rolling job: %s %v", m.Subject, m.Header)
	}
	if m := all[2]; m.Header.Get(events.HeaderSeal) != "true" || m.Header.Get(events.HeaderExpectedRows) != "" {
		t.Errorf("seal without a count: %v", m.Header)
	}
}
