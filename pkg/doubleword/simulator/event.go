package simulator

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// eventKind names one change of the state.
type eventKind string

const (
	evCalled       eventKind = "called"
	evUploaded     eventKind = "uploaded"
	evCreated      eventKind = "created"
	evPopulated    eventKind = "populated"
	evUnpopulable  eventKind = "unpopulable"
	evRan          eventKind = "ran"
	evLate         eventKind = "late"
	evRanLate      eventKind = "ran_late"
	evStamped      eventKind = "stamped"
	evExpired      eventKind = "expired"
	evCancelled    eventKind = "cancelled"
	evRetried      eventKind = "retried"
	evFileDeleted  eventKind = "file_deleted"
	evBatchDeleted eventKind = "batch_deleted"
)

// event is one line of the journal.
type event struct {
	Kind  eventKind    `json:"kind"`
	At    time.Time    `json:"at"`
	ID    string       `json:"id,omitempty"` // the file or batch concerned, or the route called
	File  *fileOpened  `json:"file,omitempty"`
	Batch *batchOpened `json:"batch,omitempty"`
	// Ran is how many rows of todo ran; the lists name those among them that did not simply complete. Unpaid says
	// that none of them reached a model.
	Ran    int       `json:"ran,omitempty"`
	Failed []uint32  `json:"failed,omitempty"`
	Holds  []hold    `json:"holds,omitempty"`
	Lost   []uint32  `json:"lost,omitempty"`
	Odd    []oddRows `json:"odd,omitempty"`
	Unpaid bool      `json:"unpaid,omitempty"`
	// Rows are the rows of a retry or a late commit.
	Rows []uint32 `json:"rows,omitempty"`
}

// hold is a row that runs and is committed later.
type hold struct {
	Row     uint32    `json:"row"`
	Due     time.Time `json:"due"`
	Retried bool      `json:"retried,omitempty"` // it did not end yet: a cancel ends it
}

// apply makes one event true. It is deterministic and takes no clock: times are in the event.
func (st *state) apply(ev event) error {
	switch ev.Kind {
	case evCalled:
		st.ledger.Calls[ev.ID]++
		return nil
	case evUploaded:
		st.applyUploaded(ev)
		return nil
	case evCreated:
		return st.applyCreated(ev)
	case evFileDeleted:
		return st.applyFileDeleted(ev)
	default:
		return st.applyToBatch(ev)
	}
}

func (st *state) applyToBatch(ev event) error {
	b, ok := st.batches[ev.ID]
	if !ok {
		return fmt.Errorf("apply %s: unknown batch %s", ev.Kind, ev.ID)
	}
	switch ev.Kind {
	case evPopulated:
		b.populate(ev.At)
	case evUnpopulable:
		b.failedAt = ev.At
		st.ledgerOf(b).Refused = true
	case evRan:
		if !ev.Unpaid {
			st.countRun(b, ev.Ran)
		}
		return b.ran(ev)
	case evRanLate:
		st.countRun(b, len(ev.Rows))
		b.ranLate(ev)
	case evLate:
		return b.late(ev)
	case evStamped:
		b.stamp(ev.At)
	case evExpired:
		b.expire(ev.At)
	case evCancelled:
		st.cancel(b, ev.At)
		b.inflight, b.awaited = ev.Holds, false
	case evRetried:
		b.retry(ev)
	case evBatchDeleted:
		if b.unfinished() > 0 {
			st.cancel(b, ev.At)
		}
		b.deletedAt = ev.At
		b.states, b.todo, b.held, b.inflight = nil, nil, nil, nil
		st.ledger.Deletes = append(st.ledger.Deletes, Deletion{Kind: "batch", ID: b.ID, At: ev.At})
	default:
		return fmt.Errorf("apply event: unknown kind %q", ev.Kind)
	}
	return nil
}

