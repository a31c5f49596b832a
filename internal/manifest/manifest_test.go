package manifest_test

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/batchbus/batchbus/internal/block"
	"github.com/batchbus/batchbus/internal/manifest"
	"github.com/batchbus/batchbus/pkg/events"
)

func anyHash(t *rapid.T, name string) (h block.Hash) {
	copy(h[:], rapid.SliceOfN(rapid.Byte(), len(h), len(h)).Draw(t, name))
	return h
}

func anyEntry(t *rapid.T) manifest.Entry {
	return manifest.Entry{
		Place: events.RowPlace{
			Sequence: rapid.Uint64().Draw(t, "sequence"), Index: rapid.IntRange(0, math.MaxUint32).Draw(t, "index"),
		},
		Attempt: rapid.IntRange(0, math.MaxUint16).Draw(t, "attempt"), Row: anyHash(t, "row"), Source: anyHash(t, "source"),
	}
}

func TestAManifestIsReadBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		entries := rapid.SliceOf(rapid.Custom(anyEntry)).Draw(t, "entries")
		data := manifest.Encode(entries)
		if len(data) != 4+len(entries)*manifest.EntrySize {
			t.Fatalf("%d entries take %d bytes", len(entries), len(data))
		}
		got, err := manifest.Decode(data)
		if err != nil || len(got) != len(entries) || len(got) > 0 && !reflect.DeepEqual(got, entries) {
			t.Fatalf("got %+v, %v\nwant %+v", got, err, entries)
		}
	})
}

func TestWhatIsNoManifestIsCorrupt(t *testing.T) {
	t.Parallel()
	whole := manifest.Encode(make([]manifest.Entry, 2))
	for cut := range whole {
		if (cut-4)%manifest.EntrySize == 0 {
			continue // a shorter manifest: the object's digest tells
		}
		if _, err := manifest.Decode(whole[:cut]); !errors.Is(err, manifest.ErrCorrupt) {
			t.Errorf("cut at %d: %v", cut, err)
		}
	}
	for name, data := range map[string][]byte{
		"another version": append([]byte("bbm2"), whole[4:]...), "a byte more": append(slices.Clip(whole), 0), "a block": []byte("bbk1"),
	} {
		if _, err := manifest.Decode(data); !errors.Is(err, manifest.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(manifest.Encode(nil))
	f.Add(manifest.Encode([]manifest.Entry{{Place: events.RowPlace{Sequence: 1, Index: 2}, Attempt: 3, Row: block.Hash{4}, Source: block.Hash{5}}}))
	f.Fuzz(func(t *testing.T, data []byte) {
		entries, err := manifest.Decode(data)
		if err != nil {
			return
		}
		again, err := manifest.Decode(manifest.Encode(entries))
		if err != nil || len(again) != len(entries) || len(again) > 0 && !reflect.DeepEqual(again, entries) {
			t.Fatalf("%+v became %+v, %v", entries, again, err)
		}
	})
}

// planned is what a digest is over.
type planned struct {
	group events.GroupKey
	ids   []string
	rows  []block.Hash
}

func (p planned) digest() string {
	d := manifest.NewDigest(p.group)
	for i, id := range p.ids {
		d.Add(id, p.rows[i])
	}
	return d.Sum()
}

func TestTheDigestDiffersWithWhateverIsPlanned(t *testing.T) {
	t.Parallel()
	base := planned{
		group: events.GroupKey{Window: "24h", URL: "/v1/x", Model: "m"},
		ids:   []string{"a", "b"}, rows: []block.Hash{{1}, {2}},
	}
	// Pinned, since it stands in the metadata of batches that run: another value would make them strangers.
	const want = "7ff38d1757c78bbfff36a12bd99c3886289b452f50b0ae4dde75db20eacff5e6"
	if got := base.digest(); got != want {
		t.Errorf("digest %s, want %s", got, want)
	}
	seen := map[string]string{base.digest(): "base"}
	for name, change := range map[string]func(p *planned){
		"the order":                  func(p *planned) { p.ids, p.rows = []string{"b", "a"}, []block.Hash{{2}, {1}} },
		"an id":                      func(p *planned) { p.ids = []string{"a", "c"} },
		"a row":                      func(p *planned) { p.rows = []block.Hash{{1}, {3}} },
		"one row less":               func(p *planned) { p.ids = p.ids[:1] },
		"no row":                     func(p *planned) { p.ids = nil },
		"the window":                 func(p *planned) { p.group.Window = "1h" },
		"the url":                    func(p *planned) { p.group.URL = "/v1/y" },
		"the model":                  func(p *planned) { p.group.Model = "n" },
		"a byte from window to url":  func(p *planned) { p.group.Window, p.group.URL = "24h/", "v1/x" },
		"a byte from url to model":   func(p *planned) { p.group.URL, p.group.Model = "/v1/", "xm" },
		"an id that holds the other": func(p *planned) { p.ids, p.rows = []string{"a" + string(p.rows[0][:]) + "\x01b"}, p.rows[1:] },
	} {
		p := base
		change(&p)
		if other, there := seen[p.digest()]; there {
			t.Errorf("%s: the digest is that of %s", name, other)
		}
		seen[p.digest()] = name
	}
}

func TestNoTwoPlansShareADigest(t *testing.T) {
	t.Parallel()
	text := rapid.StringMatching("[a\x00\x01]{0,3}")
	plan := rapid.Custom(func(t *rapid.T) planned {
		p := planned{group: events.GroupKey{Window: text.Draw(t, "window"), URL: text.Draw(t, "url"), Model: text.Draw(t, "model")}}
		p.ids = rapid.SliceOfN(text, 0, 2).Draw(t, "ids")
		for range p.ids {
			p.rows = append(p.rows, block.Hash{rapid.SampledFrom([]byte{0, 1, 'a'}).Draw(t, "row")})
		}
		return p
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := plan.Draw(t, "a"), plan.Draw(t, "b")
		same := a.group == b.group && len(a.ids) == len(b.ids)
		for i := 0; same && i < len(a.ids); i++ {
			same = a.ids[i] == b.ids[i] && a.rows[i] == b.rows[i]
		}
		if (a.digest() == b.digest()) != same {
			t.Fatalf("%+v and %+v: same %v", a, b, same)
		}
	})
}
