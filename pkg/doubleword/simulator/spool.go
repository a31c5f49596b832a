package simulator

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// rowIndex finds the stored rows of one file: eight bytes a row in memory, the rows themselves on disk.
type rowIndex struct {
	root *os.Root // the directory of all spools: no name can lead out of it
	name string
	ends []int64 // where each row's line ends, LF included
}

// openIndex indexes a spool that an earlier process wrote.
func openIndex(root *os.Root, name string) (*rowIndex, error) {
	f, err := root.Open(name)
	if err != nil {
		return nil, fmt.Errorf("open rows: %w", err)
	}
	defer func() { _ = f.Close() }() // only read
	index, lines, at := &rowIndex{root: root, name: name}, bufio.NewReaderSize(f, 1<<16), int64(0)
	for {
		part, err := lines.ReadSlice('\n')
		at += int64(len(part))
		switch {
		case err == nil:
			index.ends = append(index.ends, at)
		case errors.Is(err, io.EOF):
			return index, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, fmt.Errorf("index rows: %w", err)
		}
	}
}

func (x *rowIndex) span(row uint32) (start, end int64) {
	if row > 0 {
		start = x.ends[row-1]
	}
	return start, x.ends[row]
}

// rowSource reads stored rows one at a time into one buffer.
type rowSource struct {
	index *rowIndex
	file  *os.File
	buf   []byte
	start int64 // what buf holds
}

// readAhead suits rows that are read in nearly input order.
const readAhead = 64 << 10

func (x *rowIndex) open() (*rowSource, error) {
	f, err := x.root.Open(x.name)
	if err != nil {
		return nil, fmt.Errorf("open rows: %w", err)
	}
	return &rowSource{index: x, file: f}, nil
}

// line returns the row's stored line without its LF, valid until the next call.
func (r *rowSource) line(row uint32) ([]byte, error) {
	start, end := r.index.span(row)
	if start < r.start || end > r.start+int64(len(r.buf)) {
		if err := r.fill(start, end); err != nil {
			return nil, err
		}
	}
	return r.buf[start-r.start : end-r.start-1], nil
}

// fill reads from a little before the row, because neighbours run in mixed order.
func (r *rowSource) fill(start, end int64) error {
	from := max(0, start-readAhead/4)
	size := int(max(end-from, readAhead))
	if cap(r.buf) < size {
		r.buf = make([]byte, size)
	}
	n, err := r.file.ReadAt(r.buf[:size], from)
	r.buf, r.start = r.buf[:n], from
	if int64(n) < end-from {
		return fmt.Errorf("read row: %w", errors.Join(err, io.ErrUnexpectedEOF))
	}
	return nil
}

// close gives the file back; it was only read.
func (r *rowSource) close() { _ = r.file.Close() }

// spoolWriter writes the rows of an upload. Until keep, the file is a leftover that recovery sweeps.
type spoolWriter struct {
	file  *os.File
	buf   *bufio.Writer
	index rowIndex
	size  int64
}

func createSpool(dir string) (*spoolWriter, error) {
	f, err := os.CreateTemp(dir, "upload-*")
	if err != nil {
		return nil, fmt.Errorf("create spool: %w", err)
	}
	return &spoolWriter{file: f, buf: bufio.NewWriterSize(f, 1<<16)}, nil
}

func (w *spoolWriter) add(line []byte) error {
	w.size += int64(len(line))
	w.index.ends = append(w.index.ends, w.size)
	if _, err := w.buf.Write(line); err != nil {
		return fmt.Errorf("write row: %w", err)
	}
	return nil
}

// keep names the spool for good.
func (w *spoolWriter) keep(root *os.Root, name string) (*rowIndex, error) {
	err := errors.Join(w.buf.Flush(), w.file.Close())
	if err == nil {
		err = root.Rename(filepath.Base(w.file.Name()), name)
	}
	if err != nil {
		return nil, fmt.Errorf("keep spool: %w", err)
	}
	w.index.root, w.index.name = root, name
	return &w.index, nil
}

// discard removes the spool of a refused upload.
func (w *spoolWriter) discard() {
	_ = w.file.Close()
	_ = os.Remove(w.file.Name())
}

func spoolName(fileID string) string { return fileID + ".jsonl" }
