package integration_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/pkg/client"
	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
	"github.com/batchbus/batchbus/pkg/rows"
)

// oddIDs are custom_ids of every kind that people have.
func oddIDs() map[string]string {
	return map[string]string{
		"plain": "case-001", "of 64 bytes": strings.Repeat("x", 64), "of 65 bytes": strings.Repeat("y", 65), "of 85 bytes": strings.Repeat("z", 85),
		"of 1 KiB": strings.Repeat("k", 1024), "of 40 letters and 80 bytes": strings.Repeat("é", 40), "of 1 KiB of letters": strings.Repeat("ß", 512),
		"a space": "a b", "only spaces": "   ", "spaces around": " a ", "dots": "a.b..c.", "a dot": ".", "wildcards": "a.*.>", "a star": "*", "a full wildcard": ">",
		"a tilde": "~", "tildes": "~a~b~", "non-ASCII": "Zoë 日本 𝄞", "combining": "e\u0301", "right to left": "\u202eabc",
		"control characters": "a\x00b\x1fc\x7f", "line ends": "a\r\nb", "a tab": "\t", "separators": "a\u2028b\u0085c", "a mark": "\ufeffa",
		"quotes and slashes": `"\/'`, "HTML": "<a>&amp;", "a JSON object": `{"custom_id":"case-001"}`, "a header": "X: y\r\nBatchbus-Seal: true",
		"a wire id": "0~", "another row's wire id": "1~case-001", "a wire id's look": "007~x", "the hash of another": events.RowToken("a b"),
		"a hash": strings.Repeat("0f", 32), "a tilde and 64 others": "~" + strings.Repeat("g", 64), "a subject": "batchbus.results.default.ids.case-001",
		"a system subject": "$SYS.>", "a key": "job.default.ids", "a number": "7", "in upper case": "CASE-001", "a replacement character": "\ufffd",
	}
}

// idRow is a row with a body of its own, so that its answer can be told from others'.
func idRow(id, content string) string {
	quoted, err := json.Marshal(id)
	if err != nil {
		panic(err)
	}
	return `{"custom_id":` + string(quoted) + `,"method":"POST","url":"/v1/chat/completions","body":` + idBody(content) + `}`
}

func idBody(content string) string {
	return `{"model":"m","messages":[{"role":"user","content":"` + content + `"}]}`
}

func TestCustomIDsOfEveryKindComeBackExactly(t *testing.T) {
	t.Parallel()
	for _, opaque := range []bool{false, true} {
		t.Run(fmt.Sprintf("opaque_ids %t", opaque), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, simulator.Config{})
			w.provider.echo = true
			s := w.start()
			policy := events.DefaultPolicy()
			policy.OpaqueIDs = opaque
			if _, err := s.bus.Jobs.Open(t.Context(), queue, "ids", jobs.Options{Policy: policy}); err != nil {
				t.Fatal(err)
			}
			var good, other []string
			for kind, id := range oddIDs() {
				good = append(good, idRow(id, kind))
				other = append(other, idRow(id, kind+" again"))
			}
			tooLong := idRow(strings.Repeat("k", 1025), "too long")
			s.publish("ids", strings.Join(append(append(good, other...), tooLong), "\n"))
			s.awaitEvent(events.JobDone, "ids")
			s.wantIDs("ids")
			wantWireIDs(t, w.provider, opaque)
			wantPaid(t, s.ledger(), 1, len(good))
		})
	}
}

