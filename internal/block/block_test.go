package block_test

import (
	"errors"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/batchbus/batchbus/internal/block"
	"github.com/batchbus/batchbus/pkg/events"
)

func anyEntry(t *rapid.T) block.Entry {
	hash := func(name string) (h block.Hash) {
		copy(h[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, name))
		return h
	}
	e := block.Entry{
		Source: hash("source"), ID: hash("id"), Row: hash("row"),
		CustomID: rapid.String().Draw(t, "custom_id"),
		Sequence: rapid.Uint64().Draw(t, "sequence"),
		Line:     rapid.IntRange(1, 1<<31).Draw(t, "line"),
	}
	payload := rapid.SliceOf(rapid.Byte()).Draw(t, "payload")
	e.Size = len(payload)
	if rapid.Bool().Draw(t, "refused") {
		e.Fault = &block.Fault{
			Code: "invalid_json", Message: rapid.String().Draw(t, "message"), Hint: rapid.String().Draw(t, "hint"),
			Column: rapid.IntRange(0, 1<<30).Draw(t, "column"), Payload: payload,
		}
		return e
	}
	e.Tail = payload
	e.Group = events.GroupKey{
		Window: "24h", URL: "/v1/embeddings", Model: rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(t, "model"),
	}
	return e
}

func TestBlockRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		entries := rapid.SliceOf(rapid.Custom(anyEntry)).Draw(t, "entries")
		var b block.Builder
		room := 16
		for i := range entries {
			b.Add(&entries[i])
			room += block.Room(&entries[i])
		}
		if b.Len() != len(entries) || b.Size() > room {
			t.Fatalf("len %d size %d, want len %d and size at most %d", b.Len(), b.Size(), len(entries), room)
		}
		if len(entries) == 0 {
			return
		}
		got := 0
		for e, err := range block.Read(b.Bytes()) {
			if err != nil {
				t.Fatal(err)
			}
			if want := entries[got]; !sameEntry(*e, want) {
				t.Fatalf("entry %d: got %+v, want %+v", got, *e, want)
			}
			got++
		}
		if got != len(entries) {
			t.Fatalf("read %d entries of %d", got, len(entries))
		}
	})
}

func sameEntry(a, b block.Entry) bool {
	normalise := func(e *block.Entry) {
		e.Tail = append([]byte{}, e.Tail...)
		if e.Fault != nil {
			fault := *e.Fault
			fault.Payload = append([]byte{}, fault.Payload...)
			e.Fault = &fault
		}
	}
	normalise(&a)
	normalise(&b)
	return reflect.DeepEqual(a, b)
}

func TestABlockThatIsCutShortIsCorrupt(t *testing.T) {
	t.Parallel()
	var b block.Builder
	b.Add(&block.Entry{CustomID: "a", Line: 1, Group: events.GroupKey{Window: "24h", URL: "/v1/x", Model: "m"}, Tail: []byte(`,"body":{}}`)})
	whole := b.Bytes()
	for cut := range whole {
		if cut == len("bbk1r") {
			continue // an empty block of rows
		}
		var last error
		for _, err := range block.Read(whole[:cut]) {
			last = err
		}
		if !errors.Is(last, block.ErrCorrupt) {
			t.Fatalf("cut at %d of %d: %v", cut, len(whole), last)
		}
	}
}

func TestAnEnvelopeLeavesOnlyThePayloadOut(t *testing.T) {
	t.Parallel()
	e := block.Entry{CustomID: "big", Sequence: 7, Line: 3, Tail: make([]byte, 9<<20), Group: events.GroupKey{Model: "m"}}
	body := block.Envelope(&e)
	if len(body) > 200 {
		t.Fatalf("envelope of %d bytes", len(body))
	}
	for got, err := range block.Read(body) {
		if err != nil || !got.Absent || got.Size != len(e.Tail) || got.CustomID != "big" || got.Group != e.Group || got.Tail != nil {
			t.Fatalf("got %+v, %v", got, err)
		}
	}
}

func TestSeal(t *testing.T) {
	t.Parallel()
	zero := 0
	for _, expected := range []*int{nil, &zero} {
		seal := block.Seal(expected, 1<<40)
		got, ok := block.ReadSeal(seal)
		if !ok || !reflect.DeepEqual(got, expected) {
			t.Errorf("got %v, %v, want %v", got, ok, expected)
		}
		if at := block.SealSequence(seal); at != 1<<40 {
			t.Errorf("the seal stood at %d", at)
		}
		old := seal[:6] // as it was before seals said where they stood
		if got, ok := block.ReadSeal(old); !ok || !reflect.DeepEqual(got, expected) || block.SealSequence(old) != 0 {
			t.Errorf("a seal without a place: %v, %v, at %d", got, ok, block.SealSequence(old))
		}
	}
	var b block.Builder
	b.Add(&block.Entry{})
	if _, ok := block.ReadSeal(b.Bytes()); ok {
		t.Error("a block of rows is taken for a seal")
	}
}

// FuzzRead reads anything without harm, and what it can read, built anew, reads the same.
func FuzzRead(f *testing.F) {
	var b block.Builder
	b.Add(&block.Entry{CustomID: "a", Group: events.GroupKey{Window: "24h", URL: "/v1/x", Model: "m"}, Tail: []byte("x")})
	b.Add(&block.Entry{CustomID: "b", Fault: &block.Fault{Code: "c", Message: "m", Hint: "h", Column: 9, Payload: []byte("y")}})
	b.Add(&block.Entry{CustomID: "c", Group: events.GroupKey{Window: "24h", URL: "/v1/x", Model: "m"}, Absent: true, Size: 1 << 24})
	f.Add(b.Bytes())
	f.Add(block.Envelope(&block.Entry{CustomID: "d", Tail: []byte("zz")}))
	f.Add(block.Seal(nil, 0))
	f.Add(block.Seal(new(7), 1<<40))
	f.Fuzz(func(t *testing.T, data []byte) {
		var again block.Builder
		var first []block.Entry
		for e, err := range block.Read(data) {
			if err != nil {
				if !errors.Is(err, block.ErrCorrupt) {
					t.Fatal(err)
				}
				break
			}
			if e.Size < 0 || !e.Absent && e.Size != len(e.Tail) && (e.Fault == nil || e.Size != len(e.Fault.Payload)) {
				t.Fatalf("size %d: %+v", e.Size, e)
			}
			first = append(first, *e)
			again.Add(e)
		}
		n := 0
		for e, err := range block.Read(again.Bytes()) {
			if len(first) == 0 {
				break // no block was built
			}
			if err != nil || n >= len(first) || !sameEntry(*e, first[n]) {
				t.Fatalf("entry %d: %+v became %+v, %v", n, first, e, err)
			}
			n++
		}
		if n != len(first) {
			t.Fatalf("%d entries became %d", len(first), n)
		}
		if expected, sealed := block.ReadSeal(data); sealed && (expected == nil || *expected >= 0) {
			seal := block.Seal(expected, block.SealSequence(data))
			back, ok := block.ReadSeal(seal)
			if !ok || !reflect.DeepEqual(back, expected) || block.SealSequence(seal) != block.SealSequence(data) {
				t.Fatalf("a seal of %v became %v", expected, back)
			}
		}
	})
}
