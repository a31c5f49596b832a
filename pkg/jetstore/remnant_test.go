package jetstore_test

import (
	"strings"
	"testing"
	"time"

	"github.com/batchbus/batchbus/pkg/jetstore"
	"github.com/batchbus/batchbus/pkg/jetstore/jetstoretest"
)

// dies panics in the place of a process that is killed before the nth effect on a subject that begins with prefix.
func dies(prefix string, nth int) jetstore.Probe {
	return func(e jetstore.Effect) (after func()) {
		if strings.HasPrefix(e.Subjects[0], prefix) {
			if nth--; nth == 0 {
				panic("killed")
			}
		}
		return func() {}
	}
}

func killed(f func()) {
	defer func() { _ = recover() }()
	f()
}

// chunksLeft is how many messages there are in the bucket of objects.
func chunksLeft(t *testing.T, f *jetstoretest.Fixture) int {
	t.Helper()
	counts, err := f.Store.SubjectCounts(t.Context(), jetstore.StreamObjects, ">")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, count := range counts {
		n += int(count)
	}
	return n
}

func TestWhatADyingProcessLeavesOfAnObjectIsSweptWhenItIsOld(t *testing.T) {
	t.Parallel()
	const age = time.Hour
	jetstoretest.Bubble(t, func(t *testing.T, f *jetstoretest.Fixture) { //nolint:thelper // the test itself, not a helper
		put := func(s *jetstore.Store) jetstore.Object {
			o, err := s.PutObject(t.Context(), jetstore.StreamRows, "batchbus.rows.q.j", strings.NewReader(strings.Repeat("x", 300<<10)))
			if err != nil {
				t.Fatal(err)
			}
			return o
		}
		kept, gone := put(f.Store), put(f.Store)
		killed(func() { put(f.Store.Probed(dies("$O.batchbus_objects.M.", 1))) })
		killed(func() { put(f.Store.Probed(dies("$O.batchbus_objects.C.", 2))) })
		killed(func() { _ = f.Store.Probed(dies("$O.batchbus_objects.M.", 1)).DeleteObject(t.Context(), gone.Name) })
		before := chunksLeft(t, f)

		sweep := func(want int) {
			t.Helper()
			if deleted, err := f.Store.SweepRemnants(t.Context(), age); err != nil || deleted != want {
				t.Errorf("%d remnants were swept, want %d; %v", deleted, want, err)
			}
		}
		sweep(0)
		if now := chunksLeft(t, f); now != before {
			t.Errorf("young remnants: %d messages of %d are left", now, before)
		}
		time.Sleep(age + time.Minute)
		killed(func() { put(f.Store.Probed(dies("$O.batchbus_objects.M.", 1))) }) // young
		sweep(3)
		if now := chunksLeft(t, f); now != 4+3 { // an object of three chunks, and three young chunks
			t.Errorf("%d messages are left, want 7", now)
		}
		r, err := f.Store.OpenObject(t.Context(), kept)
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		sweep(0)
	})
}