// wantIDs checks that each id has its own answer on a subject of its own, and that its second row is a dead letter that names it.
func (s *stack) wantIDs(job string) {
	s.t.Helper()
	results, letters := s.results(job), map[string]client.DeadLetter{}
	tooLong := 0
	for _, d := range s.deadLetters(job) {
		letters[d.CustomID] = d
		if d.Code == rows.CodeCustomIDTooLong && d.CustomID == "" && strings.Contains(d.Message, "1025") && strings.Contains(d.Message, "1024") {
			tooLong++
		}
	}
	for kind, id := range oddIDs() {
		if r := results[id]; r.Outcome != events.Succeeded || string(r.Response) != echoed(idBody(kind)) {
			s.t.Errorf("%s, %q: outcome %q, response %s", kind, id, r.Outcome, r.Response)
		}
		d := letters[id]
		again, fault := rows.Parse(d.Payload, nil)
		if d.Code != events.DLConflict || fault != nil || again.CustomID != id || string(again.Body) != idBody(kind+" again") {
			s.t.Errorf("%s, %q: dead letter %q with %s", kind, id, d.Code, d.Payload)
		}
	}
	if len(results) != len(oddIDs()) || len(letters) != len(oddIDs())+1 || tooLong != 1 {
		s.t.Errorf("%d results, %d dead letters, %d for an id too long, want %d of each", len(results), len(letters), tooLong, len(oddIDs()))
	}
	s.wantResultSubjects(job)
}

// wantResultSubjects checks each result's subject and header by the rule of design.md section 2.
func (s *stack) wantResultSubjects(job string) {
	s.t.Helper()
	token := regexp.MustCompile(`^([A-Za-z0-9_-]{1,64}|~[0-9a-f]{64})$`)
	for m, err := range s.store.Read(s.t.Context(), jetstore.StreamResults, events.ResultsFilter(queue, job), 0) {
		if err != nil {
			s.t.Fatal(err)
		}
		row := strings.TrimPrefix(m.Subject, "batchbus.results.default."+job+".")
		if !token.MatchString(row) || m.Header.Get(events.HeaderRow) != row {
			s.t.Errorf("subject %q with the header %q", m.Subject, m.Header.Get(events.HeaderRow))
		}
	}
}

// wantWireIDs checks what the provider saw as custom_ids.
func wantWireIDs(t *testing.T, p *provider, opaque bool) {
	t.Helper()
	ids := slices.Collect(func(yield func(string) bool) {
		p.mu.Lock()
		defer p.mu.Unlock()
		for wire := range p.tap {
			if !yield(wire) {
				return
			}
		}
	})
	shape, whole := regexp.MustCompile(`^[0-9]+~[ -~]*$`), 0
	for _, wire := range ids {
		_, rest, _ := strings.Cut(wire, "~")
		if rest != "" {
			whole++
		}
		if len(wire) > 64 || !shape.MatchString(wire) || opaque && rest != "" {
			t.Errorf("the provider was given the custom_id %q", wire)
		}
	}
	if len(ids) != len(oddIDs()) || !opaque && whole < 20 {
		t.Errorf("%d rows were sent, %d of them under their own id", len(ids), whole)
	}
}

func TestRefusedRowsWithOddIDsAreRejectedUnderThem(t *testing.T) {
	t.Parallel()
	s := newWorld(t, simulator.Config{}).start()
	var lines []string
	for _, id := range oddIDs() {
		lines = append(lines, strings.Replace(idRow(id, "x"), `"model":"m"`, `"model":"m","stream":true`, 1))
	}
	s.publish("refused", strings.Join(lines, "\n")+"\n"+idRow("good", "x"))
	s.awaitEvent(events.JobDone, "refused")
	results := s.results("refused")
	for kind, id := range oddIDs() {
		if r := results[id]; r.Outcome != events.Rejected || r.Error == nil || r.Error.Code != "stream_true" || r.Error.Line == 0 || r.CustomID != id {
			t.Errorf("%s, %q: %s", kind, id, r.Raw)
		}
	}
	wantOutcomes(t, results, map[events.Outcome]int{events.Rejected: len(oddIDs()), events.Succeeded: 1})
	s.wantResultSubjects("refused")
	if letters := s.deadLetters("refused"); len(letters) > 0 {
		t.Errorf("dead letters %v", codes(letters))
	}
}
