package doubleword

import (
	"bytes"
	"errors"
	"io"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// reader walks JSON that lies in memory and hands out parts of it. It accepts what encoding/json accepts (duplicate names, lone
// surrogates, bytes that are no UTF-8): an answer that was paid for is not thrown away for its spelling.
type reader struct {
	src []byte
	dec *jsontext.Decoder
}

func newReader(src []byte) *reader {
	return &reader{src: src, dec: jsontext.NewDecoder(bytes.NewBuffer(src),
		jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))}
}

// value takes the next value as a part of the source that cannot be appended to.
func (r *reader) value() ([]byte, error) {
	v, err := r.dec.ReadValue()
	if err != nil {
		return nil, err //nolint:wrapcheck // ParseLine wraps
	}
	end := int(r.dec.InputOffset())
	return r.src[end-len(v) : end : end], nil
}

// nonNull is value, with nil for null.
func (r *reader) nonNull() ([]byte, error) {
	v, err := r.value()
	if err != nil || string(v) == "null" {
		return nil, err
	}
	return v, nil
}

func (r *reader) skip() error {
	return r.dec.SkipValue() //nolint:wrapcheck // ParseLine wraps
}

func (r *reader) isObject() bool { return r.dec.PeekKind() == '{' }

// object takes an object; member must take exactly one value for each name it is called with.
func (r *reader) object(member func(name []byte) error) error {
	if kind := r.dec.PeekKind(); kind != '{' && kind > 0 {
		return errNotObject
	}
	if _, err := r.dec.ReadToken(); err != nil {
		return err //nolint:wrapcheck // ParseLine wraps
	}
	for r.dec.PeekKind() == '"' {
		raw, err := r.value()
		if err != nil {
			return err
		}
		if err := member(unquote(raw)); err != nil {
			return err
		}
	}
	_, err := r.dec.ReadToken()
	return err //nolint:wrapcheck // ParseLine wraps
}

// objectBytes is object, and returns the object's own bytes.
func (r *reader) objectBytes(member func(name []byte) error) ([]byte, error) {
	from := r.dec.InputOffset()
	if err := r.object(member); err != nil {
		return nil, err
	}
	end := r.dec.InputOffset()
	// Between a name and its value stand a colon and white space, neither of which is a brace.
	from += int64(bytes.IndexByte(r.src[from:end], '{'))
	return r.src[from:end:end], nil
}

// first takes an array and gives its first element, if that is an object, to member. Anything else is skipped.
func (r *reader) first(member func(name []byte) error) error {
	if r.dec.PeekKind() != '[' {
		return r.skip()
	}
	if _, err := r.dec.ReadToken(); err != nil {
		return err //nolint:wrapcheck // ParseLine wraps
	}
	if r.isObject() {
		if err := r.object(member); err != nil {
			return err
		}
	}
	for kind := r.dec.PeekKind(); kind != ']' && kind > 0; kind = r.dec.PeekKind() {
		if err := r.skip(); err != nil {
			return err
		}
	}
	_, err := r.dec.ReadToken()
	return err //nolint:wrapcheck // ParseLine wraps
}

// nested takes an object with member, and skips anything else.
func (r *reader) nested(member func(name []byte) error) error {
	if !r.isObject() {
		return r.skip()
	}
	return r.object(member)
}

// text takes a string; anything else is skipped and not ok.
func (r *reader) text() (s string, ok bool, err error) {
	if r.dec.PeekKind() != '"' {
		return "", false, r.skip()
	}
	raw, err := r.value()
	if err != nil {
		return "", false, err
	}
	return string(unquote(raw)), true, nil
}

// int takes a whole number, also one in a string; anything else is skipped and 0.
func (r *reader) int() (int, error) {
	raw, err := r.value()
	if err != nil {
		return 0, err
	}
	return int(wholeNumber(raw)), nil
}

// end fails when anything but white space follows.
func (r *reader) end() error {
	_, err := r.dec.ReadToken()
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case err == nil:
		return errors.New("text after the object")
	}
	return err //nolint:wrapcheck // ParseLine wraps
}

// unquote returns the text of a valid JSON string, a part of it where it has no escapes.
func unquote(raw []byte) []byte {
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1]
	}
	// The error is about bytes that are no UTF-8; they are replaced, and the rest is kept.
	text, _ := jsontext.AppendUnquote(nil, raw)
	return text
}

// wholeNumber is exact for integers; a fraction is cut off, and anything else is 0.
func wholeNumber(raw []byte) int64 {
	digits := string(bytes.Trim(raw, `"`))
	if n, err := strconv.ParseInt(digits, 10, 64); err == nil {
		return n
	}
	var n looseNumber
	_ = n.UnmarshalJSON([]byte(digits))
	return n.int()
}
