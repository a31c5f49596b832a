package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/batchbus/batchbus/pkg/client"
	"github.com/batchbus/batchbus/pkg/events"
)

// files are a sink of two files: what succeeded, and all else.
type files struct {
	format           format
	output, failures *outFile
}

func openFiles(dir string, shape format) (*files, error) {
	output, err := openOut(dir, "output.jsonl")
	if err != nil {
		return nil, err
	}
	failures, err := openOut(dir, "errors.jsonl")
	if err != nil {
		return nil, errors.Join(err, output.keep())
	}
	return &files{format: shape, output: output, failures: failures}, nil
}

func (f *files) result(r *client.Result) error {
	to := f.output
	if r.Outcome != events.Succeeded {
		to = f.failures
	}
	return to.write(f.format.result(to.line[:0], r))
}

func (f *files) deadLetter(d *client.DeadLetter) error {
	return f.failures.write(f.format.deadLetter(f.failures.line[:0], d))
}

func (f *files) flush() error { return errors.Join(f.output.flush(), f.failures.flush()) }

// keep leaves the files of a command that was stopped, under their partial names.
func (f *files) keep() error { return errors.Join(f.output.keep(), f.failures.keep()) }

// finish gives the files their names.
func (f *files) finish() error { return errors.Join(f.output.finish(), f.failures.finish()) }

// stream is a sink of one stream of lines.
type stream struct {
	format format
	out    *bufio.Writer
	line   []byte
}

func newStream(w io.Writer, shape format) *stream {
	return &stream{format: shape, out: bufio.NewWriterSize(w, 1<<16)}
}

func (s *stream) result(r *client.Result) error { return s.write(s.format.result(s.line[:0], r)) }

func (s *stream) deadLetter(d *client.DeadLetter) error {
	return s.write(s.format.deadLetter(s.line[:0], d))
}

func (s *stream) write(line []byte) error {
	line = append(line, '\n')
	s.line = line
	if _, err := s.out.Write(s.line); err != nil {
		return fmt.Errorf("print results: %w", err)
	}
	return nil
}

func (s *stream) flush() error {
	if err := s.out.Flush(); err != nil {
		return fmt.Errorf("print results: %w", err)
	}
	return nil
}
