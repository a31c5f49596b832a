package submit

import (
	"testing"
	"time"

	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/events"
)

const digest = "d1"

// remote is a remote batch of our path; edit may be nil.
func remote(id, status string, attempt string, edit func(*doubleword.Batch)) doubleword.Batch {
	b := doubleword.Batch{
		ID: id, Status: status, InputFileID: "file-" + id, CreatedAt: time.Unix(int64(len(id)), 0),
		Metadata: map[string]string{MetaDigest: digest, MetaAttempt: attempt},
	}
	if edit != nil {
		edit(&b)
	}
	return b
}

func counted(total, completed, failed int) func(*doubleword.Batch) {
	return func(b *doubleword.Batch) {
		b.Counts = doubleword.Counts{Total: total, Completed: completed, Failed: failed}
	}
}

func otherDigest(b *doubleword.Batch) { b.Metadata = map[string]string{MetaDigest: "d2"} }

// aView is of a batch in the given state whose waits are all over.
func aView(state events.BatchState, edit func(*view)) *view {
	now := time.Now()
	v := &view{
		batch: &events.Batch{State: state, Digest: digest, Attempt: 1, FileID: "file-a"}, now: now, key: true,
		can:      doubleword.DefaultCapabilities(),
		patience: patience{answer: time.Minute, quiet: time.Minute, owner: time.Minute},
		memory:   memory{seenAt: now.Add(-time.Hour)},
	}
	if edit != nil {
		edit(v)
	}
	return v
}

func listed(listing ...doubleword.Batch) func(*view) {
	return func(v *view) { v.listed, v.listing = true, listing }
}

// owned makes the view that of the fence's owner.
func owned(proven bool, edits ...func(*view)) func(*view) {
	return func(v *view) {
		v.batch.Attempt, v.memory.mine = 2, true
		if proven {
			v.memory.fence.provenAt = v.now.Add(-time.Hour)
		}
		for _, edit := range edits {
			edit(v)
		}
	}
}

func both(edits ...func(*view)) func(*view) {
	return func(v *view) {
		for _, edit := range edits {
			edit(v)
		}
	}
}

func cancelled(v *view)  { v.cancelled = true }
func heldQueue(v *view)  { v.queueHeld = true }
func keyless(v *view)    { v.key = false }
func blind(v *view)      { v.can.ListByMetadata = false }
func undeleting(v *view) { v.can.DeleteFile = false }

func held(code string) func(*view) {
	return func(v *view) { v.batch.Hold = &events.Hold{Code: code} }
}

func young(v *view) { v.memory.seenAt = v.now }

