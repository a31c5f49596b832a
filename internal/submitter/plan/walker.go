package plan

import (
	"cmp"
	"time"

	"github.com/batchbus/batchbus/internal/block"
	"github.com/batchbus/batchbus/pkg/events"
)

// action is what a verdict calls for.
type action int

const (
	pass   action = iota // nothing to publish: gathered, planned or answered before, or a redelivery
	reject               // a result: rejected
	revoke               // a result: cancelled
	bury                 // a dead letter
	clash                // its custom_id has an owner: [walker.judge] says, once the owner's entry is read
	ask                  // the job has ended and its index is gone: the row's result says
)

// verdict is what becomes of one entry.
type verdict struct {
	do    action
	fault block.Fault // reject and bury: why
	// owner is set for a clash, and for a dead letter that names the row which came first.
	owner *events.RowPlace
	seal  *events.Origin // bury: the seal that the row came behind, where it is known
}

// tally counts owners: all of them, the refused and the cancelled ones.
type tally struct{ rows, rejected, cancelled int }

// mark is how far the walk has come in whole blocks, and the counts up to there.
type mark struct {
	place events.Place
	tally
}

// walker decides what becomes of a job's rows, given all of them once in the order of ROWS. It does nothing itself: it is the same
// decisions every time, so whoever replays the blocks from the first comes to where another stopped. What the job's state says was
// stored before is not asked for again: results and dead letters up to Walked, batches up to each group's Cut.
type walker struct {
	limits
	maxOwners int
	stored    uint64 // up to this sequence dead letters and rejected results are stored
	cancel    bool   // the wish is in the state, so no row that is not cut by now ever will be
	lost      int    // owners that the state counted and whose blocks are gone: see [events.Job.LostRows]
	planned   bool   // the job is fully planned, and what was cancelled is stored up to there too
	ended     bool   // the job is completed: there is no index any more

	index  index
	groups []*group
	byKey  map[events.GroupKey]*group
	sealed bool
	seal   sealing // once sealed
	now    tally
	mark   mark
	ready  []cut // to be cut before the walk goes on
}

// newWalker returns a walker that has seen nothing yet, unless the job is completed: then it stands at Walked.
func newWalker(j *events.Job) *walker {
	w := &walker{
		limits: limits{
			maxRows:  cmp.Or(j.Policy.MaxRowsPerBatch, events.DefaultMaxRowsPerBatch),
			maxBytes: cmp.Or(j.Policy.MaxBytesPerBatch, events.DefaultMaxBytesPerBatch),
			opaque:   j.Policy.OpaqueIDs,
		},
		maxOwners: cmp.Or(j.Policy.MaxRowsPerJob, events.DefaultMaxRowsPerJob),
		stored:    j.Walked.Sequence,
		cancel:    j.CancelWanted != nil,
		lost:      j.LostRows,
		planned:   j.State == events.JobPlanned,
		ended:     j.State == events.JobCompleted,
	}
	if w.ended {
		w.mark.place = j.Walked
		w.seal.sequence = j.SealSequence
		if j.SealedAt != nil {
			w.seal.at = *j.SealedAt
		}
		return w
	}
	w.index, w.byKey = make(index), make(map[events.GroupKey]*group)
	for _, g := range j.Groups {
		w.byKey[g.GroupKey] = &group{key: g.GroupKey, cut: g.Cut}
	}
	return w
}

// row decides on the entry at the given place, which must come behind every one before.
func (w *walker) row(e *block.Entry, at events.RowPlace) verdict {
	v := w.decide(e, at)
	if at.Sequence <= w.stored && (w.planned || v.do != revoke) {
		return verdict{}
	}
	return v
}

