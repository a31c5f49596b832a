package main

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/batchbus/batchbus/internal/app"
	"github.com/batchbus/batchbus/internal/rowfile"
	"github.com/batchbus/batchbus/internal/rowsets"
	"github.com/batchbus/batchbus/pkg/rows"
)

type sampleCommand struct {
	Files []string `arg:"" name:"file" help:"JSONL files of rows, folders of them, patterns, or - for standard input."`
	outputFlag
	N    int     `short:"n" name:"rows" required:"" placeholder:"N" help:"How many rows to take. All, when there are fewer."`
	Seed *uint64 `placeholder:"S" help:"Number that the choice depends on: the same seed takes the same of the same rows. Default: another each time, and said."`
}

// Help is shown below the flags. A test runs what is indented.
func (s *sampleCommand) Help() string {
	return `Each row, good or bad, has the same chance. They keep their order and their bytes.

    batchbus sample rows.jsonl -n 3 --seed 7 -o few.jsonl`
}

// run reads the files twice: to choose, and to copy.
func (s *sampleCommand) run(ctx context.Context, env app.Env) (int, error) {
	if s.N < 1 {
		return app.ExitFault, fmt.Errorf("--rows: %d is not positive", s.N)
	}
	seed := rand.Uint64() //nolint:gosec // a sample is no secret
	if s.Seed != nil {
		seed = *s.Seed
	}
	sample := rowsets.NewSample(s.N, seed)
	seen, taken := 0, 0
	err := s.copyTwice(ctx, env, s.Files, func(_ int, _ rows.Line) error { sample.Count(); return nil }, func() error {
		if seen = sample.Begin(); seen == 0 {
			return fmt.Errorf("%s: no rows: the input is empty", s.Files[0])
		}
		return nil
	}, func(_ int, _ rows.Line) bool {
		takes := sample.Takes()
		if takes {
			taken++
		}
		return takes
	})
	if err != nil {
		return endedWriting(ctx, env, err)
	}
	say(env, "%d of %d rows, --seed %d", taken, seen, seed)
	return app.ExitOK, nil
}

// copyTwice reads files twice: each row is looked at, then between is called, and then those rows are written that takes wants.
func (o *outputFlag) copyTwice(
	ctx context.Context, env app.Env, args []string, look func(file int, line rows.Line) error, between func() error, takes func(file int, line rows.Line) bool,
) error {
	files, err := resolveFiles(ctx, env, args)
	if err != nil {
		return err
	}
	if err := files.keepStdin(ctx); err != nil {
		return err
	}
	defer files.close()
	first, err := files.eachRow(ctx, look)
	if err == nil {
		err = between()
	}
	if err != nil {
		return err
	}
	out, err := o.create(env, files, false)
	if err != nil {
		return err
	}
	defer out.Discard()
	second, err := files.eachRow(ctx, func(file int, line rows.Line) error {
		if !takes(file, line) {
			return nil
		}
		return writeRow(out, line.Bytes)
	})
	if err == nil && first != second {
		err = fmt.Errorf("the files held %d rows when they were looked at and %d when they were copied", first, second)
	}
	if err != nil {
		return err
	}
	return out.Commit()
}

// writeRow writes a row and its line feed.
func writeRow(out *rowfile.Output, line []byte) error {
	_, err := out.Write(line)
	if err == nil {
		err = out.WriteByte('\n')
	}
	if err != nil {
		return fmt.Errorf("write rows: %w", err)
	}
	return nil
}

// eachRow reads the rows of all files, good or bad, and returns how many there were.
func (f *rowFiles) eachRow(ctx context.Context, do func(file int, line rows.Line) error) (n int, err error) {
	at := 0
	err = f.each(func(_ string, file *rowfile.File) error {
		err := rowsets.Each(ctx, file, func(line rows.Line) error {
			n++
			return do(at, line)
		})
		at++
		return err
	})
	return n, err
}
