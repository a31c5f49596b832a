package audit

import (
	"cmp"
	"sort"

	"github.com/batchbus/batchbus/internal/block"
	"github.com/batchbus/batchbus/pkg/events"
)

// owner is a row that gets the result of its custom_id.
type owner struct {
	sequence uint64
	index    uint32
	batch    uint32 // the last one that took it: 1 + the index in ledger.batches; 0: none
	source   block.Hash
	refused  bool
	settled  bool // a cursor says that its result is stored
	answered bool // it has a result
	revoked  bool // which says that it was cancelled
}

func (o *owner) place() *events.RowPlace {
	return &events.RowPlace{Sequence: o.sequence, Index: int(o.index)}
}

// carrier is what the ledger keeps of a batch.
type carrier struct {
	n     string
	ended bool
}

// letter is what becomes of a source that must have a dead letter.
type letter struct {
	place   events.RowPlace
	present bool
}

// ledger is what is known of a job's rows. Its methods are to be called in the order of the package's diagram. It reads nothing.
type ledger struct {
	job    *events.Job
	report *Report

	byID    map[block.Hash]uint32 // custom_id to the index in owners
	owners  []owner               // in the order of their places
	letters map[block.Hash]letter // by source
	groups  map[events.GroupKey]bool
	batches []carrier
	byN     map[string]uint32

	sealed              bool
	sawWalked, sawBlock bool // the block that the state's Walked names; any block up to there
	after               int  // rows behind Walked
	lines, messages     int  // dead letters of what never became a row: of one line each, and of whole messages, which may hold any number
	strangers           int  // results without a row, in a job whose rows may still come
}

func newLedger(job *events.Job) *ledger {
	return &ledger{
		job:    job,
		report: &Report{Queue: job.Queue, Job: job.Job, State: job.State, Basis: ByRows, DeadLetters: map[string]int{}},
		byID:   make(map[block.Hash]uint32), letters: make(map[block.Hash]letter), groups: make(map[events.GroupKey]bool),
		byN: make(map[string]uint32),
	}
}

// block notes that there is a block at the place.
func (l *ledger) block(at events.Place) {
	walked := l.job.Walked
	l.sawBlock = l.sawBlock || at.Sequence <= walked.Sequence
	l.sawWalked = l.sawWalked || at.Sequence == walked.Sequence && at.At.Equal(walked.At)
}

// seal notes a seal block.
func (l *ledger) seal() { l.sealed, l.report.Sealed = true, true }

// row takes the next row of the job's blocks: who comes first with a custom_id owns it, and who comes second, late, or when the job is full
// must have a dead letter.
func (l *ledger) row(e *block.Entry, at events.RowPlace) {
	l.report.RowsIn++
	if at.Sequence > l.job.Walked.Sequence {
		l.after++
	}
	first, taken := l.byID[e.ID]
	switch {
	case taken && l.owners[first].source == e.Source:
		return // a redelivery
	case taken, l.sealed, len(l.owners) >= cmp.Or(l.job.Policy.MaxRowsPerJob, events.DefaultMaxRowsPerJob):
		if _, known := l.letters[e.Source]; !known {
			l.letters[e.Source] = letter{place: at}
		}
		return
	}
	l.byID[e.ID] = uint32(len(l.owners))
	l.owners = append(l.owners, owner{
		sequence: at.Sequence, index: uint32(at.Index), source: e.Source, refused: e.Fault != nil || !l.fits(e.Group),
	})
}

// fits tells whether a good row's group is one of the first [events.MaxGroups].
func (l *ledger) fits(group events.GroupKey) bool {
	if !l.groups[group] && len(l.groups) == events.MaxGroups {
		return false
	}
	l.groups[group] = true
	return true
}

// at is the owner at the place, nil when none stands there.
func (l *ledger) at(place events.RowPlace) *owner {
	i := sort.Search(len(l.owners), func(i int) bool { return !place.After(*l.owners[i].place()) })
	if i == len(l.owners) || *l.owners[i].place() != place {
		return nil
	}
	return &l.owners[i]
}
