package simulator

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// flushBytes is how much is rendered before it is written.
const flushBytes = 64 << 10

// reading is one content or results request: which rows, in which order, rendered how.
type reading struct {
	rows   []uint32
	from   *rowIndex
	search string
	skip   int
	limit  *int
	render func(dst []byte, row uint32, line []byte) []byte
}

// matching reads the rows that the search finds, without rendering them.
func (rd *reading) matching() error {
	if rd.search == "" {
		return nil
	}
	source, err := rd.from.open()
	if err != nil {
		return err
	}
	defer source.close()
	search := newLike(rd.search)
	var found []uint32
	for _, row := range rd.rows {
		line, err := source.line(row)
		if err != nil {
			return err
		}
		if search.finds(parseRow(line).customID()) {
			found = append(found, row)
		}
	}
	rd.rows = found
	return nil
}

// selected applies skip and limit; more tells whether lines follow.
func (rd *reading) selected() (rows []uint32, more bool) {
	rows = rd.rows[min(rd.skip, len(rd.rows)):]
	if rd.limit != nil && len(rows) > *rd.limit {
		return rows[:*rd.limit], true
	}
	return rows, false
}

// write streams lines; an error after the first byte breaks the body off, as in the provider.
func (rd *reading) write(w http.ResponseWriter, rows []uint32) error {
	if len(rows) == 0 {
		return nil
	}
	source, err := rd.from.open()
	if err != nil {
		return err
	}
	defer source.close()
	var buf []byte
	for _, row := range rows {
		line, err := source.line(row)
		if err != nil {
			return err
		}
		buf = rd.render(buf, row, line)
		if len(buf) < flushBytes {
			continue
		}
		if _, err := w.Write(buf); err != nil {
			return fmt.Errorf("write lines: %w", err)
		}
		buf = buf[:0]
	}
	if _, err := w.Write(buf); err != nil {
		return fmt.Errorf("write lines: %w", err)
	}
	return nil
}

// fileContent answers GET /v1/files/{id}/content with the header table of the contract, 3.4.
func (s *Simulator) fileContent(w http.ResponseWriter, r *http.Request, c call) error {
	q, err := s.contentQuery(r.URL.Query(), c, "skip", "limit", "search")
	if err == nil {
		err = s.authorize(r)
	}
	if err != nil {
		return err
	}
	id, err := s.pathID(r, "file")
	if err != nil {
		return err
	}
	rd, state, err := s.openContent(id, q)
	if err != nil {
		return err
	}
	if err := rd.matching(); err != nil {
		return err
	}
	rows, more := rd.selected()
	header := w.Header()
	switch {
	case q.limit != nil:
		header.Set("X-Incomplete", strconv.FormatBool(more || state.unfinished))
		header.Set("X-Last-Line", strconv.Itoa(rd.skip+len(rows)))
	default:
		header.Set("X-Incomplete", strconv.FormatBool(state.unfinished && !state.deleted))
		if state.virtual && !state.deleted && q.search == "" {
			header.Set("X-Last-Line", strconv.Itoa(max(rd.skip, len(rd.rows))))
		}
	}
	return s.stream(w, rd, rows, c)
}

// stream sends the body; what fails from here on can only break it off.
func (s *Simulator) stream(w http.ResponseWriter, rd reading, rows []uint32, c call) error {
	w.Header().Set("Content-Type", "application/x-ndjson")
	if s.cfg.Dialect == DialectOpenAI {
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Del("X-Incomplete")
		w.Header().Del("X-Last-Line")
	}
	s.misstate(w.Header(), c)
	if s.emptied(w.Header(), c) {
		rows = nil
	}
	w.WriteHeader(http.StatusOK)
	if f, ok := s.faultAt(FaultShortBody, c); ok {
		w = &shortBody{ResponseWriter: w, left: f.Bytes, clean: f.Clean}
	}
	if err := rd.write(w, rows); err != nil {
		panic(http.ErrAbortHandler)
	}
	return nil
}

// contentState is what the headers need to know beside the rows.
type contentState struct{ virtual, unfinished, deleted bool }

func (s *Simulator) openContent(id string, q query) (reading, contentState, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, ok := s.state.liveFile(id)
	if !ok {
		return reading{}, contentState{}, notFound("File", id)
	}
	rd := reading{search: q.search, skip: q.skip, limit: q.limit}
	if f.role == inputFile {
		rd.rows, rd.from = rowNumbers(f.Rows), f.rows
		rd.render = func(dst []byte, _ uint32, line []byte) []byte { return append(append(dst, line...), '\n') }
		return rd, contentState{}, nil
	}
	b := f.batch
	state := contentState{virtual: true, unfinished: !b.finished(), deleted: !b.deletedAt.IsZero()}
	odd := maps.Clone(b.odd)
	rd.from, rd.render = b.input.rows, s.outputLine(b, odd)
	if f.role == errorFile {
		rd.render = s.errorLine(b, slices.Clone(b.attempts), odd)
	}
	if !b.purged(time.Now()) && rd.from != nil {
		rd.rows = f.lines()
	}
	return rd, state, nil
}

func rowNumbers(n int) []uint32 {
	rows := make([]uint32, n)
	for i := range rows {
		rows[i] = uint32(i)
	}
	return rows
}

// shortBody breaks a response off after some bytes.
type shortBody struct {
	http.ResponseWriter
	left  int64
	clean bool
}

func (b *shortBody) Write(p []byte) (int, error) {
	if int64(len(p)) < b.left {
		b.left -= int64(len(p))
		return b.ResponseWriter.Write(p) //nolint:wrapcheck // it stands for the writer it wraps
	}
	n, err := b.ResponseWriter.Write(p[:b.left])
	b.left = 0
	if b.clean || err != nil {
		return len(p), err
	}
	// What was written must reach the client before the connection goes; a writer without Flush has no buffer.
	_ = http.NewResponseController(b.ResponseWriter).Flush()
	return n, http.ErrAbortHandler
}
