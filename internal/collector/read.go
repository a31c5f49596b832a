package collector

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/rows"
)

// file is one of the places where a batch's answers lie.
type file int

const (
	output   file = iota // completed rows
	failures             // failed rows: the error file
	merged               // all rows, in input order: no file but a view, and the last resort
)

// errStopping is returned when a read ended early because the service stops; what came of it is kept.
var errStopping = errors.New("service is stopping")

// providerError is a call or a stream of the provider that failed. The bus is fine.
type providerError struct{ err error }

func (e *providerError) Error() string { return e.err.Error() }
func (e *providerError) Unwrap() error { return e.err }

// fileGone reports whether the provider says that a file it had is not there, which may be an outage.
func fileGone(err error) bool {
	e, ok := errors.AsType[*doubleword.Error](err)
	return ok && (e.Status == http.StatusNotFound || e.Status == http.StatusGone)
}

// fileID is the provider's id of f, empty when the batch has none.
func (r *run) fileID(f file) string {
	switch f {
	case output:
		return r.b.OutputFileID
	case failures:
		return r.b.ErrorFileID
	default:
		return r.b.ProviderBatchID
	}
}

func (r *run) open(ctx context.Context, f file, q doubleword.ContentQuery) (*doubleword.Content, error) {
	get := r.provider.Content
	if f == merged {
		get = r.provider.Results
	}
	content, err := get(ctx, r.fileID(f), q)
	if err != nil {
		return nil, &providerError{fmt.Errorf("open results: %w", err)}
	}
	return content, nil
}

// readFile reads a file, or a page of it, and publishes what is new. What came of it is done also when it breaks off, with a
// *providerError. A file that the batch does not have is empty.
func (r *run) readFile(ctx context.Context, f file, q doubleword.ContentQuery) (reading, error) {
	got := reading{skip: q.Skip}
	if r.fileID(f) == "" {
		return got, nil
	}
	content, err := r.open(ctx, f, q)
	if err != nil {
		return got, err
	}
	defer func() { _ = content.Body.Close() }() // everything that matters was read
	scanner := doubleword.NewScanner(content.Body, r.s.cfg.MaxAnswerBytes)
	err = r.scan(ctx, f, scanner, &got)
	got.short = scanner.Partial() || content.HasLastLine && got.received < content.LastLine-q.Skip
	if _, broken := errors.AsType[*providerError](err); err != nil && !broken {
		return got, err
	}
	if err := r.commit(ctx); err != nil {
		return got, err
	}
	return got, err
}

// scan takes every line. The cursor moves along, so that a stream of any length loses little when it breaks off.
func (r *run) scan(ctx context.Context, f file, scanner *doubleword.Scanner, got *reading) error {
	for {
		for scanner.Scan() {
			if err := r.take(ctx, f, scanner.Bytes(), got); err != nil {
				return err
			}
		}
		err := scanner.Err()
		if errors.Is(err, doubleword.ErrLineTooLong) {
			err = r.takeLong(ctx, f, scanner, got)
		} else {
			return r.endScan(ctx, scanner, err)
		}
		if err != nil {
			return err
		}
	}
}

// endScan tells how a body ended. A last line that only lacks its LF is taken but not counted.
func (r *run) endScan(ctx context.Context, scanner *doubleword.Scanner, broken error) error {
	if broken != nil {
		return &providerError{broken}
	}
	if tail := scanner.Tail(); len(tail) > 0 {
		if line, err := doubleword.ParseLine(tail); err == nil {
			_, err = r.answer(ctx, &line, tail)
			return err
		}
	}
	return nil
}

// take takes a complete line: whatever is wrong with it, the next one is read.
func (r *run) take(ctx context.Context, f file, raw []byte, got *reading) error {
	line, err := doubleword.ParseLine(raw)
	repeat := false
	switch {
	case errors.Is(err, doubleword.ErrBlankLine):
	case err != nil:
		r.quarantined++
		r.log.Warn().Err(err).Int("bytes", len(raw)).Int("line", got.skip+got.received+1).Msg("result line cannot be read")
	default:
		if repeat, err = r.answer(ctx, &line, raw); err != nil {
			return err
		}
	}
	return r.count(ctx, f, line.CustomID, repeat, got)
}

// mostLines is how many lines of a file are read whose batch has so many rows: a provider may repeat lines and add foreign ones, but a file that
// goes on beyond that never ends.
func mostLines(rows int) int { return 1000 + 10*rows }

// errEndlessFile is returned when a file goes on and on.
var errEndlessFile = errors.New("read results: far more lines came than the batch has rows")

// count counts a line that is done, and moves the cursor now and then.
func (r *run) count(ctx context.Context, f file, wireID string, repeat bool, got *reading) error {
	if got.received == 0 {
		got.again, got.first = repeat, wireID
	}
	got.received++
	if repeat {
		got.repeats++
	}
	if f != merged && len(r.again) == 0 { // what gets another try is stored nowhere yet: it must be read again after a restart
		r.read[f] = max(r.read[f], got.lines())
	}
	if len(r.found) >= r.s.cfg.CommitRows {
		if err := r.commit(ctx); err != nil {
			return err
		}
	}
	if got.received > mostLines(len(r.entries)) {
		return &providerError{errEndlessFile}
	}
	if r.provider.turn.stopped() {
		return errors.Join(errStopping, r.commit(ctx))
	}
	return nil
}

// answer publishes the result that a line holds, if it is final, and reports whether its row had one before.
func (r *run) answer(ctx context.Context, line *doubleword.Line, raw []byte) (repeat bool, err error) {
	if line.Pending() {
		return false, nil
	}
	r.heard++
	place, id, err := r.owner(ctx, line)
	if err != nil || place < 0 || id == "" {
		return place >= 0, err
	}
	result := resultOf(line, raw, r.facts())
	result.CustomID, result.Attempt = id, r.entries[place].Attempt
	return false, r.end(ctx, place, &result)
}

// end does with the result of a place what [decide] says.
func (r *run) end(ctx context.Context, place int, result *events.Result) error {
	switch decide(result, r.ended(), r.retryPolicy()) {
	case provisional:
		r.provisional++
		return nil
	case again:
		r.again[place] = retry{hold: holdOf(result)}
		return nil
	default:
		delete(r.again, place)
		return r.publish(ctx, place, result)
	}
}

// owner is the row that a line is about: its place, and its custom_id when it has no result yet. An id that nobody sent gives -1.
func (r *run) owner(ctx context.Context, line *doubleword.Line) (place int, id string, err error) {
	place, rest, ok := rows.ParseWireID(line.CustomID)
	if !ok || place >= len(r.entries) {
		r.orphan(line.CustomID)
		return -1, "", nil
	}
	if r.seen.Has(place) {
		return place, "", nil
	}
	id, ok, err = r.customID(ctx, place, rest)
	if err == nil && !ok {
		r.orphan(line.CustomID)
		return -1, "", nil
	}
	return place, id, err
}

// tail reads what is new of a file.
func (r *run) tail(ctx context.Context, f file) (reading, error) {
	skip := r.cursor.OutputLines
	if f == failures {
		skip = r.cursor.ErrorLines
	}
	return r.readFile(ctx, f, doubleword.ContentQuery{Skip: skip})
}

// early reads what is new of a batch that still runs: its output file. Its failures are provisional, and counted by the poller.
func (r *run) early(ctx context.Context) error {
	if r.b.State != events.BatchSubmitted {
		return nil
	}
	got, err := r.tail(ctx, output)
	if err == nil && got.short {
		return &providerError{fmt.Errorf("read output file: %d lines came of those promised", got.received)}
	}
	return err
}
