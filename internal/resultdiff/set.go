package resultdiff

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/batchbus/batchbus/internal/distinct"
)

// Set is a set of results. The caller closes it. It is not safe for concurrent use.
type Set struct {
	ids   *distinct.Finder
	files []io.ReaderAt
	Rows  int // Rows have a custom_id.
	NoID  int // NoID are lines without one, or that are no JSON objects.
}

// NewSet returns an empty set that holds as many rows in memory as buffer says.
func NewSet(buffer int) *Set { return &Set{ids: distinct.New(buffer)} }

// Add reads a file to its end; it must stay readable as long as the set is compared.
func (s *Set) Add(ctx context.Context, file io.ReaderAt) error {
	in := bufio.NewReaderSize(io.NewSectionReader(file, 0, 1<<62), 1<<20)
	at := distinct.Place{File: len(s.files)}
	s.files = append(s.files, file)
	for {
		text, err := in.ReadBytes('\n')
		last := errors.Is(err, io.EOF)
		if err != nil && !last {
			return fmt.Errorf("read results: %w", err)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if len(bytes.TrimSpace(text)) > 0 {
			if err := s.add(text, at); err != nil {
				return err
			}
		}
		if last {
			return nil
		}
		at.Line += len(text)
	}
}

func (s *Set) add(text []byte, at distinct.Place) error {
	result, err := Read(text)
	if err != nil {
		s.NoID++
		return nil //nolint:nilerr // it is counted
	}
	s.Rows++
	return s.ids.Add(result.CustomID, at)
}

// result reads the line at a place, whose Line is an offset in bytes.
func (s *Set) result(at distinct.Place) (Result, error) {
	in := bufio.NewReader(io.NewSectionReader(s.files[at.File], int64(at.Line), 1<<62))
	text, err := in.ReadBytes('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return Result{}, fmt.Errorf("read results: %w", err)
	}
	return Read(text)
}

// Close frees what the set takes, and closes no file.
func (s *Set) Close() error { return s.ids.Close() }
