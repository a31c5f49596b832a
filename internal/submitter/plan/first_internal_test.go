package plan

import (
	"encoding/hex"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/batchbus/batchbus/internal/block"
	"github.com/batchbus/batchbus/pkg/events"
)

// sealedFrom is the place of the message behind the script's n-th block, a seal.
func sealedFrom(n int) uint64 { return uint64(100_000 + n) }

// firsts is what each dead letter of a script must name, by its source: who came first, told in the plainest way.
func firsts(s script) map[block.Hash]events.Origin {
	fate, _, _, _ := fates(s)
	owner, seal, first := make(map[string]events.Origin), events.Origin{}, make(map[block.Hash]events.Origin)
	for n, entries := range s.blocks {
		if entries == nil && seal.Sequence == 0 {
			seal.Sequence = sealedFrom(n + 1)
		}
		for _, e := range entries {
			switch _, known := first[e.Source]; fate[e.Source] {
			case events.DLDuplicate, events.DLConflict:
				first[e.Source] = owner[e.CustomID]
			case events.DLJobSealed:
				first[e.Source] = seal
			case events.DLJobFull:
				first[e.Source] = events.Origin{}
			default:
				if _, taken := owner[e.CustomID]; !taken && !known {
					owner[e.CustomID] = events.Origin{Sequence: e.Sequence, Line: e.Line}
				}
			}
		}
	}
	return first
}

func TestEveryDeadLetterNamesWhoCameFirstInAnyOrder(t *testing.T) {
	t.Parallel()
	met := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		s := drawScript(t)
		w := newWorld(t, s)
		w.settles = rapid.Bool().Draw(t, "settles")
		w.run(t, nil)
		want := firsts(s)
		for subject, m := range w.bus.stream {
			if !strings.HasPrefix(subject, events.PrefixDeadletters) {
				continue
			}
			d, err := events.ParseDeadLetter(m.Data)
			if err != nil {
				t.Fatal(err)
			}
			source, err := hex.DecodeString(d.Source)
			if err != nil {
				t.Fatal(err)
			}
			got := events.Origin{}
			if d.First != nil {
				got = *d.First
			}
			if got != want[block.Hash(source)] {
				t.Fatalf("%s of %q names %+v, want %+v", d.Code, d.CustomID, got, want[block.Hash(source)])
			}
			met[d.Code]++
		}
	})
	for _, code := range []string{events.DLDuplicate, events.DLConflict, events.DLJobSealed} {
		if met[code] == 0 {
			t.Errorf("no %s was met: the test sees nothing", code)
		}
	}
}
