package doubleword

import (
	"math"
	"net/http"
	"time"
)

// CallKind says how a call uses the provider: for how long, and who waits for it.
type CallKind int

// Kinds of calls.
const (
	// CallSmall reads or changes one small thing: lists, states, cancels, deletes. A quarter of all places, and at least two, is kept for them.
	CallSmall CallKind = iota
	// CallCreate is CreateBatch, which may take minutes. One place is kept for it.
	CallCreate
	// CallDownload reads results. A quarter of all places is kept for them, and at least two, since one may hang; of more that
	// hang all but half give way, see [ErrCrowded].
	CallDownload
	// CallUpload sends an input file. One place is kept for it.
	CallUpload

	callKinds // how many there are
)

// String returns the kind in lower case.
func (k CallKind) String() string {
	names := [...]string{"small", "create", "download", "upload"}
	if k < 0 || int(k) >= len(names) {
		return "unknown"
	}
	return names[k]
}

func (k call) kind() CallKind {
	switch k.pattern {
	case "/files/{id}/content", "/batches/{id}/results":
		return CallDownload
	case "/files":
		if k.method == http.MethodPost {
			return CallUpload
		}
	case "/batches":
		if k.does == paid {
			return CallCreate
		}
	}
	return CallSmall
}

// places counts calls under way.
type places struct {
	most  int
	kept  [callKinds]int // of each kind, whatever the others do
	taken [callKinds]int
}

func newPlaces(most int) places {
	p := places{most: most}
	quarter := max(2, most/4)
	p.kept[CallSmall], p.kept[CallDownload] = quarter, quarter
	p.kept[CallCreate], p.kept[CallUpload] = 1, 1
	return p
}

// free reports whether one more call of kind may begin: it has a kept place left, or there is one that is kept for nobody.
func (p *places) free(kind CallKind) bool {
	if p.taken[kind] < p.kept[kind] {
		return true
	}
	spoken := 0
	for k := range callKinds {
		spoken += max(p.taken[k], p.kept[k])
	}
	return spoken < p.most
}

// mostOf is how many calls of kind can be under way at once, when there are no others.
func (p *places) mostOf(kind CallKind) int {
	most := p.most
	for k := range callKinds {
		if k != kind {
			most -= p.kept[k]
		}
	}
	return most
}

// bucket allows so many calls a second on average, and at once as many as a second allows.
type bucket struct {
	perSecond float64 // 0: any number
	tokens    float64
	at        time.Time
}

func newBucket(perSecond float64) bucket {
	return bucket{perSecond: perSecond, tokens: max(1, perSecond)}
}

// take takes one, or returns how long to wait until there is one.
func (b *bucket) take(now time.Time) time.Duration {
	if b.perSecond == 0 {
		return 0
	}
	if !b.at.IsZero() {
		b.tokens = min(max(1, b.perSecond), b.tokens+max(0, now.Sub(b.at).Seconds())*b.perSecond)
	}
	b.at = now
	if b.tokens >= 1 {
		b.tokens--
		return 0
	}
	return time.Duration(math.Ceil((1 - b.tokens) / b.perSecond * float64(time.Second)))
}
