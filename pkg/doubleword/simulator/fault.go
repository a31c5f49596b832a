package simulator

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Fault is one thing that goes wrong at selected calls, batches or rows; its kind says which of the three. What is
// counted is selected when it is the Nth to (Nth+Count-1)th: calls on their route, batches in the order of creation,
// both over the simulator's whole life, restarts included. Any number of faults can be combined.
type Fault struct {
	// Kind is what goes wrong.
	Kind FaultKind
	// Route is a key of Ledger.Calls, such as "GET /v1/batches". FaultStatus needs it; elsewhere empty means
	// every route the kind concerns.
	Route string
	// Nth is the first call (or batch) hit, from 1; 0 means 1.
	Nth int
	// Count is how many are hit; 0 means 1, negative means all that follow.
	Count int
	// Share, when above 0, lets only that share of the selected calls be hit; seed and ordinal choose them.
	Share float64
	// Status and Text are the reply.
	Status int
	Text   string
	// Delay is the lag of a list, or of a late row, or how long a state lasts.
	Delay time.Duration
	// Bytes is where a body breaks off; Clean hides the break from the transport.
	Bytes int64
	Clean bool
	// Rows is a number of rows or lines; the kind says of which.
	Rows int
	// CustomIDs are the rows concerned, as sent or as what follows the first "~" of what was sent: batchbus puts
	// a row's place and "~" before the id.
	CustomIDs []string
}

func (f Fault) check() error {
	if _, ok := scopes()[f.Kind]; !ok {
		return fmt.Errorf("fault %q: unknown kind", f.Kind)
	}
	if f.Share < 0 || f.Share > 1 || f.Delay < 0 || f.Bytes < 0 || f.Rows < 0 {
		return fmt.Errorf("fault %s: share must be 0 to 1; delay, bytes and rows must not be negative", f.Kind)
	}
	switch f.Kind {
	case FaultCreateRefused, FaultUploadRefused:
		if f.Status < http.StatusBadRequest {
			return fmt.Errorf("fault %s: status %d is no refusal", f.Kind, f.Status)
		}
	case FaultStatus:
		if f.Route == "" || f.Status == 0 {
			return fmt.Errorf("fault %s: needs a route and a status", f.Kind)
		}
	default:
	}
	return nil
}

// hits tells whether the nth call on route, or the nth batch, is selected.
func (f Fault) hits(kind FaultKind, route string, nth int, seed uint64) bool {
	if f.Kind != kind || (f.Route != "" && f.Route != route) {
		return false
	}
	first, count := max(f.Nth, 1), f.Count
	if count == 0 {
		count = 1
	}
	if nth < first || (count > 0 && nth >= first+count) {
		return false
	}
	if f.Share <= 0 || (scopes()[kind] == ofRows && len(f.CustomIDs) == 0) {
		return true
	}
	return unitFloat(mix(mix(seed, hashString(string(kind)+route)), uint64(nth))) < f.Share
}

// hitsRow tells whether a fault that hits the batch concerns one row of it.
func (f Fault) hitsRow(b *batch, n uint32, customID string) bool {
	if len(f.CustomIDs) > 0 {
		return f.names(customID)
	}
	return f.Share <= 0 || unitFloat(mix(mix(b.Seed, hashString(string(f.Kind)+b.ID)), uint64(n))) < f.Share
}

// names tells whether the fault names a row.
func (f Fault) names(customID string) bool {
	_, after, marked := strings.Cut(customID, "~")
	return slices.Contains(f.CustomIDs, customID) || (marked && slices.Contains(f.CustomIDs, after))
}

// refusal is the reply of a fault that refuses.
func (f Fault) refusal() error {
	if f.Text == "" {
		return refuse(f.Status, "%s", standardText(f.Status))
	}
	return refuse(f.Status, "%s", f.Text)
}

// call is one request's place in the simulator's life: faults and ledger count by it.
type call struct {
	route string
	nth   int
}

// faultAt returns the first configured fault of the kind that hits the call.
func (s *Simulator) faultAt(kind FaultKind, c call) (Fault, bool) {
	for _, f := range *s.faults.Load() {
		if f.hits(kind, c.route, c.nth, s.cfg.Seed) {
			return f, true
		}
	}
	return Fault{}, false
}

// batchFault returns the first configured fault of the kind that hits the batch.
func (s *Simulator) batchFault(kind FaultKind, b *batch) (Fault, bool) {
	return s.faultAt(kind, call{nth: b.nth})
}

// rowFaults returns the configured faults of rows that hit the batch.
func (s *Simulator) rowFaults(b *batch) []Fault {
	var found []Fault
	for _, f := range *s.faults.Load() {
		if scopes()[f.Kind] == ofRows && f.hits(f.Kind, "", b.nth, s.cfg.Seed) {
			found = append(found, f)
		}
	}
	return found
}

// SetFaults replaces Config.Faults while the simulator runs: an outage begins, or is over. What they did stays done, and ordinals go on:
// what shall hit all that follows has Count -1. PUT /_simulator/faults does the same.
// On an error nothing changes. Safe for concurrent use.
func (s *Simulator) SetFaults(faults ...Fault) error {
	for _, f := range faults {
		if err := f.check(); err != nil {
			return err
		}
	}
	all := append([]Fault{}, faults...)
	s.faults.Store(&all)
	s.resume()
	return nil
}
