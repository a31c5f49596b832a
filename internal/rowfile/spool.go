package rowfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
)

// Spool is what came from a pipe, to be read as often as it takes. It has no name while it lives, where the system allows that, so that nothing
// is left behind by a process that is killed.
type Spool struct{ file *os.File }

// NewSpool reads r to its end into a file of the system's folder for temporary files (TMPDIR), which must have room for it. The caller closes it.
func NewSpool(ctx context.Context, r io.Reader) (*Spool, error) {
	file, err := os.CreateTemp("", "batchbus-stdin-*") // 0600
	if err != nil {
		return nil, fmt.Errorf("keep standard input: %w", err)
	}
	spool := &Spool{file}
	_ = os.Remove(file.Name()) // where an open file cannot be removed, Close does it
	if _, err := io.Copy(file, Interruptible(ctx, r)); err != nil {
		return nil, errors.Join(fmt.Errorf("keep standard input: %w", err), spool.Close())
	}
	return spool, nil
}

// ReadAt reads what was kept, as it came.
func (s *Spool) ReadAt(p []byte, at int64) (int, error) { return s.file.ReadAt(p, at) } //nolint:wrapcheck // readers hand on io.EOF itself

// Open returns the whole of it, unpacked if it is compressed by gzip. It may be called many times, and the readers used side by side.
func (s *Spool) Open() (*File, error) {
	file, err := Unpack(io.NopCloser(io.NewSectionReader(s.file, 0, math.MaxInt64)))
	if err != nil {
		return nil, fmt.Errorf("open standard input: %w", err)
	}
	return file, nil
}

// Close forgets it.
func (s *Spool) Close() error {
	err := s.file.Close()
	if gone := os.Remove(s.file.Name()); !errors.Is(gone, os.ErrNotExist) {
		err = errors.Join(err, gone)
	}
	if err != nil {
		return fmt.Errorf("remove kept standard input: %w", err)
	}
	return nil
}

// Interruptible reads r until ctx ends, also while r blocks: then a read of r is left behind, as is right for a process that ends. Its error is
// then ctx's cause.
func Interruptible(ctx context.Context, r io.Reader) io.Reader {
	return &interruptible{ctx: ctx, from: r, done: make(chan int)}
}

type interruptible struct {
	ctx  context.Context //nolint:containedctx // a reader lives as long as one command's call
	from io.Reader
	done chan int
	held []byte // held is what was read and is not handed out yet.
	text []byte
	err  error
}

// Read blocks until there is something, or ctx ends.
func (i *interruptible) Read(p []byte) (int, error) {
	if len(i.held) == 0 && i.err == nil {
		if i.ctx.Err() != nil {
			return 0, context.Cause(i.ctx)
		}
		if i.text == nil {
			i.text = make([]byte, 1<<18)
		}
		var err error
		go func() {
			var n int
			n, err = i.from.Read(i.text)
			select {
			case i.done <- n:
			case <-i.ctx.Done():
			}
		}()
		select {
		case n := <-i.done:
			i.held, i.err = i.text[:n], err
		case <-i.ctx.Done():
			return 0, context.Cause(i.ctx)
		}
	}
	n := copy(p, i.held)
	if i.held = i.held[n:]; n == 0 {
		return 0, i.err
	}
	return n, nil
}