func (st *state) applyUploaded(ev event) {
	f := &file{fileOpened: *ev.File, createdAt: ev.At}
	st.addFile(f)
	st.ledger.Uploads = append(st.ledger.Uploads, Upload{
		FileID: f.ID, Filename: f.Filename, SHA256: f.SHA256, Bytes: f.Bytes, Rows: f.Rows, At: ev.At,
	})
}

func (st *state) addFile(f *file) {
	st.identifiers++
	st.files[f.ID] = f
	st.fileOrder = append(st.fileOrder, f)
}

func (st *state) applyCreated(ev event) error {
	input, ok := st.files[ev.Batch.FileID]
	if !ok {
		return fmt.Errorf("apply created: unknown file %s", ev.Batch.FileID)
	}
	b := &batch{batchOpened: *ev.Batch, nth: len(st.batchOrder) + 1, input: input, createdAt: ev.At, wake: make(chan struct{}, 1)}
	b.output = b.virtual(outputFile, b.OutputID, "output")
	b.errors = b.virtual(errorFile, b.ErrorID, "error")
	st.addFile(b.output)
	st.addFile(b.errors)
	st.batches[b.ID] = b
	st.batchOrder = append(st.batchOrder, b)
	st.ledger.Creates = append(st.ledger.Creates, Create{
		BatchID: b.ID, InputFileID: b.FileID, Endpoint: b.Endpoint, CompletionWindow: b.Window,
		Metadata: b.Metadata, Rows: b.Rows, At: ev.At,
	})
	return nil
}

func (b *batch) virtual(role fileRole, id, suffix string) *file {
	opened := fileOpened{ID: id, Filename: "batch-" + b.ID + "-" + suffix + ".jsonl", Purpose: "batch_" + suffix}
	return &file{fileOpened: opened, role: role, createdAt: b.createdAt, batch: b}
}

func (st *state) applyFileDeleted(ev event) error {
	f, ok := st.files[ev.ID]
	if !ok {
		return fmt.Errorf("apply file_deleted: unknown file %s", ev.ID)
	}
	f.deleted = true
	st.ledger.Deletes = append(st.ledger.Deletes, Deletion{Kind: "file", ID: f.ID, At: ev.At})
	if i := slices.IndexFunc(st.ledger.Uploads, func(u Upload) bool { return u.FileID == f.ID }); i >= 0 {
		st.ledger.Uploads[i].Deleted = true
	}
	for _, b := range st.batchOrder {
		if b.input == f && b.deletedAt.IsZero() && b.unfinished() > 0 {
			st.cancel(b, ev.At)
		}
	}
	return nil
}

func (st *state) countRun(b *batch, rows int) {
	st.ledger.RowsRun += rows
	st.ledgerOf(b).RowsRun += rows
}

// cancel stamps once. Rows that a late-row fault holds have run and are kept.
func (st *state) cancel(b *batch, at time.Time) {
	if b.cancelled() {
		return
	}
	b.cancelledAt = at
	for i, s := range b.states {
		if s == rowPending {
			b.states[i] = rowCanceled
		}
	}
	b.todo, b.next = nil, 0
	b.held = slices.DeleteFunc(b.held, func(h heldRow) bool {
		if h.place == atEnd {
			b.states[h.row] = rowCanceled
		}
		return h.place == atEnd
	})
	st.ledger.Cancels = append(st.ledger.Cancels, Cancel{BatchID: b.ID, At: at})
	st.ledgerOf(b).Cancelled = true
	b.wakeUp()
}

// ledgerOf is a batch's entry in the ledger: both are added at once, so that they have the same place.
func (st *state) ledgerOf(b *batch) *Create { return &st.ledger.Creates[b.nth-1] }

// reserved tells whether the provider drops a metadata key on the way in (contract, 4).
func reserved(key string) bool {
	switch strings.ReplaceAll(strings.ToLower(key), "-", "_") {
	case "created_by_email", "context_name", "context_type", "request_source", "created_by", "dw_user_agent":
		return true
	}
	return false
}
