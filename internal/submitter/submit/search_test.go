package submit_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/batchbus/batchbus/internal/submitter/submit"
	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/pkg/events"
)

// picky judges whole files: refuse returns nil for what the provider takes. It counts what came.
type picky struct {
	submit.Provider
	refuse  func(file []byte) error
	uploads int
	bytes   int
}

func (p *picky) UploadFile(ctx context.Context, name string, write func(io.Writer) error) (doubleword.File, error) {
	var file bytes.Buffer
	if err := write(&file); err != nil {
		return doubleword.File{}, err
	}
	p.uploads++
	p.bytes += file.Len()
	if err := p.refuse(file.Bytes()); err != nil {
		return doubleword.File{}, err
	}
	return p.Provider.UploadFile(ctx, name, func(w io.Writer) error { _, err := w.Write(file.Bytes()); return err })
}

func refusal(status int, text string) error {
	return fmt.Errorf("upload: %w", &doubleword.Error{Route: "POST /files", Status: status, Text: text, Class: doubleword.Permanent})
}

// refusing refuses files that hold one of the rows.
func refusing(status int, text string, ids ...string) func([]byte) error {
	return func(file []byte) error {
		for _, id := range ids {
			if bytes.Contains(file, []byte("~"+id+`"`)) {
				return refusal(status, text)
			}
		}
		return nil
	}
}

// driveAll drives a batch and its follow-ups, and returns those that the provider runs and how many rows they hold.
func (w *world) driveAll(s *submit.Submitter, n string) (running []string, rows int) {
	w.t.Helper()
	b := w.drive(s, n)
	if b.State == events.BatchSubmitted {
		w.onlyLive(&b)
		return []string{n}, b.Rows
	}
	for _, child := range b.FollowUps {
		more, count := w.driveAll(s, child)
		running, rows = append(running, more...), rows+count
	}
	return running, rows
}

func TestARefusalThatNamesNoRowCostsTheOddRowsAlone(t *testing.T) {
	t.Parallel()
	for name, odd := range map[string][]string{
		"the first row":       {"row-1-0"},
		"a row in the middle": {"row-1-13"},
		"the last row":        {"row-1-39"},
		"several rows":        {"row-1-0", "row-1-1", "row-1-20", "row-1-39"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, simulator.Config{}, func(w *world) {
				w.plan(40)
				p := &picky{Provider: w.client, refuse: refusing(422, "This model cannot do that.", odd...)}
				running, rows := w.driveAll(w.process(p, nil), "1")
				if len(running) != 1 || rows != 40-len(odd) {
					t.Errorf("batches %v run with %d rows", running, rows)
				}
				results := w.results()
				for _, id := range odd {
					r := results[id]
					if r.Outcome != events.Rejected || r.Error.Code != events.CodeRefusedRow || r.Error.Message != "This model cannot do that." ||
						r.Error.StatusCode != 422 || r.Error.Line == 0 {
						t.Errorf("row %s: %+v, error %+v", id, r, r.Error)
					}
				}
				if len(results) != len(odd) {
					t.Errorf("%d results", len(results))
				}
				for _, file := range w.sim.Ledger().Uploads {
					if !file.Deleted && file.Rows != rows {
						t.Errorf("a file of %d rows is left at the provider", file.Rows)
					}
				}
				if most := (len(odd) + 1) * 14; p.uploads > most {
					t.Errorf("%d uploads, want at most %d", p.uploads, most)
				}
			})
		})
	}
}

func TestARefusalOfTheAccountRejectsNoRowAndIsAHold(t *testing.T) {
	t.Parallel()
	for name, rows := range map[string]int{"of many rows": 40, "of two rows": 2, "of one row": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, simulator.Config{}, func(w *world) {
				w.plan(rows)
				shut := true
				p := &picky{Provider: w.client, refuse: func([]byte) error {
					return map[bool]error{true: refusal(400, "Uploads are disabled for this organisation.")}[shut]
				}}
				s := w.process(p, nil)
				b := w.drive(s, "1")
				if b.State != events.BatchPlanned || b.Hold == nil || b.Hold.Code != events.HoldRefused ||
					!strings.Contains(b.Hold.Message, "Uploads are disabled") || len(w.results()) != 0 {
					t.Errorf("state %+v hold %+v results %v", b.Batch, b.Hold, w.results())
				}
				if p.uploads > 6 {
					t.Errorf("%d uploads to find out that the account is shut", p.uploads)
				}
				shut = false
				w.edit("1", resumed)
				b = w.drive(s, "1")
				w.onlyLive(&b)
			})
		})
	}
}

func TestRowsThatAreTooMuchTogetherGoInParts(t *testing.T) {
	t.Parallel()
	bubble(t, simulator.Config{}, func(w *world) {
		w.plan(40)
		p := &picky{Provider: w.client, refuse: func(file []byte) error {
			return map[bool]error{true: refusal(400, "Too many images in this file")}[bytes.Count(file, []byte("\n")) > 15]
		}}
		running, rows := w.driveAll(w.process(p, nil), "1")
		if len(running) != 4 || rows != 40 || len(w.results()) != 0 {
			t.Errorf("batches %v run with %d rows, results %v", running, rows, w.results())
		}
	})
}

func TestASearchThatIsBrokenOffBeginsAnew(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]error{
		"by a full provider":    refusal(http.StatusTooManyRequests, simulator.TextUploadSlots),
		"by a broken provider":  &doubleword.Error{Route: "POST /files", Status: 500, Class: doubleword.Retryable},
		"by a limit, for once":  refusal(http.StatusRequestEntityTooLarge, "too large"),
		"by a row that is told": refusal(http.StatusBadRequest, "Line 1: odd"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, simulator.Config{}, func(w *world) {
				w.plan(40)
				p := &picky{Provider: w.client}
				odd := refusing(400, "no", "row-1-7")
				p.refuse = func(file []byte) error {
					if p.uploads == 5 {
						return fault
					}
					return odd(file)
				}
				_, rows := w.driveAll(w.process(p, nil), "1")
				if results := w.results(); rows != 39 || len(results) != 1 || results["row-1-7"].Outcome != events.Rejected {
					t.Errorf("%d rows run, results %v", rows, results)
				}
			})
		})
	}
}

func TestWhatTheProviderSaysInASearchReachesNoLog(t *testing.T) {
	t.Parallel()
	bubble(t, simulator.Config{}, func(w *world) {
		w.plan(4)
		log, s := w.logging(&picky{Provider: w.client, refuse: refusing(400, "cannot fetch https://secret.example", "row-1-2")})
		w.driveAll(s, "1")
		if r := w.results()["row-1-2"]; r.Error == nil || !strings.Contains(r.Error.Message, "secret") {
			t.Errorf("result %+v", r)
		}
		if strings.Contains(log.String(), "secret") || !strings.Contains(log.String(), "searched") {
			t.Errorf("log %s", log.String())
		}
	})
}
