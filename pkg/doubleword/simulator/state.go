package simulator

import (
	"slices"
	"time"
)

// purgeAfter is how long the rows of a deleted batch remain readable (contract, 6: "within about 10 min").
const purgeAfter = 10 * time.Minute

// rowState is where one row of a batch stands.
type rowState uint8

const (
	rowPending rowState = iota
	rowCompleted
	rowFailed
	rowCanceled
	rowHeld // has run; a late-row fault delays its commit
	rowLost // counted as completed, in neither file: a missing-row fault
)

// fileRole tells an uploaded file from a batch's two virtual ones.
type fileRole uint8

const (
	inputFile fileRole = iota
	outputFile
	errorFile
)

// fileOpened is what the journal keeps of an upload.
type fileOpened struct {
	ID        string                `json:"id"`
	Filename  string                `json:"filename"`
	Purpose   string                `json:"purpose"` // as sent; the list filter compares this text
	Bytes     int64                 `json:"bytes"`
	SHA256    string                `json:"sha256"`
	Rows      int                   `json:"rows"`
	Models    map[string]modelShare `json:"models"`
	ExpiresAt time.Time             `json:"expires_at"`
}

// modelShare is one model's part of a file.
type modelShare struct {
	Rows      int   `json:"rows"`
	BodyBytes int64 `json:"body_bytes"`
	Embedding int   `json:"embedding"`
}

// file is one file as clients see it.
type file struct {
	fileOpened
	role      fileRole
	createdAt time.Time
	deleted   bool
	rows      *rowIndex // nil for virtual files
	batch     *batch    // nil for input files
}

// batchOpened is what the journal keeps of a create. Seed and failure rate are the batch's own, so that a restart
// with other settings changes nothing that a client has seen.
type batchOpened struct {
	ID          string            `json:"id"`
	OutputID    string            `json:"output_id"`
	ErrorID     string            `json:"error_id"`
	FileID      string            `json:"file_id"`
	Endpoint    string            `json:"endpoint"`
	Window      string            `json:"window"`
	Metadata    map[string]string `json:"metadata"`
	Rows        int               `json:"rows"`
	ExpiresAt   time.Time         `json:"expires_at"`
	Seed        uint64            `json:"seed"`
	FailureRate float64           `json:"failure_rate"`
}

// batch is one batch. Row numbers are places in the input file.
type batch struct {
	batchOpened
	nth         int // ordinal of creation, from 1
	input       *file
	output      *file
	errors      *file
	createdAt   time.Time
	populatedAt time.Time
	lastRowAt   time.Time
	completedAt time.Time
	failedAt    time.Time
	cancelledAt time.Time
	deletedAt   time.Time
	expiredAt   time.Time // OpenAI's dialect alone

	states    []rowState
	attempts  []uint8  // how often retry sent each row back; decides its outcome with seed and row
	completed []uint32 // output file order
	failed    []uint32 // error file order
	lost      int
	held      []heldRow
	todo      []uint32 // rows of this round in the order they run
	next      int      // place in todo
	round     int      // how often retry was called
	odd       map[uint32]oddities
	inflight  []hold // rows that run on although the batch was cancelled

	running  bool          // a goroutine owns the batch
	awaited  bool          // something waits for inflight
	operated bool          // the operator's retry is planned
	wake     chan struct{} // ends a wait of the goroutine for something that may have changed
}

// heldRow waits for its commit; place is where its line belongs, atEnd for a row that is tried again until then.
type heldRow struct {
	row    uint32
	place  int
	failed bool
	due    time.Time
}

const atEnd = -1

// state is everything a client can observe. Only apply changes it, one journalled event at a time, so replaying
// the journal rebuilds it.
type state struct {
	files       map[string]*file
	fileOrder   []*file
	batches     map[string]*batch
	batchOrder  []*batch
	ledger      Ledger
	identifiers uint64
}

func newState() *state {
	return &state{files: map[string]*file{}, batches: map[string]*batch{}, ledger: emptyLedger()}
}

// ownID reads an id as clients send it: a UUID in any spelling, or exactly the prefixed id of something.
func (st *state) ownID(id string) (string, bool) {
	if bare, ok := parseUUID(id); ok {
		return bare, true
	}
	_, isFile := st.files[id]
	_, isBatch := st.batches[id]
	return id, isFile || isBatch
}

// liveFile returns a file that was not deleted.
func (st *state) liveFile(id string) (*file, bool) {
	f, ok := st.files[id]
	return f, ok && !f.deleted
}

// liveBatch returns a batch that was not deleted.
func (st *state) liveBatch(id string) (*batch, bool) {
	b, ok := st.batches[id]
	return b, ok && b.deletedAt.IsZero()
}

// needed tells whether any batch still reads the rows of an input file.
func (st *state) needed(f *file, now time.Time) bool {
	if !f.deleted {
		return true
	}
	for _, b := range st.batchOrder {
		if b.input == f && !b.purged(now) {
			return true
		}
	}
	return false
}

func (b *batch) populated() bool { return !b.populatedAt.IsZero() }

func (b *batch) cancelled() bool { return !b.cancelledAt.IsZero() }

func (b *batch) purged(now time.Time) bool {
	return !b.deletedAt.IsZero() && now.Sub(b.deletedAt) >= purgeAfter
}

// completedCount includes rows that a missing-row fault took from the output file.
func (b *batch) completedCount() int { return len(b.completed) + b.lost }

// unfinished counts rows without a final state; under a cancel stamp there are none.
func (b *batch) unfinished() int {
	if b.cancelled() && b.populated() {
		return 0
	}
	return b.Rows - b.completedCount() - len(b.failed)
}

// finished is what X-Incomplete negates.
func (b *batch) finished() bool { return b.populated() && b.unfinished() == 0 }

// status derives what clients read (contract, 5.2; the first match wins).
func (b *batch) status() string {
	switch {
	case b.cancelled() && b.populated():
		return "cancelled"
	case b.cancelled():
		return "cancelling"
	case !b.expiredAt.IsZero():
		return "expired"
	case !b.populated() && !b.failedAt.IsZero():
		return "failed"
	case !b.populated():
		return "validating"
	case b.unfinished() > 0:
		return "in_progress"
	case len(b.failed) == b.Rows:
		return "failed"
	case !b.completedAt.IsZero():
		return "completed"
	case !b.failedAt.IsZero():
		return "failed"
	default:
		return "finalizing"
	}
}

// lines returns the rows of a virtual file in order. The slice is never changed afterwards.
func (f *file) lines() []uint32 {
	list := f.batch.completed
	if f.role == errorFile {
		list = f.batch.failed
	}
	return slices.Clip(f.batch.doubled(list))
}

// doubled repeats the rows whose lines a fault writes twice.
func (b *batch) doubled(list []uint32) []uint32 {
	if len(b.odd) == 0 || !slices.ContainsFunc(list, func(row uint32) bool { return b.odd[row].has(FaultDuplicateRow) }) {
		return list
	}
	var out []uint32
	for _, row := range list {
		out = append(out, row)
		if b.odd[row].has(FaultDuplicateRow) {
			out = append(out, row)
		}
	}
	return out
}