func (w *walker) decide(e *block.Entry, at events.RowPlace) verdict {
	if w.ended {
		return verdict{do: ask}
	}
	owner, taken := w.index.owner(e.ID)
	switch {
	case taken:
		return verdict{do: clash, owner: &owner}
	case w.sealed:
		return w.late()
	case len(w.index) >= w.maxOwners:
		return letter(events.DLJobFull, "the job holds as many rows as its policy allows", "publish the rest to another job")
	}
	w.index.put(e.ID, at)
	w.now.rows++
	if e.Fault != nil {
		w.now.rejected++
		return verdict{do: reject, fault: *e.Fault}
	}
	return w.good(e, at)
}

// good decides on a good row that owns its id.
func (w *walker) good(e *block.Entry, at events.RowPlace) verdict {
	g := w.group(e.Group)
	switch {
	case g == nil:
		w.now.rejected++
		return verdict{do: reject, fault: block.Fault{
			Code:    events.CodeTooManyGroups,
			Message: "the job holds rows of 64 different windows, urls and models already",
			Hint:    "publish rows of further models to another job",
		}}
	case !at.After(g.cut):
		return verdict{}
	case w.cancel:
		w.now.cancelled++
		return verdict{do: revoke}
	}
	w.ready = append(w.ready, g.gather(e, at, w.limits)...)
	return verdict{}
}

// group returns the group of key, nil when it would be the 65th. Groups that the state names but that no row has come for yet do not
// count: their rows come later in the replay, in the same order as before.
func (w *walker) group(key events.GroupKey) *group {
	g := w.byKey[key]
	if g == nil {
		g = &group{key: key}
	}
	if g.met {
		return g
	}
	if len(w.groups) == events.MaxGroups {
		return nil
	}
	g.met = true
	w.groups, w.byKey[key] = append(w.groups, g), g
	return g
}

// judge decides on an entry whose id has an owner.
func (w *walker) judge(e *block.Entry, owner events.RowPlace, first *head) verdict {
	switch {
	case first.source == e.Source && first.row == e.Row:
		return verdict{} // a redelivery
	case w.sealed:
		return w.late()
	}
	v := letter(events.DLConflict, "another row with this custom_id came before", "give each row of a job its own custom_id")
	if first.row == e.Row {
		v = letter(events.DLDuplicate, "the same row came before", "")
	}
	v.owner = &owner
	return v
}

// sealWith ends the job's rows: what is gathered is ready to be cut. It reports whether this is the first seal.
func (w *walker) sealWith(seal sealing) (first bool) {
	if w.sealed || w.ended {
		return false
	}
	w.sealed, w.seal = true, seal
	for _, g := range w.groups {
		if len(g.entries) > 0 {
			w.ready = append(w.ready, g.close())
		}
	}
	return true
}

// end marks the block at place as completely walked.
func (w *walker) end(place events.Place) {
	w.mark = mark{place: place, tally: w.now}
}

// describe writes into j how far its rows are walked and its groups are cut.
func (w *walker) describe(j *events.Job) {
	j.Walked = w.mark.place
	if w.ended || j.State == events.JobPlanned {
		return
	}
	j.Rows, j.Rejected, j.CancelledRows = w.mark.rows+w.lost, w.mark.rejected, w.mark.cancelled
	j.Groups = make([]events.Group, len(w.groups))
	for i, g := range w.groups {
		j.Groups[i] = events.Group{GroupKey: g.key, Cut: g.cut}
	}
}

func letter(code, message, hint string) verdict {
	return verdict{do: bury, fault: block.Fault{Code: code, Message: message, Hint: hint}}
}

// late says where the seal stood, as far as the job's state or its seal block knows.
func (w *walker) late() verdict {
	message := "the row came after the job was sealed"
	if !w.seal.at.IsZero() {
		message += ", at " + w.seal.at.UTC().Format(time.RFC3339)
	}
	v := letter(events.DLJobSealed, message, "publish it to another job")
	if w.seal.sequence > 0 {
		v.seal = &events.Origin{Sequence: w.seal.sequence}
	}
	return v
}
