package rows_test

import (
	"math"
	"strings"
	"testing"

	"github.com/batchbus/batchbus/pkg/rows"
)

func TestWireIDHoldsTheIDWhereItFits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		place    int
		id, want string
	}{
		{0, "a", "0~a"},
		{0, strings.Repeat("x", 62), "0~" + strings.Repeat("x", 62)},
		{0, strings.Repeat("x", 63), "0~"},
		{49999, strings.Repeat("x", 58), "49999~" + strings.Repeat("x", 58)},
		{49999, strings.Repeat("x", 59), "49999~"},
		{7, "7~x", "7~7~x"},
		{7, " ~}", "7~ ~}"},
		{7, "é", "7~"},
		{7, "\x7f", "7~"},
		{7, "\t", "7~"},
		{7, "\xff", "7~"},
		{7, "", "7~"},
	} {
		if got := rows.WireID(c.place, c.id); got != c.want {
			t.Errorf("WireID(%d, %q) = %q, want %q", c.place, c.id, got, c.want)
		}
	}
}

func TestParseWireIDRefusesWhatWeNeverMade(t *testing.T) {
	t.Parallel()
	for _, id := range []string{
		"", "~", "~a", "a", "0", "00~a", "01~a", "+1~a", "-1~a", "-0~", " 1~a", "1 ~a", "1_0~", "0x1~", "1~é", "1~\x7f",
		"99999999999999999999~", "0~" + strings.Repeat("x", 63), "١~a",
	} {
		if place, rest, ok := rows.ParseWireID(id); ok {
			t.Errorf("%q gives %d %q", id, place, rest)
		}
	}
}

func FuzzWireID(f *testing.F) {
	f.Add(0, "a")
	f.Add(math.MaxInt, "12~\x00")
	f.Add(3, "007~x")
	f.Fuzz(func(t *testing.T, place int, id string) {
		if place >= 0 {
			wire := rows.WireID(place, id)
			back, rest, ok := rows.ParseWireID(wire)
			if !ok || back != place || rest != "" && rest != id || len(wire) > 64 {
				t.Fatalf("%d %q -> %q -> %d %q %v", place, id, wire, back, rest, ok)
			}
		}
		if back, rest, ok := rows.ParseWireID(id); ok && rows.WireID(back, rest) != id {
			t.Fatalf("%q was taken for %d %q", id, back, rest)
		}
	})
}

func TestHashesAreTheFirstHalfOfSHA256(t *testing.T) {
	t.Parallel()
	want := [16]byte{0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea, 0x41, 0x41, 0x40, 0xde, 0x5d, 0xae, 0x22, 0x23}
	if rows.HashID("abc") != want || rows.HashRow([]byte("abc")) != want {
		t.Error("not the first 128 bits of SHA-256")
	}
}
