package simulator

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
)

// batchResults answers GET /v1/batches/{id}/results: every row in input order, in every state (contract, 3.6).
func (s *Simulator) batchResults(w http.ResponseWriter, r *http.Request, c call) error {
	q, err := s.contentQuery(r.URL.Query(), c, "skip", "limit", "search", "status")
	if err == nil {
		err = s.authorize(r)
	}
	if err != nil {
		return err
	}
	id, err := s.pathID(r, "batch")
	if err != nil {
		return err
	}
	view, err := s.openResults(id, q)
	if err != nil {
		return err
	}
	if err := view.rd.matching(); err != nil {
		return err
	}
	rows, more := view.rd.selected()
	header := w.Header()
	switch {
	case q.limit != nil:
		header.Set("X-Incomplete", strconv.FormatBool(more || view.pending))
		header.Set("X-Last-Line", strconv.Itoa(q.skip+len(rows)))
	default:
		header.Set("X-Incomplete", strconv.FormatBool(view.pending))
		if q.search == "" {
			header.Set("X-Last-Line", strconv.Itoa(view.count))
		}
	}
	if view.broken && q.limit != nil {
		header.Del("X-Incomplete")
		header.Del("X-Last-Line")
		return refuse(http.StatusInternalServerError, "%s", standardText(http.StatusInternalServerError))
	}
	if view.broken {
		w.Header().Set("Content-Type", "application/x-ndjson")
		w.WriteHeader(http.StatusOK)
		panic(http.ErrAbortHandler)
	}
	return s.stream(w, view.rd, rows, c)
}

// resultsView is what one results request saw of its batch.
type resultsView struct {
	rd      reading
	count   int  // what an unlimited read promises
	pending bool // pending rows exist; false while validating, when no rows exist at all
	broken  bool // the input file was deleted
}

func (s *Simulator) openResults(id string, q query) (resultsView, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, ok := s.state.liveBatch(id)
	if !ok {
		return resultsView{}, notFound("Batch", id)
	}
	states := slices.Clone(b.states)
	v := resultsView{count: b.Rows, broken: b.input.deleted, pending: slices.ContainsFunc(states, waiting)}
	v.rd = reading{search: q.search, skip: q.skip, limit: q.limit, from: b.input.rows}
	for i, state := range states {
		if q.status == "" || state.filter() == q.status {
			v.rd.rows = append(v.rd.rows, uint32(i))
		}
	}
	if slices.Contains([]string{"completed", "failed", "pending", "in_progress"}, q.status) {
		v.count = len(v.rd.rows)
	}
	attempts, odd := slices.Clone(b.attempts), maps.Clone(b.odd)
	v.rd.render = func(dst []byte, n uint32, line []byte) []byte {
		return s.appendResult(dst, b, n, line, outcome{states[n], attempts[n], odd[n]})
	}
	return v, nil
}

// waiting counts what has no result yet; a held row is one whose write has not arrived.
func waiting(state rowState) bool { return state == rowPending || state == rowHeld }

// filter is the state as the status parameter matches it.
func (state rowState) filter() string {
	switch state {
	case rowCompleted, rowLost:
		return "completed"
	case rowFailed:
		return "failed"
	case rowCanceled:
		return "canceled"
	case rowHeld:
		return "in_progress"
	default:
		return "pending"
	}
}

// shown is the state as the line prints it: cancelled rows read as pending.
func (state rowState) shown() string {
	if state == rowCanceled {
		return "pending"
	}
	return state.filter()
}

// outcome is where one row of a batch stood when the results were opened.
type outcome struct {
	state   rowState
	attempt uint8
	odd     oddities
}

func (s *Simulator) appendResult(dst []byte, b *batch, n uint32, line []byte, o outcome) []byte {
	r := parseRow(line)
	dst = appendRowID(append(dst, `{"id":"`...), b.ID, n)
	dst = append(append(dst, `","custom_id":`...), r.id...)
	dst = append(append(dst, `,"model":`...), lookup(r.body, "model")...)
	dst = append(append(dst, `,"input_body":`...), r.body...)
	dst = append(dst, `,"response_body":`...)
	if o.state == rowCompleted || o.state == rowLost {
		dst = s.appendBody(dst, b.Seed, r, o.odd)
	} else {
		dst = append(dst, "null"...)
	}
	dst = append(dst, `,"error":`...)
	if o.state == rowFailed {
		dst = appendString(dst, b.failure(r, o.attempt, o.odd).reason())
	} else {
		dst = append(dst, "null"...)
	}
	dst = append(append(dst, `,"status":"`...), o.state.shown()...)
	return append(dst, "\"}\n"...)
}
