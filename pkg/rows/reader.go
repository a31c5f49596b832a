package rows

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// ErrLineTooLong is returned when a line is longer than the reader's limit; the error is a [LineTooLongError]. The
// reader goes on with the next line.
var ErrLineTooLong = errors.New("line too long")

// ErrEncoding is returned when the input is not UTF-8 but UTF-16 or UTF-32; the error is an [EncodingError]. Every
// later call returns it again.
var ErrEncoding = errors.New("not UTF-8")

// LineTooLongError tells which line was too long and by how much. It is an [ErrLineTooLong].
type LineTooLongError struct {
	Number int   // Number is the physical line number, from 1.
	Size   int64 // Size is the line's full size in bytes without its line feed.
	Limit  int   // Limit is the reader's limit in bytes.
}

// Error names line, size and limit.
func (e *LineTooLongError) Error() string {
	return fmt.Sprintf("line %d has %d bytes, the limit is %d", e.Number, e.Size, e.Limit)
}

// Unwrap returns [ErrLineTooLong].
func (e *LineTooLongError) Unwrap() error { return ErrLineTooLong }

// EncodingError names the encoding of an input that should be UTF-8. It is an [ErrEncoding].
type EncodingError struct {
	Encoding string // Encoding is UTF-16LE, UTF-16BE, UTF-32LE or UTF-32BE.
}

// Error names the encoding.
func (e *EncodingError) Error() string { return "the input is " + e.Encoding + ", not UTF-8" }

// Unwrap returns [ErrEncoding].
func (e *EncodingError) Unwrap() error { return ErrEncoding }

// readerBuffer is the read size: large enough that most rows are handed out without a copy.
const readerBuffer = 64 << 10

// Reader streams the lines of a file of any size. It holds one line of at most the limit, and never more than about
// twice that. It is not safe for concurrent use.
type Reader struct {
	src     *bufio.Reader
	objects joiner
	long    []byte // long collects a line that spans reads.
	limit   int
	number  int
	started bool
	bom     bool
	err     error // err ends the input; it is returned again by every later call.
}

// NewReader returns a reader of the lines of r. Lines longer than maxLine bytes, CR and LF not counted, are reported
// and skipped; a maxLine of 0 or less means [DefaultMaxRowBytes].
func NewReader(r io.Reader, maxLine int) *Reader {
	if maxLine <= 0 {
		maxLine = DefaultMaxRowBytes
	}
	reader := &Reader{src: bufio.NewReaderSize(r, readerBuffer), limit: maxLine}
	reader.objects = joiner{physical: reader.physical, limit: maxLine, reuse: true}
	return reader
}

// BOM reports whether the input began with a UTF-8 byte order mark, which is stripped. It is known after the first
// call of Next.
func (r *Reader) BOM() bool { return r.bom }

// Next returns the next line that is not blank, split and trimmed as by [Lines], or an object over several lines of at
// most the limit together, as by [Payload]; the last line may lack its line feed. It blocks as long as the underlying
// reader does. The bytes are valid until the next call.
//
// A line over the limit comes as [LineTooLongError] together with a Line that holds its first bytes, for [TooLarge];
// call Next again to go on. Every other error is final: io.EOF at the end, an [EncodingError], or the reader's own
// error wrapped, in which case a last line without line feed is withheld since it may be cut short.
func (r *Reader) Next() (Line, error) { return r.objects.next() }

// physical is Next for single lines.
func (r *Reader) physical() (Line, error) {
	if !r.started {
		r.start()
	}
	for r.err == nil {
		raw, size, err := r.read()
		if err != nil && err != io.EOF { //nolint:errorlint // bufio hands on io.EOF itself, and a wrapped one is no clean end
			r.err = fmt.Errorf("read line %d: %w", r.number+1, err)
			break
		}
		if err != nil {
			r.err = io.EOF
		}
		r.number++
		line := Line{trim(raw), r.number}
		if size > int64(len(raw)) || len(line.Bytes) > r.limit {
			return line, &LineTooLongError{r.number, size, r.limit}
		}
		if len(line.Bytes) > 0 {
			return line, nil
		}
	}
	return Line{}, r.err
}

// start looks at the first bytes for a byte order mark and for encodings that are not UTF-8.
func (r *Reader) start() {
	r.started = true
	head, _ := r.src.Peek(4) // a short or failed read comes again with the first line
	if name := encodingOf(head); name != "" && r.isForeign() {
		r.err = &EncodingError{name}
		return
	}
	if len(head) >= len(bom) && string(head[:len(bom)]) == bom {
		r.bom = true
		_, r.err = r.src.Discard(len(bom))
	}
}

// isForeign looks at as much as the buffer holds, without the line that it cuts.
func (r *Reader) isForeign() bool {
	start, err := r.src.Peek(readerBuffer)
	if end := bytes.LastIndexByte(start, '\n'); err == nil && end >= 0 {
		start = start[:end]
	}
	return isForeign(start)
}

// read returns one line without its line feed, cut at the limit plus two bytes so that "\r" does not count, and its
// full size. The slice is valid until the next call.
func (r *Reader) read() (line []byte, size int64, err error) {
	line, err = r.src.ReadSlice('\n')
	if err == nil {
		line = line[:len(line)-1]
		return line[:min(len(line), r.limit+2)], int64(len(line)), nil
	}
	r.long = r.long[:0]
	for {
		size += int64(len(line))
		room := min(len(line), r.limit+2-len(r.long))
		r.long = append(r.long, line[:room]...)
		if err != bufio.ErrBufferFull { //nolint:errorlint // ReadSlice returns the sentinel itself
			break
		}
		line, err = r.src.ReadSlice('\n')
	}
	if err == nil {
		size--
		if int64(len(r.long)) > size {
			r.long = r.long[:size]
		}
	}
	return r.long, size, err //nolint:wrapcheck // Next wraps it, and has to see io.EOF
}
