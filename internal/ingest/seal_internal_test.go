package ingest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/batchbus/batchbus/pkg/events"
)

func TestASealIsObeyedWhenNothingIsLeftInFrontOfIt(t *testing.T) {
	t.Parallel()
	const window = "auto-20261130T021100Z-60" // ends at 02:12
	end := at(t, "2026-11-30T02:12:00Z")
	before, after := end.Add(-time.Nanosecond), end.Add(5*time.Second)
	explicit := request{target: "nightly", sequence: 7, at: after}
	own := request{target: window, sequence: 7, at: after}
	for name, c := range map[string]struct {
		r     request
		first oldest
		want  turn
	}{
		"it is the oldest":                                {explicit, oldest{true, 7, after}, turnObey},
		"an older one is left":                            {explicit, oldest{true, 6, after}, turnWait},
		"it is deleted already and younger ones are left": {explicit, oldest{true, 8, after}, turnGone},
		"it is deleted already and nothing is left":       {explicit, oldest{}, turnGone},
		"a window's seal is the oldest":                   {own, oldest{true, 7, after}, turnObey},
		"a row of the window is left":                     {own, oldest{true, 6, before}, turnWait},
		"the oldest row is of the next window":            {own, oldest{true, 6, end}, turnObey},
		"a window's seal is deleted already":              {own, oldest{true, 9, after}, turnGone},
		"a window is cancelled before its end": {
			request{target: window, sequence: 7, at: before}, oldest{true, 6, before}, turnEarly,
		},
	} {
		if got := turnOf(&c.r, c.first); got != c.want {
			t.Errorf("%s: got %d, want %d", name, got, c.want)
		}
	}
}

func sealing(job string) nats.Header {
	h := nats.Header{events.HeaderSeal: {"true"}}
	if job != "" {
		h.Set(events.HeaderJob, job)
	}
	return h
}

func TestSubjectAndHeadersOfARequest(t *testing.T) {
	t.Parallel()
	stored := at(t, "2026-11-30T02:12:05Z")
	read := func(subject string, h nats.Header) request { return readRequest(subject, h, 3, stored) }

	for subject, h := range map[string]nats.Header{
		"batchbus.requests.q.j.more":                    nil,
		"batchbus.requests.q.auto-x":                    nil,
		"batchbus.requests.q.jö":                        nil,
		"batchbus.requests.q":                           sealing(""),
		"batchbus.requests.other":                       sealing("nightly"),
		"batchbus.requests.young":                       sealing("auto-20261130T021200Z-60"), // its window is open
		"batchbus.requests.q.mine":                      sealing("theirs"),
		"batchbus.requests.q.mine2":                     sealing("auto-20261130T021100Z-60"),
		"batchbus.requests.bad queue.j":                 nil,
		"batchbus.requests." + string(make([]byte, 65)): nil,
	} {
		r := read(subject, h)
		if r.refused == nil || r.refused.code != events.DLBadSubject || !events.IsToken(r.queue) || !events.IsToken(r.job) {
			t.Errorf("%q %v: got %+v", subject, h, r)
		}
	}

	r := read("batchbus.requests.q.nightly", nats.Header{
		events.HeaderSeal: {"true"}, events.HeaderExpectedRows: {"12"}, events.HeaderFirstLine: {"100"}, events.HeaderWindow: {"1h"},
		nats.MsgIdHdr: {"id-1"},
	})
	if r.refused != nil || !r.seals || r.cancels || r.target != "nightly" || *r.expected != 12 || r.firstLine != 100 || r.window != "1h" ||
		len(r.origin) != 1 || r.origin[0] != "id-1" {
		t.Errorf("a full header: got %+v", r)
	}
	r = read("batchbus.requests.q", sealing("auto-20261130T021100Z-60"))
	if r.refused != nil || !r.ends() || r.target != "auto-20261130T021100Z-60" || r.job != "" {
		t.Errorf("the sweeper's seal: got %+v", r)
	}
	r = read("batchbus.requests.q", nats.Header{events.HeaderCancel: {"true"}, events.HeaderJob: {"auto-20261130T021200Z-60"}})
	if r.refused != nil || !r.ends() || !r.cancels {
		t.Errorf("a cancel of an open window: got %+v", r)
	}
	r = read("batchbus.requests.q.nightly", nats.Header{
		events.HeaderSeal: {"perhaps"}, events.HeaderExpectedRows: {"-1"}, events.HeaderFirstLine: {"0x"},
	})
	if r.refused != nil || r.seals || r.expected != nil || r.firstLine != 1 || len(r.ignored) != 2 {
		t.Errorf("headers that make no sense: got %+v", r)
	}
	r = read("batchbus.requests.q.nightly", nats.Header{events.HeaderSeal: {"true"}, events.HeaderExpectedRows: {"many"}})
	if !r.ends() || r.expected != nil || len(r.ignored) != 1 {
		t.Errorf("a count that is none does not hold up a seal: got %+v", r)
	}
}

func TestRowsBehindASealWaitForIt(t *testing.T) {
	t.Parallel()
	request := func(subject string, seals bool) *message {
		m := new(message)
		m.subject, m.seals, m.target = subject, seals, "j"
		return m
	}
	a1, b1, sealA, a2, b2, sealA2 := request("a", false), request("b", false), request("a", true), request("a", false), request("b", false), request("a", true)
	ready, seals, rest := split([]*message{a1, b1, sealA, a2, b2, sealA2})
	if len(ready) != 3 || ready[0] != a1 || ready[1] != b1 || ready[2] != b2 || len(seals) != 1 || seals[0] != sealA ||
		len(rest) != 2 || rest[0] != a2 || rest[1] != sealA2 {
		t.Errorf("got %d ready, %d seals, %d rest", len(ready), len(seals), len(rest))
	}
	if !a1.held || b1.held || b2.held {
		t.Error("exactly the acks that a seal waits for are held")
	}
	bad := request("a", true)
	bad.refused = &refusal{}
	if ready, seals, _ = split([]*message{bad}); len(ready) != 1 || len(seals) != 0 {
		t.Error("a refused seal is no seal")
	}
}

func TestDelaysGrowToTheirLimit(t *testing.T) {
	t.Parallel()
	for delivered, want := range map[int]time.Duration{
		0: firstSealDelay, 1: firstSealDelay, 2: 2 * firstSealDelay, 7: 3200 * time.Millisecond, 8: maxSealDelay, 1 << 40: maxSealDelay,
	} {
		if got := growing(firstSealDelay, maxSealDelay, delivered); got != want {
			t.Errorf("delivery %d: got %s, want %s", delivered, got, want)
		}
	}
}

func TestASealThatFailsOnceDoesNotPayForItsWaits(t *testing.T) {
	t.Parallel()
	ill := errors.New("the bus is ill")
	for _, c := range []struct {
		name      string
		why       error
		seal      bool
		delivered int
		want      time.Duration
	}{
		{"rows that failed again and again", ill, false, 20, maxRetryDelay},
		{"rows that failed first", ill, false, 1, firstRetryDelay},
		{"a seal that waited for long", ill, true, 20, maxSealDelay},
		{"rows without room", fmt.Errorf("open job: %w", errNoRoom), false, 9, noRoomDelay},
		{"a seal without room", errNoRoom, true, 9, noRoomDelay},
	} {
		if got := retryDelay(c.why, c.seal, c.delivered); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}
