package simulator

import (
	"net/http"
	"net/url"
	"strconv"
)

// contentQuery reads the parameters of a content route; offset is one only for a fault.
func (s *Simulator) contentQuery(values url.Values, c call, known ...string) (query, error) {
	if s.cfg.Dialect == DialectOpenAI {
		known = nil
	}
	q, err := parseQuery(values, known...)
	if _, ok := s.faultAt(FaultOffsetHonoured, c); !ok || err != nil || !values.Has("offset") {
		return q, err
	}
	offset, err := parseQuery(url.Values{"skip": values["offset"]}, "skip")
	q.skip = offset.skip
	return q, err
}

// misstate makes the headers of a content reply as wrong as the faults want them.
func (s *Simulator) misstate(header http.Header, c call) {
	if f, ok := s.faultAt(FaultLastLineOverstated, c); ok {
		if n, err := strconv.Atoi(header.Get("X-Last-Line")); err == nil {
			header.Set("X-Last-Line", strconv.Itoa(n+max(f.Rows, 1)))
		}
	}
	if _, ok := s.faultAt(FaultCompleteEarly, c); ok {
		header.Set("X-Incomplete", "false")
	}
	if _, ok := s.faultAt(FaultIncompleteForever, c); ok {
		header.Set("X-Incomplete", "true")
	}
}

// emptied tells whether the rows look purged, and makes the headers say what they then say.
func (s *Simulator) emptied(header http.Header, c call) bool {
	_, ok := s.faultAt(FaultEmptyContent, c)
	if ok {
		header.Set("X-Incomplete", "false")
		header.Del("X-Last-Line")
	}
	return ok
}
