package simulator

import (
	"io"
	"net/http"
)

// maxFaultsBytes bounds the faults that one request sets.
const maxFaultsBytes = 1 << 20

// ownRoutes adds the routes that no provider has. They ask for no key, are in no ledger, and no fault concerns them.
func (s *Simulator) ownRoutes(mux *http.ServeMux) {
	for pattern, answer := range map[string]func(r *http.Request) (any, error){
		"GET /_simulator/ledger": func(*http.Request) (any, error) { return s.Ledger(), nil },
		"GET /_simulator/faults": func(*http.Request) (any, error) { return *s.faults.Load(), nil },
		"PUT /_simulator/faults": s.putFaults,
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			value, err := answer(r)
			if err == nil {
				err = replyJSON(w, http.StatusOK, value)
			}
			if err != nil {
				s.replyError(w, err)
			}
		})
	}
}

// putFaults replaces the faults by those of the body, and answers with them.
func (s *Simulator) putFaults(r *http.Request) (any, error) {
	text, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, maxFaultsBytes))
	if err != nil {
		return nil, badRequest("read body: %v", err)
	}
	faults, err := ReadFaults(text)
	if err == nil {
		err = s.SetFaults(faults...)
	}
	if err != nil {
		return nil, badRequest("%v; the faults stay as they were", err)
	}
	return *s.faults.Load(), nil
}
