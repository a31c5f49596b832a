package simulator

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// FaultKind names what goes wrong.
type FaultKind string

// The faults. Each lists the Fault fields it reads beside the selectors.
const (
	// FaultCreateReplyLost creates the batch and drops the connection, or replies Status when that is set.
	FaultCreateReplyLost FaultKind = "create_reply_lost"
	// FaultCreateRefused refuses POST /v1/batches with Status and Text, and creates nothing.
	FaultCreateRefused FaultKind = "create_refused"
	// FaultUploadRefused refuses POST /v1/files with Status and Text, and stores nothing.
	FaultUploadRefused FaultKind = "upload_refused"
	// FaultListLag makes both lists blind to what is younger than Delay, like a replica that lags.
	FaultListLag FaultKind = "list_lag"
	// FaultShortBody breaks a file's content off after Bytes bytes; Clean ends it as if it were whole.
	FaultShortBody FaultKind = "short_body"
	// FaultStatus answers Route with Status and Text before anything else looks at the call. An empty Text is
	// the provider's own for that status; 502 and 504 are HTML.
	FaultStatus FaultKind = "status"
	// FaultMissingRow counts the rows of CustomIDs as completed and puts them into neither file. Nth counts batches.
	FaultMissingRow FaultKind = "missing_row"
	// FaultLateRow commits the rows of CustomIDs Delay after they ran, at the place they ran: behind a cursor
	// that has passed. Nth counts batches.
	FaultLateRow FaultKind = "late_row"
)

// The three refusals that the provider sends as 429, told apart by their text alone (contract, 1.4).
const (
	TextUploadSlots = "Too many file uploads in progress. Please retry later."
	TextCapacity    = "Insufficient capacity for 24h completion window. Please try again later or use a longer completion window."
	TextUnverified  = "Unverified accounts can submit at most 24000 requests per 24h completion window."
)

// Fault is one thing that goes wrong at selected calls. A call is selected when it is the Nth to (Nth+Count-1)th
// on its route, counted over the simulator's whole life, restarts included.
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
	// Delay is the lag of a list, or of a late row.
	Delay time.Duration
	// Bytes is where a body breaks off; Clean hides the break from the transport.
	Bytes int64
	Clean bool
	// CustomIDs are the rows concerned, as sent or as what follows the first "~" of what was sent: batchbus puts
	// a row's place and "~" before the id.
	CustomIDs []string
}

func (f Fault) check() error {
	switch f.Kind {
	case FaultCreateReplyLost, FaultListLag, FaultShortBody, FaultMissingRow, FaultLateRow:
		return nil
	case FaultCreateRefused, FaultUploadRefused:
		if f.Status < http.StatusBadRequest {
			return fmt.Errorf("fault %s: status %d is no refusal", f.Kind, f.Status)
		}
		return nil
	case FaultStatus:
		if f.Route == "" || f.Status == 0 {
			return fmt.Errorf("fault %s: needs a route and a status", f.Kind)
		}
		return nil
	default:
		return fmt.Errorf("fault %q: unknown kind", f.Kind)
	}
}

// hits tells whether the nth call on route is selected.
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
	return f.Share <= 0 || unitFloat(mix(mix(seed, hashString(string(kind)+route)), uint64(nth))) < f.Share
}

// call is one request's place in the simulator's life: faults and ledger count by it.
type call struct {
	route string
	nth   int
}

// faultAt returns the first configured fault of the kind that hits the call.
func (s *Simulator) faultAt(kind FaultKind, c call) (Fault, bool) {
	i := slices.IndexFunc(s.cfg.Faults, func(f Fault) bool { return f.hits(kind, c.route, c.nth, s.cfg.Seed) })
	if i < 0 {
		return Fault{}, false
	}
	return s.cfg.Faults[i], true
}

// faultyRows returns the rows of the nth batch that a fault of the kind concerns.
func (s *Simulator) faultyRows(kind FaultKind, nth int) (Fault, bool) {
	f, ok := s.faultAt(kind, call{nth: nth})
	return f, ok && len(f.CustomIDs) > 0
}

// refusal is the reply of a fault that refuses.
func (f Fault) refusal() error {
	if f.Text == "" {
		return refuse(f.Status, "%s", standardText(f.Status))
	}
	return refuse(f.Status, "%s", f.Text)
}

// names tells whether the fault concerns a row.
func (f Fault) names(customID string) bool {
	_, after, marked := strings.Cut(customID, "~")
	return slices.Contains(f.CustomIDs, customID) || (marked && slices.Contains(f.CustomIDs, after))
}
