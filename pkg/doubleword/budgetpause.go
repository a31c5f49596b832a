package doubleword

import (
	"net/http"
	"time"
)

const (
	// idsOfBatch is how many ids calls about one batch have: its own, its output file's and its error file's.
	idsOfBatch = 3
	// A 429 that does not say for how long pauses for a second, then twice as long each time, up to a minute.
	firstPause   = time.Second
	longestGuess = time.Minute
	// longestPause bounds what the provider can ask of a whole key; a week would be a mistake.
	longestPause = time.Hour
)

// pause is a time in which calls are not sent, and the answer that asked for it.
type pause struct {
	until  time.Time
	answer *Error
	guess  time.Duration // the last wait that had to be guessed
}

func (p *pause) holds(now time.Time) bool { return now.Before(p.until) }

// extend makes p last for as long as e asks for from now on. Asked again soon after its end, it guesses longer.
func (p *pause) extend(e *Error, now time.Time) {
	wait := e.RetryAfter
	if wait <= 0 {
		switch {
		case p.guess == 0 || now.Sub(p.until) > longestGuess:
			p.guess = firstPause
		case !p.holds(now): // several calls may have been under way: one answer counts
			p.guess = min(2*p.guess, longestGuess)
		}
		wait = p.guess
	}
	if until := now.Add(min(wait, longestPause)); until.After(p.until) {
		p.until, p.answer = until, e
	}
}

// pauses are those of one account.
type pauses struct {
	all, uploads pause
	ids          map[string]pause
}

// learn takes note of an answer to k that was no success.
func (p *pauses) learn(k call, e *Error, now time.Time) {
	switch refusal := RefusalOf(e); {
	case e.Status != http.StatusTooManyRequests, refusal == RefusedCapacity, refusal == RefusedUnverifiedQuota:
	case refusal == RefusedUploadSlots:
		p.uploads.extend(e, now)
	case k.id == "":
		p.all.extend(e, now)
	default:
		p.learnOf(k.id, e, now)
	}
}

// learnOf pauses what is about one id, and all when it is not about one batch any more.
func (p *pauses) learnOf(id string, e *Error, now time.Time) {
	others := 0
	for other, pause := range p.ids {
		switch {
		case now.Sub(pause.until) > longestGuess:
			delete(p.ids, other)
		case other != id && pause.holds(now):
			others++
		}
	}
	if others >= idsOfBatch {
		p.all.extend(e, now)
		return
	}
	mine := p.ids[id]
	mine.extend(e, now)
	if p.ids == nil {
		p.ids = make(map[string]pause)
	}
	p.ids[id] = mine
}

// of is the pause that k waits for, the longest of them.
func (p *pauses) of(k call, now time.Time) (longest pause, paused bool) {
	candidates := []pause{p.all, p.ids[k.id]}
	if k.kind() == CallUpload {
		candidates = append(candidates, p.uploads)
	}
	for _, c := range candidates {
		if c.holds(now) && c.until.After(longest.until) {
			longest, paused = c, true
		}
	}
	return longest, paused
}

// learn hears of every answer that is no success. The nil Budget does not.
func (b *Budget) learn(a account, k call, e *Error) {
	if b == nil || e.Status != http.StatusTooManyRequests {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.pauses[a] == nil {
		b.pauses[a] = &pauses{}
	}
	b.pauses[a].learn(k, e, time.Now())
}

// paused is the answer that keeps k back, with the time that is left; nil when nothing does.
func (b *Budget) paused(a account, k call) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	now, p := time.Now(), b.pauses[a]
	if p == nil {
		return nil
	}
	found, paused := p.of(k, now)
	if !paused {
		return nil
	}
	again := *found.answer
	again.Route, again.Class, again.cause = k.route(), Retryable, ErrPaused
	again.RetryAfter = found.until.Sub(now)
	return &again
}

// PausedUntil is until when some key's calls, all of them or its uploads, are kept back by a 429; zero when none's are.
func (b *Budget) PausedUntil() (until time.Time) {
	if b == nil {
		return until
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	for _, p := range b.pauses {
		for _, c := range []pause{p.all, p.uploads} {
			if c.holds(now) && c.until.After(until) {
				until = c.until
			}
		}
	}
	return until
}
