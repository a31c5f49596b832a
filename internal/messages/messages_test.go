package messages_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/batchbus/batchbus/internal/block"
	"github.com/batchbus/batchbus/internal/messages"
	"github.com/batchbus/batchbus/pkg/events"
)

func aResult(id string) events.Result {
	return events.Result{
		CustomID: id, Queue: "default", Job: "nightly", Outcome: events.Succeeded, StatusCode: 200,
		Response: json.RawMessage(`{"x":  1e5}`), Batch: "1", Attempt: 1, CompletedAt: time.Unix(1, 0).UTC(),
	}
}

func TestAResultStandsOnItsRowsSubjectWithItsHeaders(t *testing.T) {
	t.Parallel()
	source := block.Hash{0xab, 15: 0xcd}
	for id, token := range map[string]string{"case-1": "case-1", "a b\r\nEvil: 1": events.RowToken("a b\r\nEvil: 1")} {
		r := aResult(id)
		m := messages.Result(&r, source)
		want := nats.Header{
			"Batchbus-Queue": {"default"}, "Batchbus-Job": {"nightly"}, "Batchbus-Row": {token}, "Batchbus-Outcome": {"succeeded"},
			"Batchbus-Source": {"ab0000000000000000000000000000cd"},
			"ce-id":           {"default.nightly." + token}, "ce-type": {"io.batchbus.v1.result"},
			"ce-source": {"batchbus/default/nightly"}, "ce-specversion": {"1.0"},
		}
		if m.Subject != "batchbus.results.default.nightly."+token || !reflect.DeepEqual(m.Header, want) {
			t.Errorf("%q: %s\n got %v\nwant %v", id, m.Subject, m.Header, want)
		}
		if !bytes.Equal(m.Data, r.Append(nil)) {
			t.Errorf("%q: the body is %s", id, m.Data)
		}
	}
}

func TestADeadLetterStandsOnItsSourcesSubjectWithItsHeaders(t *testing.T) {
	t.Parallel()
	d := events.DeadLetter{
		Code: events.DLConflict, Queue: "default", Job: "nightly", Source: block.Hash{1}.String(), Line: 3, Payload: []byte("x\xff"),
	}
	m := messages.DeadLetter(&d)
	want := nats.Header{
		"Batchbus-Queue": {"default"}, "Batchbus-Job": {"nightly"}, "Batchbus-Source": {"01000000000000000000000000000000"},
		"Batchbus-Code": {"conflict"},
		"ce-id":         {"default.nightly.01000000000000000000000000000000"}, "ce-type": {"io.batchbus.v1.deadletter"},
		"ce-source": {"batchbus/default/nightly"}, "ce-specversion": {"1.0"},
	}
	if m.Subject != "batchbus.deadletters.default.nightly.01000000000000000000000000000000" || !reflect.DeepEqual(m.Header, want) {
		t.Errorf("%s\n got %v\nwant %v", m.Subject, m.Header, want)
	}
	if !bytes.Equal(m.Data, d.Append(nil)) {
		t.Errorf("the body is %s", m.Data)
	}
}

func TestAnEnvelopeLacksTheAnswerAndNothingElse(t *testing.T) {
	t.Parallel()
	whole := aResult("case-1")
	whole.Response = json.RawMessage(`"` + strings.Repeat("x", 2<<20) + `"`)
	got, err := events.ParseResult(messages.ResultEnvelope(&whole))
	want := whole
	want.Response = nil
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("result: %+v, %v", got, err)
	}
	if len(whole.Response) != 2<<20+2 {
		t.Error("the result lost its answer")
	}
	letter := events.DeadLetter{Code: events.DLEmpty, Queue: "q", Job: "j", Line: 7, Payload: bytes.Repeat([]byte("x"), 2<<20)}
	envelope := messages.DeadLetterEnvelope(&letter)
	read, err := events.ParseDeadLetter(envelope)
	if err != nil || len(read.Payload) != 0 || read.Line != 7 || read.Code != events.DLEmpty || len(envelope) > 300 {
		t.Errorf("dead letter: %+v, %v", read, err)
	}
	if len(letter.Payload) != 2<<20 {
		t.Error("the dead letter lost its payload")
	}
}

func TestASourceNamesOneRowOfOnePlace(t *testing.T) {
	t.Parallel()
	row := block.Hash{1, 2, 3}
	// Pinned: dead letters and results on the bus are found by it, so another value would make redeliveries strangers.
	const want = "416c464f41950f120176a3addb5df1e3"
	if got := messages.Source(row, 7, "id").String(); got != want {
		t.Errorf("source %s, want %s", got, want)
	}
	seen := map[block.Hash]string{}
	for name, source := range map[string]block.Hash{
		"base":                     messages.Source(row, 7, "id"),
		"another row":              messages.Source(block.Hash{1, 2, 4}, 7, "id"),
		"another line":             messages.Source(row, 8, "id"),
		"line 0":                   messages.Source(row, 0, "id"),
		"a line of two bytes":      messages.Source(row, 7+128, "id"),
		"another part":             messages.Source(row, 7, "ie"),
		"two parts":                messages.Source(row, 7, "1", "23"),
		"the same text, cut apart": messages.Source(row, 7, "12", "3"),
		"the same text, whole":     messages.Source(row, 7, "123"),
		"an empty part more":       messages.Source(row, 7, "123", ""),
		"no part":                  messages.Source(row, 7),
		"an empty part":            messages.Source(row, 7, ""),
	} {
		if other, there := seen[source]; there {
			t.Errorf("%s has the source of %s", name, other)
		}
		seen[source] = name
	}
}
