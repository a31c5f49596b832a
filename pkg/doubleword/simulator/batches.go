package simulator

import (
	"net/http"
	"time"
)

// onBatch authorizes, finds the batch and lets act work under the lock; the reply is the batch as it then stands.
func (s *Simulator) onBatch(w http.ResponseWriter, r *http.Request, act func(b *batch, now time.Time) error) error {
	if err := s.authorize(r); err != nil {
		return err
	}
	id, err := s.pathID(r, "batch")
	if err != nil {
		return err
	}
	object, err := s.changeBatch(id, act)
	if err != nil {
		return err
	}
	return replyJSON(w, http.StatusOK, object)
}

func (s *Simulator) changeBatch(id string, act func(b *batch, now time.Time) error) (batchObject, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, ok := s.state.liveBatch(id)
	if !ok {
		return batchObject{}, notFound("Batch", id)
	}
	now := time.Now()
	if err := act(b, now); err != nil {
		return batchObject{}, err
	}
	return s.described(b, now), nil
}

// getBatch stamps a batch whose rows are all final: reading by id is what makes it terminal.
func (s *Simulator) getBatch(w http.ResponseWriter, r *http.Request, _ call) error {
	return s.onBatch(w, r, func(b *batch, now time.Time) error {
		if !b.settled() {
			return nil
		}
		return s.commit(event{Kind: evStamped, At: now, ID: b.ID})
	})
}

// cancelBatch checks no state: a completed batch becomes cancelled too. A repeat changes nothing.
func (s *Simulator) cancelBatch(w http.ResponseWriter, r *http.Request, _ call) error {
	return s.onBatch(w, r, func(b *batch, now time.Time) error {
		if b.cancelled() {
			return nil
		}
		if s.cfg.Dialect == DialectOpenAI && b.populated() && b.unfinished() == 0 {
			return badRequest("Cannot cancel a batch with status '%s'.", b.status())
		}
		return s.commit(event{Kind: evCancelled, At: now, ID: b.ID, Holds: s.inFlight(b, now)})
	})
}

// retryBatch sends failed and cancelled rows of the same batch back to pending.
func (s *Simulator) retryBatch(w http.ResponseWriter, r *http.Request, _ call) error {
	return s.onBatch(w, r, func(b *batch, now time.Time) error {
		rows := b.retriable()
		if len(rows) == 0 {
			return badRequest("Nothing to retry: batch has no failed or canceled requests")
		}
		return s.retry(b, rows, now)
	})
}

// retry runs rows again. The caller holds s.mu.
func (s *Simulator) retry(b *batch, rows []uint32, now time.Time) error {
	if b.input.rows == nil {
		return badRequest("Nothing to retry: the requests of this batch are gone")
	}
	if err := s.commit(event{Kind: evRetried, At: now, ID: b.ID, Rows: rows}); err != nil {
		return err
	}
	s.start(b)
	b.wakeUp()
	return nil
}

// retryRequests retries failed rows by id, of whatever batch: the path is not compared with them.
func (s *Simulator) retryRequests(w http.ResponseWriter, r *http.Request, _ call) error {
	if err := s.authorize(r); err != nil {
		return err
	}
	var body struct {
		RequestIDs []string `json:"request_ids"`
	}
	if err := decodeBody(r, &body); err != nil {
		return err
	}
	wanted := map[string]bool{}
	for _, id := range body.RequestIDs {
		if id, ok := parseUUID(id); ok {
			wanted[id] = true
		}
	}
	return s.onBatch(w, r, func(_ *batch, now time.Time) error {
		if len(wanted) == 0 {
			return badRequest("No valid request IDs provided")
		}
		return s.retryWanted(wanted, now)
	})
}

func (s *Simulator) retryWanted(wanted map[string]bool, now time.Time) error {
	for _, b := range s.state.batchOrder {
		if !b.deletedAt.IsZero() {
			continue
		}
		var rows []uint32
		for _, n := range b.failed {
			if wanted[string(appendRowID(nil, b.ID, n))] {
				rows = append(rows, n)
			}
		}
		if len(rows) == 0 {
			continue
		}
		if err := s.retry(b, rows, now); err != nil {
			return err
		}
	}
	return nil
}

// deleteBatch answers 204. The input file stays; the rows stay readable for some minutes.
func (s *Simulator) deleteBatch(w http.ResponseWriter, r *http.Request, _ call) error {
	if err := s.authorize(r); err != nil {
		return err
	}
	id, err := s.pathID(r, "batch")
	if err != nil {
		return err
	}
	_, err = s.changeBatch(id, func(b *batch, now time.Time) error {
		return s.commit(event{Kind: evBatchDeleted, At: now, ID: b.ID})
	})
	if err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
