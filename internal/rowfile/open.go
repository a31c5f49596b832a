package rowfile

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
)

// ErrNotRegular is returned when a path is that of a pipe or a device, whose opening may never end.
var ErrNotRegular = errors.New("it is a pipe or a device: hand it over as standard input (-), or save it to a file first")

// File is an open file of rows, unpacked.
type File struct {
	*bufio.Reader
	Packed bool // Packed says that it was compressed by gzip.
	closer io.Closer
}

// Close closes the file.
func (f *File) Close() error { return f.closer.Close() } //nolint:wrapcheck // as the file has it

// Open opens a file of rows, which must be a regular one. The caller closes it.
func Open(path string) (*File, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, fmt.Errorf("open rows: %w", err)
	case info.IsDir():
		return nil, fmt.Errorf("open rows %s: it is a directory: name the files in it", path)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("open rows %s: %w", path, ErrNotRegular)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open rows: %w", err)
	}
	opened, err := Unpack(file)
	if err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("open rows %s: %w", path, err)
	}
	return opened, nil
}

// readBuffer is the size of reads: few calls, and nothing beside a row of 64 MiB.
const readBuffer = 1 << 20

// Unpack is [Open] for what is open already. It reads r's first bytes, and blocks as r does; other errors of reading come later. Closing the file
// closes r.
func Unpack(r io.ReadCloser) (*File, error) {
	in := bufio.NewReaderSize(r, readBuffer)
	if head, _ := in.Peek(2); len(head) < 2 || head[0] != 0x1f || head[1] != 0x8b {
		return &File{Reader: in, closer: r}, nil
	}
	unpacked, err := gzip.NewReader(in)
	if err != nil {
		return nil, fmt.Errorf("unpack gzip: %w", err)
	}
	return &File{Reader: bufio.NewReaderSize(unpacked, readBuffer), Packed: true, closer: r}, nil
}
