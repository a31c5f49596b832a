package doubleword

import (
	"context"
	"errors"
	"slices"
	"time"
)

const (
	// standsAfter is for how long a download that others wait for may bring no byte: more than the provider takes to find a late line of a large
	// file, and little beside the time that whoever waits has.
	standsAfter = 3 * time.Second
	// crowdInterval is how often downloads are looked at while others wait for their places.
	crowdInterval = 500 * time.Millisecond
)

// ErrCrowded is returned when a download brought no byte for some seconds while others waited for their places, and more stood still than
// may: half of what can be under way at once. A download is harmless: the same one may be repeated, and better after a pause.
var ErrCrowded = errors.New("no byte moved while other downloads waited")

// download is a download under way.
type download struct {
	place *place
	end   context.CancelCauseFunc
	since time.Time // when it began to wait for the provider; zero: it does not
	cut   bool      // its place will be free soon
}

// download makes p that of a download which the returned function ends. The nil place makes nothing.
func (p *place) download(end context.CancelCauseFunc) {
	if p == nil {
		return
	}
	p.budget.mu.Lock()
	defer p.budget.mu.Unlock()
	p.budget.downloads = append(p.budget.downloads, &download{place: p, end: end, since: time.Now()})
	p.budget.makeRoom(time.Now())
}

// waits says whether p's download waits for the provider from now on.
func (p *place) waits(yes bool) {
	if p == nil {
		return
	}
	p.budget.mu.Lock()
	defer p.budget.mu.Unlock()
	for _, d := range p.budget.downloads {
		if d.place == p {
			d.since = time.Time{}
			if yes {
				d.since = time.Now()
			}
		}
	}
}

// makeRoom ends downloads that stand still while others wait for their places, and looks again as long as that is so. mu is held.
func (b *Budget) makeRoom(now time.Time) {
	wanted, _ := b.lines[CallDownload].waiting()
	if wanted == 0 || b.places.free(CallDownload) { // a free place is waited for because of the rate
		return
	}
	still, ending := standing(b.downloads, now)
	excess := still[min(b.places.mostOf(CallDownload)/2, len(still)):]
	for _, d := range excess[:min(max(0, wanted-ending), len(excess))] {
		d.cut = true
		d.end(ErrCrowded)
	}
	if b.crowd != nil {
		return
	}
	b.crowd = time.AfterFunc(crowdInterval, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.crowd = nil
		b.makeRoom(time.Now())
	})
}

// standing is which downloads stand still for too long, and how many were ended already. Those that have waited for longest come first: they
// are spared, so that what is merely slow gets its answer in the end.
func standing(all []*download, now time.Time) (still []*download, ending int) {
	for _, d := range all {
		switch {
		case d.cut:
			ending++
		case !d.since.IsZero() && now.Sub(d.since) >= standsAfter:
			still = append(still, d)
		}
	}
	slices.SortStableFunc(still, func(a, b *download) int { return a.since.Compare(b.since) })
	return still, ending
}

// forget takes note that p's download is over. mu is held.
func (b *Budget) forget(p *place) {
	b.downloads = slices.DeleteFunc(b.downloads, func(d *download) bool { return d.place == p })
}
