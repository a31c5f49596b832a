package simulator

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// maxDepth is how deep the provider's decoder goes: its limit of 128 counts the level it refuses.
const maxDepth = 127

var (
	errDepth  = errors.New("recursion limit exceeded")
	errNumber = errors.New("number out of range")
)

// canonical reads JSON as strictly as the provider and writes it the way the provider stores it: keys sorted, the
// last of equal keys kept, numbers normalised, no white space.
type canonical struct {
	dec     *jsontext.Decoder
	out     []byte
	scratch []byte
	members []member
}

// member is one key and value in canonical.out.
type member struct{ start, keyEnd, end int }

func (c *canonical) reset(line []byte) {
	if c.dec == nil {
		c.dec = jsontext.NewDecoder(bytes.NewBuffer(line), jsontext.AllowDuplicateNames(true))
	} else {
		c.dec.Reset(bytes.NewBuffer(line), jsontext.AllowDuplicateNames(true))
	}
	c.members = c.members[:0]
}

// value reads the next value and appends its canonical form to c.out. Keys for which drop answers true are left out.
func (c *canonical) value(drop func(key []byte) bool) error {
	switch c.dec.PeekKind() {
	case '{':
		return c.object(drop)
	case '[':
		return c.array()
	case '"':
		raw, err := c.readValue()
		if err != nil {
			return err
		}
		return c.quoted(raw)
	case '0':
		raw, err := c.readValue()
		if err != nil {
			return err
		}
		c.out, err = appendNumber(c.out, raw)
		return err
	default:
		raw, err := c.readValue()
		c.out = append(c.out, raw...)
		return err
	}
}

func (c *canonical) open() error {
	if err := c.skipToken(); err != nil {
		return err
	}
	if c.dec.StackDepth() > maxDepth {
		return errDepth
	}
	return nil
}

func (c *canonical) array() error {
	if err := c.open(); err != nil {
		return err
	}
	c.out = append(c.out, '[')
	for first := true; c.dec.PeekKind() != ']'; first = false {
		if !first {
			c.out = append(c.out, ',')
		}
		if err := c.value(nil); err != nil {
			return err
		}
	}
	c.out = append(c.out, ']')
	return c.skipToken()
}

func (c *canonical) object(drop func(key []byte) bool) error {
	if err := c.open(); err != nil {
		return err
	}
	base, start := len(c.members), len(c.out)+1
	c.out = append(c.out, '{')
	for c.dec.PeekKind() != '}' {
		if err := c.member(drop); err != nil {
			return err
		}
	}
	c.sortMembers(start, c.members[base:])
	c.members = c.members[:base]
	c.out = append(c.out, '}')
	return c.skipToken()
}

func (c *canonical) member(drop func(key []byte) bool) error {
	start := len(c.out)
	raw, err := c.readValue()
	if err == nil {
		err = c.quoted(raw)
	}
	if err != nil {
		return err
	}
	keyEnd := len(c.out)
	c.out = append(c.out, ':')
	if err := c.value(nil); err != nil {
		return err
	}
	if drop != nil && drop(c.out[start+1:keyEnd-1]) {
		c.out = c.out[:start]
		return nil
	}
	c.members = append(c.members, member{start: start, keyEnd: keyEnd, end: len(c.out)})
	return nil
}

// sortMembers orders the members that begin at start, drops all but the last of equal keys, and sets commas.
func (c *canonical) sortMembers(start int, members []member) {
	key := func(m member) []byte { return keyText(c.out[m.start:m.keyEnd]) }
	slices.SortStableFunc(members, func(a, b member) int { return bytes.Compare(key(a), key(b)) })
	c.scratch = c.scratch[:0]
	for i, m := range members {
		if i+1 < len(members) && bytes.Equal(key(m), key(members[i+1])) {
			continue
		}
		if len(c.scratch) > 0 {
			c.scratch = append(c.scratch, ',')
		}
		c.scratch = append(c.scratch, c.out[m.start:m.end]...)
	}
	c.out = append(c.out[:start], c.scratch...)
}

// keyText is the key as it sorts: without quotes and escapes.
func keyText(quoted []byte) []byte {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1]
	}
	return unquote(quoted)
}

func (c *canonical) quoted(raw []byte) error {
	if bytes.IndexByte(raw, '\\') < 0 {
		c.out = append(c.out, raw...)
		return nil
	}
	c.out = appendString(c.out, unquote(raw))
	return nil
}

func (c *canonical) readValue() (jsontext.Value, error) {
	raw, err := c.dec.ReadValue()
	if err != nil {
		return nil, fmt.Errorf("read value: %w", err)
	}
	return raw, nil
}

func (c *canonical) skipToken() error {
	if _, err := c.dec.ReadToken(); err != nil {
		return fmt.Errorf("read token: %w", err)
	}
	return nil
}

// end answers nil when nothing but white space follows.
func (c *canonical) end() error {
	_, err := c.dec.ReadToken()
	if errors.Is(err, io.EOF) {
		return nil
	}
	return errors.New("trailing characters")
}

// appendNumber writes a number as the provider's decoder keeps it: 64-bit integers as they are, the rest as doubles.
func appendNumber(dst, raw []byte) ([]byte, error) {
	text := string(raw)
	if !bytes.ContainsAny(raw, ".eE") && text != "-0" {
		if _, err := strconv.ParseInt(text, 10, 64); err == nil {
			return append(dst, raw...), nil
		}
		if _, err := strconv.ParseUint(text, 10, 64); err == nil {
			return append(dst, raw...), nil
		}
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return dst, errNumber
	}
	return appendFloat(dst, f), nil
}

// appendFloat writes a double in the shortest form that reads back, with the provider's choice of notation.
func appendFloat(dst []byte, f float64) []byte {
	mantissa, exp, _ := bytes.Cut(strconv.AppendFloat(nil, f, 'e', -1, 64), []byte("e"))
	exponent, _ := strconv.Atoi(string(exp)) // strconv wrote it
	if exponent < -5 || exponent > 15 {
		return strconv.AppendInt(append(append(dst, mantissa...), 'e'), int64(exponent), 10)
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, f, 'f', -1, 64)
	if bytes.IndexByte(dst[start:], '.') < 0 {
		dst = append(dst, ".0"...)
	}
	return dst
}
