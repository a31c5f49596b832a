package rowfile

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// ErrIsInput is returned when a file to be written is one of those that are read.
var ErrIsInput = errors.New("it is one of the files that are read: choose another name")

// Output is a new file, or a stream, on its way. It is not safe for concurrent use.
type Output struct {
	*bufio.Writer
	// ends do what is left to be done, in their order, and forget undoes all.
	ends   []func() error
	forget func()
	done   bool
}

const writeBuffer = 1 << 18

// Create begins a file at path, beside it under another name until [Output.Commit]; a path that ends in .gz is compressed. What is there stays
// until then. The error is [ErrIsInput] when path is one of inputs.
func Create(path string, inputs []string) (*Output, error) {
	if isOneOf(path, inputs) {
		return nil, fmt.Errorf("write %s: %w", path, ErrIsInput)
	}
	dir, name := filepath.Split(path)
	file, err := os.CreateTemp(filepath.Clean(dir), "."+name+".*") // 0600
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", path, err)
	}
	out := &Output{forget: func() { _, _ = file.Close(), os.Remove(file.Name()) }}
	var to io.Writer = file
	if strings.HasSuffix(name, ".gz") {
		pack := gzip.NewWriter(file)
		to, out.ends = pack, append(out.ends, pack.Close)
	}
	out.Writer = bufio.NewWriterSize(to, writeBuffer)
	out.ends = append(out.ends, file.Sync, file.Close, func() error { return os.Rename(file.Name(), path) })
	return out, nil
}

// Stream writes to w as it comes.
func Stream(w io.Writer) *Output {
	return &Output{Writer: bufio.NewWriterSize(w, writeBuffer), forget: func() {}}
}

// Held writes to w at [Output.Commit] and not before; until then it is in a file of the system's folder for temporary files (TMPDIR).
func Held(w io.Writer) (*Output, error) {
	file, err := os.CreateTemp("", "batchbus-rows-*") // 0600
	if err != nil {
		return nil, fmt.Errorf("hold rows back: %w", err)
	}
	out := &Output{Writer: bufio.NewWriterSize(file, writeBuffer), forget: func() { _, _ = file.Close(), os.Remove(file.Name()) }}
	out.ends = []func() error{func() error {
		defer out.forget()
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return err //nolint:wrapcheck // Commit wraps it
		}
		_, err := io.Copy(w, file)
		return err //nolint:wrapcheck // as above
	}}
	return out, nil
}

// Commit writes what is left; a file then takes its name, in the place of what was called so. After an error no file has changed.
func (o *Output) Commit() error {
	err := o.Flush()
	for _, end := range o.ends {
		if err == nil {
			err = end()
		}
	}
	if err != nil {
		o.Discard()
		return fmt.Errorf("write rows: %w", err)
	}
	o.done = true
	return nil
}

// Finish ends the writing of a new file and frees what it takes, but for its name, which comes with [Output.Commit].
func (o *Output) Finish() error {
	err := o.Flush()
	last := len(o.ends) - 1
	for _, end := range o.ends[:max(last, 0)] {
		if err == nil {
			err = end()
		}
	}
	if err != nil {
		return fmt.Errorf("write rows: %w", err)
	}
	o.ends = o.ends[max(last, 0):]
	o.Writer = bufio.NewWriterSize(io.Discard, 1)
	return nil
}

// Discard forgets what was written and is not out yet. It does nothing after [Output.Commit].
func (o *Output) Discard() {
	if !o.done {
		o.done = true
		o.forget()
	}
}

// isOneOf reports whether path is, by any name, one of the files.
func isOneOf(path string, files []string) bool {
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	for _, other := range files {
		if has, err := os.Stat(other); err == nil && os.SameFile(info, has) {
			return true
		}
	}
	return false
}
