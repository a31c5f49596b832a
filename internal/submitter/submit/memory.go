package submit

import (
	"sync"
	"time"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/pkg/events"
)

// memory is what this process knows of one batch and its state does not hold. Times are monotonic.
type memory struct {
	busy       bool // a drive has it; guarded by memories.mu
	revision   uint64
	enteredAt  time.Time // by the state itself: when it was entered. Revisions come again on a bus that was restored, this does not
	seenAt     time.Time // when this process first saw the revision, or an earlier one that said the same
	mine       bool      // this process made the change to the batch's present state
	fence      fence
	failures   int       // lists, reads, deletes and cancels that failed in a row
	restUntil  time.Time // what failed last is not repeated before
	refusals   int       // uploads and creates that failed in a row
	waitsSince time.Time // when it began to wait on its way to the provider; zero: it does not, see alarm
	alarmed    bool      // a person was asked to look at that
	estimate   *events.Estimate
}

// fence is how far the owner of a fencing state has come.
type fence struct {
	gone      bool      // the delete was answered 404: its proof is still missing
	provenAt  time.Time // when the input file was proven to be deleted; zero before
	newFile   string    // the next input file, when it is uploaded already
	newFileAt time.Time
}

// observe takes note of the revision that was just read.
func (m *memory) observe(b *jobs.Batch, now time.Time) {
	if m.revision == b.Revision && m.enteredAt.Equal(b.SinceAt) {
		return
	}
	m.revision, m.enteredAt, m.seenAt, m.mine, m.fence = b.Revision, b.SinceAt, now, false, fence{}
}

// entered takes note of a change to a new state that this process has just made.
func (m *memory) entered(b *jobs.Batch, now time.Time) {
	m.revision, m.enteredAt, m.seenAt, m.mine, m.fence = b.Revision, b.SinceAt, now, true, fence{}
}

// noted takes note of a change of what b says of itself, its state being the same.
func (m *memory) noted(b *jobs.Batch) { m.revision = b.Revision }

// untried reports whether nothing has failed for this process yet: a wait that the state tells of is then another one's, perhaps of one with
// other settings, and a first try of one's own is worth it.
func (m *memory) untried() bool { return m.failures == 0 && m.refusals == 0 }

// memories are this process' memories by batch key, and the locks that keep two drives of one process from the same batch.
type memories struct {
	mu    sync.Mutex
	byKey map[string]*memory
}

func newMemories() *memories { return &memories{byKey: make(map[string]*memory)} }

// take gives the memory of a batch to one drive; false when another has it.
func (m *memories) take(key string) (*memory, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	found, ok := m.byKey[key]
	if !ok {
		found = &memory{}
		m.byKey[key] = found
	}
	if found.busy {
		return nil, false
	}
	found.busy = true
	return found, true
}

// untried is [memory.untried] of a batch that no drive has now.
func (m *memories) untried(key string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	found, ok := m.byKey[key]
	return !ok || !found.busy && found.untried()
}

// resting reports whether a batch that no drive has now is left alone for a while, after a call of this process that failed.
func (m *memories) resting(key string, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	found, ok := m.byKey[key]
	return ok && !found.busy && now.Before(found.restUntil)
}

// give ends what take began. With forget nothing is kept.
func (m *memories) give(key string, forget bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.byKey[key].busy = false
	if forget {
		delete(m.byKey, key)
	}
}

// keep forgets all batches but the named ones and those that a drive has.
func (m *memories) keep(named map[string]struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, memory := range m.byKey {
		if _, ok := named[key]; !ok && !memory.busy {
			delete(m.byKey, key)
		}
	}
}
