package integration_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

const mib = 1 << 20

// objectSizes are the sizes of the objects that messages of a stream name, 0 for a message that holds its own bytes.
func (s *stack) objectSizes(stream, filter string) []int64 {
	s.t.Helper()
	var sizes []int64
	for m, err := range s.store.Read(s.t.Context(), stream, filter, 0) {
		if err != nil {
			s.t.Fatal(err)
		}
		object, _ := jetstore.ObjectOf(m.Header)
		sizes = append(sizes, object.Size)
	}
	return sizes
}

func largest(sizes []int64) int64 {
	most := int64(0)
	for _, size := range sizes {
		most = max(most, size)
	}
	return most
}

func TestRowsTooBigForAMessageArriveByteForByte(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Config{})
	s := w.start()
	sizes := map[string]int{"three": 3 * mib, "nine": 9 * mib}
	bodies, lines := map[string]string{}, []string{chat("small", "m", "beside the big ones")}
	for id, size := range sizes {
		text := strings.Repeat("<&> \\u00e9 é 𝄞 \\\\ ", size/23)
		bodies[id] = fmt.Sprintf(`{"model": "m", "messages": [{"role": "user", "content": "%s"}], "max_tokens": 16}`, text)
		lines = append(lines, `{"custom_id":"`+id+`","method":"POST","url":"/v1/chat/completions","body":`+bodies[id]+`}`)
	}
	s.publish("big", strings.Join(lines, "\n"))
	s.awaitEvent(events.JobDone, "big")
	s.wantAllOnce("big", []string{"small", "three", "nine"})
	sent := w.provider.sent()
	for id, body := range bodies {
		if sent[id] != body {
			t.Errorf("row %s: %d bytes were published, %d other ones sent", id, len(body), len(sent[id]))
		}
	}
	if most := largest(s.objectSizes(jetstore.StreamRows, events.RowsSubject(queue, "big"))); most < int64(len(bodies["nine"])) {
		t.Errorf("the largest object is %d bytes: the row of %d did not travel as one", most, len(bodies["nine"]))
	}
}

func TestAnAnswerTooBigForAMessageComesOutByteForByte(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Config{})
	s := w.start()
	inputs := strings.TrimSuffix(strings.Repeat(`"x",`, 28), ",")
	row := `{"custom_id":"vectors","method":"POST","url":"/v1/embeddings","body":{"model":"embed","input":[` + inputs +
		`],"dimensions":65536,"encoding_format":"base64"}}`
	s.publish("answer", row+"\n"+chat("small", "m", "x"))
	s.awaitEvent(events.JobDone, "answer")
	s.wantAllOnce("answer", []string{"vectors", "small"})
	want := w.provider.answers()
	if size := len(want["vectors"]); size < 9*mib {
		t.Fatalf("the provider's answer is %d bytes only", size)
	}
	for id, r := range s.results("answer") {
		if string(r.Response) != want[id] {
			t.Errorf("row %s: the provider answered %d bytes, the result has %d other ones", id, len(want[id]), len(r.Response))
		}
	}
	sizes := s.objectSizes(jetstore.StreamResults, events.ResultSubject(queue, "answer", "vectors"))
	if largest(sizes) < 9*mib {
		t.Errorf("objects of the result: %v", sizes)
	}
	for m, err := range s.store.Read(t.Context(), jetstore.StreamResults, events.ResultSubject(queue, "answer", "vectors"), 0) {
		r, parseErr := events.ParseResult(m.Data)
		if err != nil || parseErr != nil || r.CustomID != "vectors" || r.Outcome != events.Succeeded || r.Response != nil {
			t.Errorf("the message keeps %s, %v, %v", m.Data, err, parseErr)
		}
	}
}