func TestDecide(t *testing.T) {
	t.Parallel()
	live := remote("a", "in_progress", "1", nil)
	for name, c := range map[string]struct {
		state events.BatchState
		edit  func(*view)
		want  kind
		code  string // of a hold
		id    string // of what is adopted
		twins int
		fence bool
	}{
		"an ended batch is left alone":                    {state: events.BatchSettled, want: stop},
		"a refused batch is left alone":                   {state: events.BatchRefused, edit: cancelled, want: stop},
		"a finished batch is never cancelled":             {state: events.BatchFinished, edit: cancelled, want: stop},
		"a submitted batch is the poller's":               {state: events.BatchSubmitted, want: stop},
		"a submitted batch of a cancelled job is stopped": {state: events.BatchSubmitted, edit: cancelled, want: cancelRemote},
		"a state of a newer version is held":              {state: "later", want: hold, code: events.HoldNeedsAttention},

		"planned is listed before the upload":                   {state: events.BatchPlanned, want: look},
		"planned with a clean list is uploaded":                 {state: events.BatchPlanned, edit: listed(), want: upload},
		"planned without a list is uploaded":                    {state: events.BatchPlanned, edit: blind, want: upload},
		"planned that is known remotely is adopted":             {state: events.BatchPlanned, edit: listed(live), want: adopt, id: "a"},
		"planned waits for its next try":                        {state: events.BatchPlanned, edit: func(v *view) { at := v.now.Add(time.Minute); v.batch.NextTryAt, v.memory.failures = &at, 1 }, want: wait},
		"planned tries once by itself before it waits":          {state: events.BatchPlanned, edit: func(v *view) { at := v.now.Add(time.Minute); v.batch.NextTryAt, v.listed = &at, true }, want: upload},
		"planned of a held job rests":                           {state: events.BatchPlanned, edit: func(v *view) { v.paused = true }, want: stop},
		"planned of a held queue rests":                         {state: events.BatchPlanned, edit: heldQueue, want: awaitQueue},
		"uploaded of a held queue rests":                        {state: events.BatchUploaded, edit: both(heldQueue, listed()), want: awaitQueue},
		"a cancelled job's batch of a held queue ends":          {state: events.BatchUploaded, edit: both(heldQueue, cancelled, listed()), want: endCancelled},
		"an unanswered create of a held queue is resolved":      {state: events.BatchCreating, edit: both(heldQueue, listed(live)), want: adopt, id: "a"},
		"a proven fence of a held queue ends without a POST":    {state: events.BatchFencing, edit: owned(true, heldQueue, listed()), want: leaveFence},
		"a fence of a held queue is proven all the same":        {state: events.BatchFencing, edit: owned(false, heldQueue, listed()), want: deleteFile},
		"planned of a cancelled job is listed":                  {state: events.BatchPlanned, edit: cancelled, want: look},
		"planned of a cancelled job ends":                       {state: events.BatchPlanned, edit: both(cancelled, listed()), want: endCancelled},
		"planned without its key is held":                       {state: events.BatchPlanned, edit: keyless, want: hold, code: events.HoldKeyMissing},
		"planned without its key can be cancelled":              {state: events.BatchPlanned, edit: both(keyless, cancelled), want: endCancelled},
		"the key's return ends the hold":                        {state: events.BatchPlanned, edit: held(events.HoldKeyMissing), want: resume},
		"another hold rests":                                    {state: events.BatchUploaded, edit: held(events.HoldCredit), want: stop},
		"another hold of a cancelled job ends":                  {state: events.BatchUploaded, edit: both(held(events.HoldCredit), cancelled, listed()), want: endCancelled},
		"planned beside another digest is held":                 {state: events.BatchPlanned, edit: listed(remote("b", "completed", "1", both2(otherDigest, counted(2, 2, 0)))), want: hold, code: events.HoldBusOlder},
		"uploaded is listed again before the POST":              {state: events.BatchUploaded, want: look},
		"uploaded with a clean list is created":                 {state: events.BatchUploaded, edit: listed(), want: create},
		"a batch that was cancelled before it had rows is none": {state: events.BatchUploaded, edit: listed(remote("a", "cancelling", "1", nil)), want: create},

		"creating that was just seen waits":              {state: events.BatchCreating, edit: young, want: wait},
		"creating that was just seen waits for a cancel": {state: events.BatchCreating, edit: both(young, cancelled), want: wait},
		"creating is listed after the wait":              {state: events.BatchCreating, want: look},
		"creating is never posted but fenced":            {state: events.BatchCreating, edit: listed(), want: startFence},
		"our own creating is not posted either":          {state: events.BatchCreating, edit: both(listed(), func(v *view) { v.memory.mine = true }), want: startFence},
		"creating that is found is adopted":              {state: events.BatchCreating, edit: listed(live), want: adopt, id: "a"},
		"an unknown status is alive":                     {state: events.BatchCreating, edit: listed(remote("a", "pondering", "1", nil)), want: adopt, id: "a"},
		"the file's batch is adopted before an older one": {
			state: events.BatchCreating, want: adopt, id: "a", twins: 1,
			edit: listed(remote("", "in_progress", "1", nil), live),
		},
		"else the oldest is adopted": {
			state: events.BatchCreating, want: adopt, id: "bb", twins: 1,
			edit: listed(remote("ccc", "in_progress", "1", nil), remote("bb", "in_progress", "1", nil)),
		},
		"a twin that has ended is no twin to cancel": {
			state: events.BatchCreating, want: adopt, id: "a",
			edit: listed(live, remote("bb", "completed", "1", counted(1, 1, 0))),
		},
		"failed with all rows failed is an answer":       {state: events.BatchCreating, edit: listed(remote("a", "failed", "1", counted(2, 0, 2))), want: adopt, id: "a"},
		"failed without rows is none":                    {state: events.BatchCreating, edit: listed(remote("a", "failed", "1", counted(2, 0, 0))), want: startFence},
		"cancelled with completed rows counts as fenced": {state: events.BatchCreating, edit: listed(remote("a", "cancelled", "1", counted(2, 1, 0))), want: adopt, id: "a", fence: true},
		"creating beside another digest is held":         {state: events.BatchCreating, edit: listed(live, remote("b", "in_progress", "1", otherDigest)), want: hold, code: events.HoldBusOlder},
		"creating that cannot be searched is held":       {state: events.BatchCreating, edit: blind, want: hold, code: events.HoldCapability},
		"creating that cannot be fenced is held":         {state: events.BatchCreating, edit: both(undeleting, listed()), want: hold, code: events.HoldCapability},
		"creating that cannot be fenced is adopted":      {state: events.BatchCreating, edit: both(undeleting, listed(live)), want: adopt, id: "a"},
		"creating of a cancelled job is fenced first":    {state: events.BatchCreating, edit: both(cancelled, listed()), want: startFence},

		"a fence that was just seen is its owner's":      {state: events.BatchFencing, edit: young, want: wait},
		"a fence whose owner is gone begins anew":        {state: events.BatchFencing, want: startFence},
		"the owner lists before the delete":              {state: events.BatchFencing, edit: owned(false), want: look},
		"the owner deletes after a clean list":           {state: events.BatchFencing, edit: owned(false, listed()), want: deleteFile},
		"what the owner finds then is adopted as fenced": {state: events.BatchFencing, edit: owned(false, listed(live)), want: adopt, id: "a", fence: true},
		"a delete answered 404 needs a proof":            {state: events.BatchFencing, edit: owned(false, func(v *view) { v.memory.fence.gone = true }), want: confirm},
		"a proven fence is quiet for a while":            {state: events.BatchFencing, edit: owned(true, func(v *view) { v.memory.fence.provenAt = v.now }), want: wait},
		"then a third list follows":                      {state: events.BatchFencing, edit: owned(true), want: look},
		"a live twin of an earlier POST is stopped":      {state: events.BatchFencing, edit: owned(true, listed(live)), want: cancelTwins, twins: 1},
		"a live batch of a later POST is not ours to stop": {
			state: events.BatchFencing, want: adopt, id: "a", fence: true,
			edit: owned(true, listed(remote("a", "in_progress", "2", nil))),
		},
		"the stopped twin with most completed rows is adopted": {
			state: events.BatchFencing, want: adopt, id: "bb", fence: true,
			edit: owned(true, listed(remote("a", "cancelled", "1", counted(9, 1, 0)), remote("bb", "cancelled", "1", counted(9, 2, 0)))),
		},
		"a stopped twin without completed rows is none": {state: events.BatchFencing, edit: owned(true, listed(remote("a", "cancelled", "1", counted(9, 0, 3)))), want: recreate},
		"a clean third list leads to the next POST":     {state: events.BatchFencing, edit: owned(true, listed()), want: recreate},
		"or to the end of a cancelled job's batch":      {state: events.BatchFencing, edit: owned(true, listed(), cancelled), want: endCancelled},
		"a fence that cannot be listed is held":         {state: events.BatchFencing, edit: owned(false, blind), want: hold, code: events.HoldCapability},
		"a fence that cannot be carried out is held":    {state: events.BatchFencing, edit: undeleting, want: hold, code: events.HoldCapability},
		"another digest in the third list is held":      {state: events.BatchFencing, edit: owned(true, listed(remote("b", "in_progress", "1", otherDigest))), want: hold, code: events.HoldBusOlder},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := decide(aView(c.state, c.edit))
			if got.kind != c.want || got.code != c.code || got.remote.ID != c.id || got.fenced != c.fence || len(got.twins) != c.twins {
				t.Errorf("got %+v, want kind %d code %q remote %q fenced %v and %d twins", got, c.want, c.code, c.id, c.fence, c.twins)
			}
			if got.kind == wait && got.delay <= 0 {
				t.Errorf("waits for %s", got.delay)
			}
		})
	}
}

