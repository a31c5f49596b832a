package integration_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/pkg/client"
	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
	"github.com/batchbus/batchbus/pkg/rows"
)

// unit is what stands in a file for one row, and what has to become of it.
type unit struct {
	text string
	id   string // "": nobody can be told by it, so the row ends as a dead letter
	code string // of the fault; "" for a good row
	line int    // where the shuffle put it
}

const maxRow = 20_000 // bytes, so that a row too large is no burden

// faults are one of each that a row can have, each under an id of its own where it has one.
func faults() []unit {
	var all []unit
	for _, reason := range rows.Reasons() {
		if reason.Warning || reason.Code == rows.CodeModelNotAllowed || reason.Code == rows.CodeNoPlace { // which policies make: see policy_test.go
			continue
		}
		u := unit{text: reason.Example, code: reason.Code}
		switch u.code {
		case rows.CodeRowTooLarge:
			u.text = chat("a", "m", strings.Repeat("x", maxRow))
		case rows.CodeBOMInside:
			u.text = chat("a", "m", "x") + "\ufeff" // in front of the file's first row it would be none
		}
		u.text = strings.ReplaceAll(u.text, `"custom_id":"a"`, `"custom_id":"bad-`+u.code+`"`)
		u.text = strings.ReplaceAll(u.text, `"custom_id": "a"`, `"custom_id":"bad-`+u.code+`"`)
		if _, fault := rows.Parse([]byte(u.text), &rows.Rules{MaxRowBytes: maxRow}); fault != nil {
			u.id = fault.CustomID
		}
		all = append(all, u)
	}
	return append(all,
		unit{text: strings.TrimSuffix(chat("cut", "m", "a long question"), `"}],"max_tokens":64}}`), id: "cut", code: rows.CodeInvalidJSON},
		unit{text: "this is no JSON", code: rows.CodeInvalidJSON},
		unit{text: "\xfe\xff\x00{", code: rows.CodeUTF16},
		unit{text: "\u00a0" + chat("nbsp", "m", "x"), id: "nbsp", code: rows.CodeInvalidJSON},
		unit{text: chat("form-feed", "m", "x") + "\f", id: "form-feed", code: rows.CodeInvalidJSON},
		unit{text: "“custom_id”", code: rows.CodeInvalidJSON},
		unit{text: chat("nobody-has-it", "unknown/model", "x"), id: "nobody-has-it", code: events.CodeRefusedRow},
		// Whether the provider takes a null is for it to say; the simulator does not.
		unit{text: strings.Replace(chat("thinks", "m", "x"), `"max_tokens"`, `"thinking":null,"max_tokens"`, 1), id: "thinks", code: events.CodeRefusedRow},
	)
}

// shuffled is a file of 1,000 rows and their lines, with blank lines and Windows line ends strewn in.
func shuffled(seed uint64) (file string, units []unit, good []string) {
	units = faults()
	for len(units) < 996 {
		id := fmt.Sprintf("row-%04d", len(units))
		good = append(good, id)
		units = append(units, unit{text: chat(id, "m", "hello"), id: id})
	}
	// Who comes first owns the id, so of these one half is explained, whichever it is.
	units = append(units,
		unit{text: chat("twice", "m", "x"), id: "twice"}, unit{text: chat("twice", "m", "x"), id: "twice"},
		unit{text: chat("two", "m", "x"), id: "two"}, unit{text: chat("two", "m", "y"), id: "two"},
	)
	random := rand.New(rand.NewPCG(seed, 1))
	random.Shuffle(len(units), func(i, j int) { units[i], units[j] = units[j], units[i] })
	var b strings.Builder
	line := 1
	for i := range units {
		units[i].line = line
		b.WriteString(units[i].text + []string{"\n", "\r\n", " \n", "\n\n", "\n \t\r\n"}[random.IntN(5)])
		line = 1 + strings.Count(b.String(), "\n")
	}
	return b.String(), units, good
}

func TestAFileWithOneOfEachFaultEndsWellInAnyOrderOfRows(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Config{})
	s := w.start()
	policy := events.DefaultPolicy()
	policy.MaxRowBytes = maxRow
	for seed := range uint64(4) {
		job := fmt.Sprintf("order-%d", seed)
		if _, err := s.bus.Jobs.Open(t.Context(), queue, job, jobs.Options{Policy: policy}); err != nil {
			t.Fatal(err)
		}
		file, units, good := shuffled(seed)
		if len(units) != 1000 {
			t.Fatalf("%d rows", len(units))
		}
		if seed%2 == 0 {
			s.publish(job, file)
		} else { // as one message of any NATS client
			s.send(events.RequestSubject(queue, job), file, events.HeaderSeal, "true")
		}
		s.awaitEvent(events.JobDone, job)
		s.wantUnits(job, units, good)
	}
}

func (s *stack) wantUnits(job string, units []unit, good []string) {
	s.t.Helper()
	results := s.results(job)
	s.await(jetstore.StreamDeadletters, events.DeadlettersFilter(queue, job), anonymous(units)+2)
	letters := map[int]client.DeadLetter{}
	for _, d := range s.deadLetters(job) {
		letters[d.Line] = d
	}
	for _, id := range append(good, "twice", "two") {
		if r := results[id]; r.Outcome != events.Succeeded {
			s.t.Errorf("%s: good row %s: %q", job, id, r.Outcome)
		}
	}
	explained := 0
	for _, u := range units {
		switch d := letters[u.line]; {
		case u.code == "":
			if d.Code == events.DLDuplicate && u.id == "twice" || d.Code == events.DLConflict && u.id == "two" {
				explained++
			}
		case u.id == "":
			if d.Code != u.code || d.Message == "" || d.Hint == "" {
				s.t.Errorf("%s: line %d, %.60q: dead letter %s", job, u.line, u.text, d.Raw)
			}
		default:
			r := results[u.id]
			if r.Outcome != events.Rejected || r.Error == nil || r.Error.Code != u.code || r.Error.Message == "" ||
				r.Error.Line != u.line && u.code != events.CodeRefusedRow {
				s.t.Errorf("%s: line %d, %s: %s", job, u.line, u.id, r.Raw)
			}
		}
	}
	if explained != 2 || len(letters) != anonymous(units)+2 || len(results) != len(units)-len(letters) {
		s.t.Errorf("%s: %d results, %d dead letters, %d of them for doubled ids", job, len(results), len(letters), explained)
	}
}

// anonymous counts the units without an id.
func anonymous(units []unit) int {
	n := 0
	for _, u := range units {
		if u.id == "" {
			n++
		}
	}
	return n
}
