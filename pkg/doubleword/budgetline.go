package doubleword

import (
	"crypto/sha256"
	"slices"
	"time"
)

// account is whose calls they are: a key with its organisation, at one address. It is a hash, so that it shows no key.
type account [sha256.Size]byte

func accountOf(c *Config) account {
	return sha256.Sum256([]byte(c.BaseURL + "\n" + c.OrganizationID + "\n" + c.Key.reveal()))
}

// waiter is a call that waits for its place.
type waiter struct {
	since time.Time
	ready chan struct{} // closed when it has one
}

// line is the calls of one kind that wait: of one account the first come first, and accounts in turn.
type line struct{ turns []accountLine }

type accountLine struct {
	account account
	calls   []*waiter // never empty
}

func (l *line) find(a account) int {
	return slices.IndexFunc(l.turns, func(t accountLine) bool { return t.account == a })
}

func (l *line) push(a account, w *waiter) {
	i := l.find(a)
	if i < 0 {
		l.turns = append(l.turns, accountLine{account: a})
		i = len(l.turns) - 1
	}
	l.turns[i].calls = append(l.turns[i].calls, w)
}

// first is the next call, nil when none waits.
func (l *line) first() *waiter {
	if len(l.turns) == 0 {
		return nil
	}
	return l.turns[0].calls[0]
}

// pop takes the next call out; the account's next one waits for the others' turns.
func (l *line) pop() *waiter {
	turn := l.turns[0]
	w := turn.calls[0]
	turn.calls = turn.calls[1:]
	l.turns = slices.Delete(l.turns, 0, 1)
	if len(turn.calls) > 0 {
		l.turns = append(l.turns, turn)
	}
	return w
}

// remove takes w out, and reports whether it was there.
func (l *line) remove(a account, w *waiter) bool {
	i := l.find(a)
	if i < 0 {
		return false
	}
	at := slices.Index(l.turns[i].calls, w)
	if at < 0 {
		return false
	}
	l.turns[i].calls = slices.Delete(l.turns[i].calls, at, at+1)
	if len(l.turns[i].calls) == 0 {
		l.turns = slices.Delete(l.turns, i, i+1)
	}
	return true
}

// waiting is how many wait, and since when the first of them has.
func (l *line) waiting() (n int, oldest time.Time) {
	for _, turn := range l.turns {
		n += len(turn.calls)
		if since := turn.calls[0].since; oldest.IsZero() || since.Before(oldest) {
			oldest = since
		}
	}
	return n, oldest
}

// CallStats says how the calls of one kind fare.
type CallStats struct {
	Kind     CallKind
	InFlight int
	Waiting  int
	// OldestSince is when the call came that has waited for its place for longest; zero when none waits.
	OldestSince time.Time
}

// Stats returns how the calls of each kind fare now. The nil Budget has none.
func (b *Budget) Stats() []CallStats {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	stats := make([]CallStats, callKinds)
	for kind := range callKinds {
		s := CallStats{Kind: kind, InFlight: b.places.taken[kind]}
		s.Waiting, s.OldestSince = b.lines[kind].waiting()
		stats[kind] = s
	}
	return stats
}
