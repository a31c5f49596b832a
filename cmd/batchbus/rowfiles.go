package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/batchbus/batchbus/internal/app"
	"github.com/batchbus/batchbus/internal/rowfile"
	"github.com/batchbus/batchbus/pkg/rows"
)

// rowFiles are the files that a command's arguments mean.
type rowFiles struct {
	paths []string
	stdin io.Reader
	spool *rowfile.Spool // what came from standard input, where it is read twice
	ended func() error   // why nothing more is to be read; nil: it goes on
}

// resolveFiles finds them, and says which were left out.
func resolveFiles(ctx context.Context, env app.Env, args []string) (*rowFiles, error) {
	found, err := rowfile.Resolve(args)
	for _, path := range found.LeftOut {
		say(env, "note: %s is left out, as its name is that of answers: name it to take it", path)
	}
	files := &rowFiles{paths: found.Paths, stdin: bytes.NewReader(nil), ended: func() error { return context.Cause(ctx) }}
	if env.Stdin != nil {
		files.stdin = rowfile.Interruptible(ctx, env.Stdin)
	}
	return files, err
}

// keepStdin reads standard input, if it is one of the files, so that it can be read twice. The caller calls close.
func (f *rowFiles) keepStdin(ctx context.Context) (err error) {
	for _, path := range f.paths {
		if path == rowfile.Stdin {
			f.spool, err = rowfile.NewSpool(ctx, f.stdin)
		}
	}
	return err
}

// open opens one of them, to be read until the command is stopped. Standard input can be opened once, unless it was kept.
func (f *rowFiles) open(path string) (*rowfile.File, error) {
	file, err := f.opened(path)
	if err == nil {
		file.Reader = bufio.NewReader(stoppable{file.Reader, f.ended})
	}
	return file, err
}

func (f *rowFiles) opened(path string) (*rowfile.File, error) {
	switch {
	case path != rowfile.Stdin:
		return rowfile.Open(path)
	case f.spool != nil:
		return f.spool.Open()
	}
	return rowfile.Unpack(io.NopCloser(f.stdin))
}

// stoppable reads until there is a reason to stop.
type stoppable struct {
	from  io.Reader
	ended func() error
}

// Read reads on.
func (s stoppable) Read(p []byte) (int, error) {
	if err := s.ended(); err != nil {
		return 0, err
	}
	return s.from.Read(p) //nolint:wrapcheck // readers hand on io.EOF itself
}

func (f *rowFiles) close() {
	if f.spool != nil {
		_ = f.spool.Close() // it has no name any more, or is in a folder for temporary files
	}
}

// each opens one file after the other.
func (f *rowFiles) each(do func(path string, file *rowfile.File) error) error {
	for _, path := range f.paths {
		file, err := f.open(path)
		if err != nil {
			return err
		}
		err = do(path, file)
		_ = file.Close() // it was only read
		if err != nil {
			return hinted(fmt.Errorf("read %s: %w", path, err))
		}
	}
	return nil
}

// hinted says what to do about a file that cannot be read as it is.
func hinted(err error) error {
	if errors.Is(err, rows.ErrEncoding) {
		return fmt.Errorf("%w: batchbus prepare makes UTF-8 of it", err)
	}
	return err
}

// outputFlag is where a command that makes rows of rows writes them.
type outputFlag struct {
	Output string `short:"o" default:"-" placeholder:"OUT" help:"File to write, in the place of what is called so; -: standard output; .gz: compressed. Never one of the files that are read."`
}

// create opens it. hold keeps what goes to standard output back until all is known to be well, as it is for a file.
func (o *outputFlag) create(env app.Env, files *rowFiles, hold bool) (*rowfile.Output, error) {
	if o.Output != rowfile.Stdin {
		out, err := rowfile.Create(o.Output, files.paths)
		return out, flagError("--output", err)
	}
	if hold {
		return rowfile.Held(env.Stdout)
	}
	return rowfile.Stream(env.Stdout), nil
}

// endedWriting is what a command that only reads and writes files returns when it stopped with err. A signal is no fault of its own.
func endedWriting(ctx context.Context, env app.Env, err error) (int, error) {
	if stopped, ok := errors.AsType[*app.SignalError](context.Cause(ctx)); ok && errors.Is(err, stopped) {
		return ended(ctx, env, app.ExitFault, err, "No file was written.")
	}
	return app.ExitFault, err
}
