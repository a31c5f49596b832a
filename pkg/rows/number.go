package rows

import (
	"errors"
	"strconv"
)

// watch notes the first place in a body where the provider's parser would stumble. An offset of 0 means "nowhere",
// since a body never starts at offset 0 of its line.
type watch struct {
	base     int // base is the depth of the object whose members are walked.
	maxDepth int
	deepAt   int // deepAt is where an object or array opens below maxDepth.
	overAt   int // overAt is where a number stands that no double holds.
	bigAt    int // bigAt is where an integer stands that 64 bits do not hold.
}

// level notes an object or array opening at offset i, depth levels below base.
func (w *watch) level(depth, i int) {
	if w != nil && w.deepAt == 0 && w.base+depth > w.maxDepth {
		w.deepAt = i
	}
}

// abyss returns where text, grammatical so far, passes maxDepth, if it is so deep that jsontext gave up on it (level
// 10,000); else 0.
func abyss(text []byte, maxDepth int) int {
	bottom := watch{maxDepth: 9_999}
	valueEnd(text, 0, &bottom)
	if bottom.deepAt == 0 {
		return 0
	}
	first := watch{maxDepth: maxDepth}
	valueEnd(text, 0, &first)
	return first.deepAt
}

// number notes the number at offset i and returns the offset behind it.
func (w *watch) number(b []byte, i int) int {
	end, integer, exponent := i+1, true, false
	for ; end < len(b); end++ {
		switch c := b[end]; c {
		case '.', '+', '-':
			integer = false
		case 'e', 'E':
			integer, exponent = false, true
		default:
			if c < '0' || c > '9' {
				w.judge(b[i:end], i, integer, exponent)
				return end
			}
		}
	}
	w.judge(b[i:end], i, integer, exponent)
	return end
}

// judge decides by length first: 18 digits fit an int64, and 308 digits without an exponent fit a double.
func (w *watch) judge(text []byte, at int, integer, exponent bool) {
	if w == nil || len(text) <= 18 && !exponent {
		return
	}
	if integer && w.bigAt == 0 && !fits64(string(text)) {
		w.bigAt = at
	}
	if w.overAt == 0 && (exponent || len(text) > 308) && !fitsDouble(string(text)) {
		w.overAt = at
	}
}

func fits64(text string) bool {
	if text[0] == '-' {
		_, err := strconv.ParseInt(text, 10, 64)
		return err == nil
	}
	_, err := strconv.ParseUint(text, 10, 64)
	return err == nil
}

func fitsDouble(text string) bool {
	_, err := strconv.ParseFloat(text, 64)
	return !errors.Is(err, strconv.ErrRange)
}
