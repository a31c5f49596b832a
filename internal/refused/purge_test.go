package refused_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/batchbus/batchbus/internal/refused"
	"github.com/batchbus/batchbus/pkg/events"
)

func TestPurgeDeletesWhatTheFilterTakesAndNothingElse(t *testing.T) {
	t.Parallel()
	r := start(t)
	r.open(queue, job, nil)
	for i, code := range []string{events.DLConflict, events.DLDuplicate, events.DLConflict} {
		r.letter(job, code, strconv.Itoa(i), time.Now(), []byte("x"))
	}
	r.letter("other", events.DLConflict, "z", time.Now(), []byte("x"))
	r.reject(job, bad("r", []byte("4")))
	left := func() string {
		var ids []string
		for _, e := range r.entries(refused.Filter{}, false) {
			ids = append(ids, e.CustomID)
		}
		return strings.Join(ids, " ")
	}
	purge := func(f refused.Filter, want int) {
		t.Helper()
		counts, err := r.Purge(t.Context(), r.Store, f)
		r.check(err)
		if counts["default/"+job] != want || len(counts) > 1 {
			t.Errorf("%v, want %d", counts, want)
		}
	}
	if _, err := r.Purge(t.Context(), r.Store, refused.Filter{Kind: refused.Rejected}); !errors.Is(err, refused.ErrFinal) {
		t.Errorf("rejected results: %v", err)
	}
	mine := refused.Filter{Queue: queue, Jobs: []string{job}}
	some := mine
	some.CustomIDs = []string{"0", "r"}
	purge(some, 1)
	if got := left(); got != "1 2 z r" {
		t.Errorf("left: %s", got)
	}
	purge(mine, 2)
	if got := left(); got != "z r" {
		t.Errorf("left: %s", got)
	}
	purge(mine, 0)
}

// purges notes what is asked for.
type purges []string

func (p *purges) Purge(_ context.Context, _, subject string, upTo uint64) error {
	*p = append(*p, fmt.Sprintf("%s up to %d", subject, upTo))
	return nil
}

func TestWhatComesDuringAPurgeStays(t *testing.T) {
	t.Parallel()
	r := start(t)
	r.letter(job, events.DLConflict, "a", time.Now(), nil)
	r.letter(job, events.DLConflict, "b", time.Now(), nil)
	var asked purges
	for _, f := range []refused.Filter{{Queue: queue, Jobs: []string{job, "none"}}, {CustomIDs: []string{"a"}}} {
		_, err := r.Purge(t.Context(), &asked, f)
		r.check(err)
	}
	want := []string{
		"batchbus.deadletters.default.nightly.* up to 2", "batchbus.deadletters.default.none.* up to 2",
		events.DeadletterSubject(queue, job, source(job+events.DLConflict+"a").String()) + " up to 1",
	}
	if !slices.Equal(asked, want) {
		t.Errorf("%q, want %q", asked, want)
	}
}
