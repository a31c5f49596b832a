package plan

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/batchbus/batchbus/internal/block"
	"github.com/batchbus/batchbus/internal/manifest"
	"github.com/batchbus/batchbus/pkg/events"
)

func TestARowOfTheIndexTakesAtMost64Bytes(t *testing.T) { //nolint:paralleltest // it reads the process' memory
	heap := func() int64 {
		runtime.GC()
		runtime.GC() // what finalizers of earlier tests let go of
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	x := make(index)
	before := heap()
	for n := range 400_000 {
		var seed [8]byte
		binary.LittleEndian.PutUint64(seed[:], uint64(n))
		x.put(hashOf(string(seed[:])), events.RowPlace{Sequence: uint64(n), Index: n % 4096})
		if n > 50_000 && n%25_000 == 0 {
			if each := (heap() - before) / int64(n); each > 64 {
				t.Errorf("%d bytes a row at %d rows", each, n)
			}
		}
	}
	runtime.KeepAlive(x)
}

func TestTheIndexGivesBackThePlaceThatWasPut(t *testing.T) {
	t.Parallel()
	x := make(index)
	for _, place := range []events.RowPlace{{}, {Sequence: 1}, {Index: 1<<20 - 1}, {Sequence: 1<<44 - 1, Index: 7}} {
		x.put(hashOf("a"), place)
		if got, taken := x.owner(hashOf("a")); got != place || !taken {
			t.Errorf("got %v, want %v", got, place)
		}
		if err := checkPlace(place); err != nil {
			t.Error(err)
		}
	}
	for _, place := range []events.RowPlace{{Sequence: 1 << 44}, {Index: 1 << 20}} {
		if checkPlace(place) == nil {
			t.Errorf("%v does not fit", place)
		}
	}
}

// fileOf gathers rows of the given body size and returns the sizes of the batches' files, the open one last.
func fileOf(l limits, sizes ...int) (files []int64, counts []int) {
	g := &group{key: events.GroupKey{Model: "m"}}
	put := func(c cut) {
		files, counts = append(files, c.bytes), append(counts, len(c.entries))
	}
	for n, size := range sizes {
		e := input(n+1, fmt.Sprintf("row-%d", n), strings.Repeat("x", size), "m", false)
		for _, c := range g.gather(e, events.RowPlace{Sequence: 1, Index: n}, l) {
			put(c)
		}
	}
	if len(g.entries) > 0 {
		put(g.close())
	}
	return files, counts
}

func TestABatchHoldsExactlyTheBytesThatThePolicyAllows(t *testing.T) {
	t.Parallel()
	whole, _ := fileOf(limits{maxRows: 100, maxBytes: 1 << 20}, 10, 20, 30)
	two, _ := fileOf(limits{maxRows: 100, maxBytes: 1 << 20}, 10, 20)
	cases := map[string]struct {
		max  int64
		want []int
	}{
		"three rows that fill the file to the last newline are one batch": {whole[0], []int{3}},
		"one byte less and the third row begins the next":                 {whole[0] - 1, []int{2, 1}},
		"a limit that two rows meet closes the batch with the second":     {two[0], []int{2, 1}},
		"one byte less and no two of them share a batch":                  {two[0] - 1, []int{1, 1, 1}},
		"a row beyond the limit is a batch alone":                         {10, []int{1, 1, 1}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files, counts := fileOf(limits{maxRows: 100, maxBytes: c.max}, 10, 20, 30)
			if fmt.Sprint(counts) != fmt.Sprint(c.want) {
				t.Errorf("batches of %v rows (%v bytes), want %v", counts, files, c.want)
			}
		})
	}
}

func TestAFileCountsTheLongerIdsOfItsLaterRows(t *testing.T) {
	t.Parallel()
	var file []byte
	sizes := make([]int, 12)
	for n := range sizes {
		file = manifest.AppendLine(file, n, input(n+1, fmt.Sprintf("row-%d", n), "", "m", false), false)
	}
	files, counts := fileOf(limits{maxRows: 100, maxBytes: int64(len(file))}, sizes...)
	if len(files) != 1 || files[0] != int64(len(file)) {
		t.Errorf("files of %v bytes with %v rows, want one of %d", files, counts, len(file))
	}
	alone := int64(len(manifest.AppendLine(nil, 0, input(1, "row-11", "", "m", false), false)))
	files, counts = fileOf(limits{maxRows: 100, maxBytes: int64(len(file)) - 1}, sizes...)
	if fmt.Sprint(counts) != "[11 1]" || files[1] != alone {
		t.Errorf("with a byte less: batches of %v rows and %v bytes, want the last of %d", counts, files, alone)
	}
}