func both2(edits ...func(*doubleword.Batch)) func(*doubleword.Batch) {
	return func(b *doubleword.Batch) {
		for _, edit := range edits {
			edit(b)
		}
	}
}

func TestAMemoryBeginsAnewWithARevision(t *testing.T) {
	t.Parallel()
	m := newMemories()
	mine, ok := m.take("k")
	if !ok {
		t.Fatal("a new batch is taken")
	}
	if _, ok := m.take("k"); ok {
		t.Error("two drives have one batch")
	}
	start := time.Now()
	b := aBatch(7)
	mine.entered(b, start)
	b.Revision = 8
	mine.noted(b)
	mine.observe(b, start.Add(time.Hour))
	if !mine.mine || !mine.seenAt.Equal(start) {
		t.Errorf("our own note began the wait anew: %+v", mine)
	}
	b.Revision = 9
	mine.observe(b, start.Add(time.Hour))
	if mine.mine || !mine.seenAt.Equal(start.Add(time.Hour)) {
		t.Errorf("another's change did not begin the wait anew: %+v", mine)
	}
	m.keep(nil)
	m.give("k", false)
	if len(m.byKey) != 1 {
		t.Error("what a drive has was forgotten")
	}
	m.keep(nil)
	if len(m.byKey) != 0 {
		t.Error("what nobody names was kept")
	}
}
