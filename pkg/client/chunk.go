package client

import (
	"bytes"
	"errors"
	"io"

	"github.com/batchbus/batchbus/pkg/rows"
)

// ChunkBytes is how much of a file goes into one message, give or take a line: big enough that the bus is not paid per row, small enough
// that a redelivery is cheap and the default max_payload of a NATS server, 1 MiB, fits.
const ChunkBytes = 256 << 10

// maxGap bounds how many blank lines a chunk reproduces to keep its lines' numbers right; behind more, a new chunk begins.
const maxGap = 64

// mark is a byte order mark.
const mark = "\ufeff"

// chunk is the payload of one message: lines of the file, each at the number that first and its position give it.
type chunk struct {
	first int // number of the first line
	lines int // physical lines, blank ones included
	rows  int
	data  []byte
}

// chunker cuts a file into chunks. The cuts depend on the file's bytes alone.
type chunker struct {
	reader *rows.Reader
	held   rows.Line // read, but of the next chunk
	done   bool
}

// next returns the next chunk, io.EOF after the last. A line longer than the reader's limit is an error.
func (c *chunker) next() (*chunk, error) {
	chunk := &chunk{}
	for !c.done {
		line, err := c.line()
		if errors.Is(err, io.EOF) {
			c.done = true
			break
		}
		if err != nil {
			return nil, err
		}
		if !chunk.take(line) {
			c.hold(line)
			break
		}
	}
	if chunk.rows == 0 {
		return nil, io.EOF
	}
	return chunk, nil
}

func (c *chunker) line() (rows.Line, error) {
	if held := c.held; held.Bytes != nil {
		c.held = rows.Line{}
		return held, nil
	}
	return c.reader.Next()
}

// hold copies, since the reader's bytes live until its next call only.
func (c *chunker) hold(line rows.Line) {
	c.held = rows.Line{Bytes: append([]byte(nil), line.Bytes...), Number: line.Number}
}

// take puts line into the chunk, or tells that it belongs to the next.
func (c *chunk) take(line rows.Line) bool {
	if c.rows == 0 {
		c.first = line.Number
		if line.Number == 1 && bytes.HasPrefix(line.Bytes, []byte(mark)) {
			c.data = append(c.data, mark...) // the reader has left one mark out, and so does ingest: the second stays in its row
		}
	}
	gap := line.Number - c.first - c.lines
	if c.rows > 0 && (len(c.data)+gap+len(line.Bytes) >= ChunkBytes || gap > maxGap) {
		return false
	}
	for range gap {
		c.data = append(c.data, '\n')
	}
	c.data = append(append(c.data, line.Bytes...), '\n')
	c.lines += gap + 1 + bytes.Count(line.Bytes, []byte{'\n'}) // an object over several lines comes as one
	c.rows++
	return true
}