func TestARowOfThe65thGroupIsRejected(t *testing.T) {
	t.Parallel()
	w := newWalker(&events.Job{Policy: events.DefaultPolicy()})
	place := events.RowPlace{Sequence: 1}
	step := func(model string) verdict {
		place.Index++
		return w.row(input(place.Index, fmt.Sprint("row ", place.Index), "", model, false), place)
	}
	for n := range events.MaxGroups {
		if v := step(fmt.Sprint("model ", n)); v.do != pass {
			t.Fatalf("group %d: %+v", n+1, v)
		}
	}
	if v := step("one more"); v.do != reject || v.fault.Code != events.CodeTooManyGroups {
		t.Errorf("group 65: %+v", v)
	}
	if v := step("model 0"); v.do != pass {
		t.Errorf("a row of a known group after that: %+v", v)
	}
	if w.now != (tally{rows: 66, rejected: 1}) {
		t.Errorf("counted %+v", w.now)
	}
}

func TestWhatTheStateCallsStoredIsNotPublishedAgain(t *testing.T) {
	t.Parallel()
	j := &events.Job{Policy: events.DefaultPolicy(), Walked: events.Place{Sequence: 4}}
	w := newWalker(j)
	refused := input(1, "a", "", "m", true)
	if v := w.row(refused, events.RowPlace{Sequence: 4}); v.do != pass {
		t.Errorf("in the last stored block: %+v", v)
	}
	if v := w.row(input(2, "b", "", "m", true), events.RowPlace{Sequence: 5}); v.do != reject {
		t.Errorf("behind it: %+v", v)
	}
	if v := w.row(refused, events.RowPlace{Sequence: 6}); v.do != clash || *v.owner != (events.RowPlace{Sequence: 4}) {
		t.Errorf("a second one: %+v", v)
	}
	if w.now.rejected != 2 {
		t.Errorf("counted %+v", w.now)
	}
}

func TestASecondComerIsJudgedByTheFirst(t *testing.T) {
	t.Parallel()
	first := input(1, "a", "x", "m", false)
	same, other := input(2, "a", "x", "m", false), input(3, "a", "y", "m", true)
	cases := map[string]struct {
		entry  *block.Entry
		sealed bool
		want   string
	}{
		"the same input is a redelivery":               {first, false, ""},
		"the same input is one after the seal too":     {first, true, ""},
		"the same row from elsewhere is a duplicate":   {same, false, events.DLDuplicate},
		"another row is a conflict, refused or not":    {other, false, events.DLConflict},
		"the same row after the seal came too late":    {same, true, events.DLJobSealed},
		"another row after the seal came too late too": {other, true, events.DLJobSealed},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &walker{sealed: c.sealed, seal: sealing{at: time.Unix(60, 0), sequence: 9}}
			v := w.judge(c.entry, events.RowPlace{}, &head{source: first.Source, row: first.Row})
			if late := c.want == events.DLJobSealed; late != (v.seal != nil && *v.seal == (events.Origin{Sequence: 9})) ||
				late != strings.Contains(v.fault.Message, "1970-01-01T00:01:00Z") {
				t.Errorf("the seal's place: %+v", v)
			}
			if v.fault.Code != c.want || (v.do == bury) != (c.want != "") {
				t.Errorf("got %+v, want %q", v, c.want)
			}
		})
	}
}

func TestASeatIsTakenOnce(t *testing.T) {
	t.Parallel()
	s := newSeats()
	taken := s.take("a")
	if taken == nil || s.take("a") != nil {
		t.Fatal("two have the seat")
	}
	if s.take("b") == nil {
		t.Fatal("another job has no seat")
	}
	if s.leave("a", taken, false) {
		t.Error("the seat was left although the job was asked for meanwhile")
	}
	if !s.leave("a", taken, false) || s.known("a") {
		t.Error("the seat stays taken")
	}
	taken = s.take("a")
	taken.session = new(session)
	if s.take("a") != nil || !s.leave("a", taken, true) || !s.known("a") || s.take("a") != taken {
		t.Error("a seat with a session is not found again after a failure")
	}
}
