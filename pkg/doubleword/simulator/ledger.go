package simulator

import (
	"maps"
	"slices"
	"time"
)

// Ledger records what was done to the simulator, in order: the witness that tests compare a client's claims with.
// An entry is there even when its reply was lost.
type Ledger struct {
	Uploads []Upload   `json:"uploads"`
	Creates []Create   `json:"creates"`
	Deletes []Deletion `json:"deletes"`
	Cancels []Cancel   `json:"cancels"`
	// RowsRun counts rows that really ran; a row runs once per batch, and again after a retry call.
	RowsRun int `json:"rows_run"`
	// Calls counts requests by "METHOD /route/{id}", refused ones included.
	Calls map[string]int `json:"calls"`
}

// Upload is one stored input file.
type Upload struct {
	FileID   string `json:"file_id"`
	Filename string `json:"filename"`
	// SHA256 is the hexadecimal digest of the uploaded bytes.
	SHA256  string    `json:"sha256"`
	Bytes   int64     `json:"bytes"`
	Rows    int       `json:"rows"`
	At      time.Time `json:"at"`
	Deleted bool      `json:"deleted"`
}

// Create is one batch that came to exist.
type Create struct {
	BatchID          string            `json:"batch_id"`
	InputFileID      string            `json:"input_file_id"`
	Endpoint         string            `json:"endpoint"`
	CompletionWindow string            `json:"completion_window"`
	Metadata         map[string]string `json:"metadata"`
	Rows             int               `json:"rows"`
	At               time.Time         `json:"at"`
	Cancelled        bool              `json:"cancelled"`
	// Refused: populating it failed, so that it never had a row to run.
	Refused bool `json:"refused"`
	// RowsRun counts as Ledger.RowsRun does, for this batch.
	RowsRun int `json:"rows_run"`
}

// Deletion is one deleted file or batch.
type Deletion struct {
	// Kind is "file" or "batch".
	Kind string    `json:"kind"`
	ID   string    `json:"id"`
	At   time.Time `json:"at"`
}

// Cancel is one batch's first effective cancel call.
type Cancel struct {
	BatchID string    `json:"batch_id"`
	At      time.Time `json:"at"`
}

func emptyLedger() Ledger {
	return Ledger{
		Uploads: []Upload{}, Creates: []Create{}, Deletes: []Deletion{}, Cancels: []Cancel{}, Calls: map[string]int{},
	}
}

// Ledger returns a copy of the ledger: the same as GET /_simulator/ledger. Safe for concurrent use.
func (s *Simulator) Ledger() Ledger {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.state.ledger
	l.Uploads, l.Creates = slices.Clone(l.Uploads), slices.Clone(l.Creates)
	l.Deletes, l.Cancels = slices.Clone(l.Deletes), slices.Clone(l.Cancels)
	for i := range l.Creates {
		l.Creates[i].Metadata = maps.Clone(l.Creates[i].Metadata)
	}
	l.Calls = maps.Clone(l.Calls)
	return l
}

// record counts one request, durably.
func (s *Simulator) record(route string) (call, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.commit(event{Kind: evCalled, At: time.Now(), ID: route}); err != nil {
		return call{}, err
	}
	return call{route: route, nth: s.state.ledger.Calls[route]}, nil
}
