package ingest

import (
	"bytes"
	"fmt"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/batchbus/batchbus/internal/block"
	"github.com/batchbus/batchbus/pkg/events"
)

func TestEveryRowIsInOneBlockOfItsJobWithinTheLimit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := newPacker()
		p.limit = rapid.IntRange(300, 3000).Draw(t, "limit")
		n := rapid.IntRange(0, 60).Draw(t, "rows")
		batch := []*message{{}, {}, {}}
		want, got := map[string][]string{}, map[string][]string{}
		held := map[*message]int{}
		collect := func(s *sheet) {
			if s.builder.Size() > p.limit {
				t.Fatalf("a block of %d bytes, the limit is %d", s.builder.Size(), p.limit)
			}
			for e, err := range block.Read(s.builder.Bytes()) {
				if err != nil {
					t.Fatal(err)
				}
				got[s.subject] = append(got[s.subject], e.CustomID)
			}
			for _, m := range s.from {
				held[m]++
			}
			p.recycle(s)
		}
		for i := range n {
			m := batch[i*len(batch)/n]
			subject := rapid.SampledFrom([]string{"x", "y"}).Draw(t, "subject")
			e := block.Entry{
				CustomID: strconv.Itoa(i), Line: 1, Group: events.GroupKey{Window: "24h"},
				Tail: bytes.Repeat([]byte("x"), rapid.IntRange(0, 400).Draw(t, "size")),
			}
			if !p.fits(&e) {
				continue
			}
			want[subject] = append(want[subject], e.CustomID)
			if full := p.add(subject, &e, m); full != nil {
				collect(full)
			}
		}
		for _, s := range p.drain() {
			collect(s)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("got %v, want %v", got, want)
		}
		for _, m := range batch {
			if m.pending != held[m] {
				t.Fatalf("a message waits for %d blocks, %d hold rows of it", m.pending, held[m])
			}
		}
		if len(p.open) != 0 || len(p.drain()) != 0 {
			t.Fatal("a drained packer holds nothing")
		}
	})
}

func TestRowsOfOneMessageHoldItOnceABlock(t *testing.T) {
	t.Parallel()
	p := newPacker()
	p.limit = 1 << 20
	var m message
	for range 3 {
		p.add("x", &block.Entry{CustomID: "a"}, &m)
	}
	if m.pending != 1 {
		t.Errorf("got %d", m.pending)
	}
}

func TestTheMemoryOfAnOutsizedBlockIsNotKept(t *testing.T) {
	t.Parallel()
	p := newPacker()
	p.limit = 1000
	s := p.blank("x")
	s.builder.Add(&block.Entry{Tail: make([]byte, 2000)})
	p.recycle(s)
	if len(p.spare) != 0 {
		t.Error("it is kept")
	}
}
