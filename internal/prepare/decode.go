package prepare

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/batchbus/batchbus/pkg/rows"
)

// sniffed is how much of a text is looked at for its encoding: as much as [rows.Reader] does.
const sniffed = 64 << 10

// encodingOf names the encoding of a text that is not UTF-8, as [rows.Reader] would; "" for all else. Nothing is taken from in.
func encodingOf(in *bufio.Reader) string {
	head, _ := in.Peek(sniffed)
	_, err := rows.NewReader(bytes.NewReader(head), sniffed).Next()
	if foreign, ok := errors.AsType[*rows.EncodingError](err); ok {
		return foreign.Encoding
	}
	return ""
}

// textError is why nothing behind a place of a text can be told apart. What is broken is never replaced: a row would change unseen.
type textError struct {
	line int
	text string
}

// Error says what is wrong.
func (e *textError) Error() string { return e.text }

// decoder reads UTF-16 or UTF-32 as UTF-8.
type decoder struct {
	in    *bufio.Reader
	order binary.ByteOrder
	wide  bool // wide is UTF-32.
	name  string
	line  int
	held  []byte // held is the rest of a character that did not fit; it lies in room.
	room  [utf8.UTFMax]byte
}

func newDecoder(in *bufio.Reader, encoding string) *decoder {
	d := &decoder{in: in, name: encoding, wide: strings.HasPrefix(encoding, "UTF-32"), order: binary.LittleEndian, line: 1}
	if strings.HasSuffix(encoding, "BE") {
		d.order = binary.BigEndian
	}
	return d
}

// Read fills p as far as whole characters fit, and begins one where it does not.
func (d *decoder) Read(p []byte) (n int, err error) {
	n = copy(p, d.held)
	d.held = d.held[n:]
	for n < len(p) && (n == 0 || d.in.Buffered() >= utf8.UTFMax) { // what is there goes on before more is waited for
		r, err := d.rune()
		if err != nil {
			return n, err
		}
		if r == '\n' {
			d.line++
		}
		d.held = utf8.AppendRune(d.room[:0], r)
		fits := copy(p[n:], d.held)
		n, d.held = n+fits, d.held[fits:]
	}
	return n, nil
}

func (d *decoder) rune() (rune, error) {
	unit, err := d.unit()
	if err != nil || !utf16.IsSurrogate(unit) && unit <= utf8.MaxRune {
		return unit, err
	}
	second, err := rune(0), error(nil)
	if !d.wide {
		second, err = d.unit()
	}
	if r := utf16.DecodeRune(unit, second); err == nil && r != utf8.RuneError {
		return r, nil
	}
	return 0, d.broken("half of a surrogate pair, or no character")
}

// unit reads one code unit.
func (d *decoder) unit() (rune, error) {
	var b [4]byte
	width := 2
	if d.wide {
		width = 4
	}
	switch _, err := io.ReadFull(d.in, b[:width]); {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return 0, d.broken("it ends inside a character")
	case err != nil:
		return 0, err //nolint:wrapcheck // readers hand on io.EOF itself
	case d.wide:
		return rune(d.order.Uint32(b[:]) & 0x7fffffff), nil
	}
	return rune(d.order.Uint16(b[:])), nil
}

func (d *decoder) broken(why string) error {
	return &textError{d.line, "what should be " + d.name + " is broken: " + why + "; nothing behind it was read"}
}

// counter counts the line ends of other systems on their way.
type counter struct {
	from  io.Reader
	ends  int
	after bool // after is behind a carriage return.
}

// Read reads on.
func (c *counter) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	c.ends += bytes.Count(p[:n], []byte("\r\n"))
	if n > 0 {
		if c.after && p[0] == '\n' {
			c.ends++
		}
		c.after = p[n-1] == '\r'
	}
	return n, err //nolint:wrapcheck // readers hand on io.EOF itself
}
