package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/batchbus/batchbus/internal/app"
	"github.com/batchbus/batchbus/internal/distinct"
	"github.com/batchbus/batchbus/internal/rowfile"
	"github.com/batchbus/batchbus/internal/rowsets"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/rows"
)

type mergeCommand struct {
	Files []string `arg:"" name:"file" help:"JSONL files of rows, folders of them, patterns, or - for standard input. Their order is that of the rows."`
	outputFlag
	OnDuplicate string `default:"fail" placeholder:"WHAT" help:"What to do about a custom_id that comes again: fail, which names the places and writes nothing, or first, which leaves out the later ones."`
}

// Help is shown below the flags. A test runs what is indented.
func (m *mergeCommand) Help() string {
	return `Rows keep their bytes. Bad rows are copied as they are: batchbus validate names them.

    batchbus merge rows.jsonl more.jsonl -o all.jsonl
    batchbus merge rows.jsonl rows.jsonl --on-duplicate first -o once.jsonl`
}

// run reads the files twice: for the ids, and to copy.
func (m *mergeCommand) run(ctx context.Context, env app.Env) (int, error) {
	if m.OnDuplicate != "fail" && m.OnDuplicate != "first" {
		return app.ExitFault, fmt.Errorf("--on-duplicate: %q is neither fail nor first", m.OnDuplicate)
	}
	found, err := rowfile.Resolve(m.Files)
	if err != nil {
		return app.ExitFault, err
	}
	ids := distinct.New(distinct.DefaultBuffer)
	defer func() { _ = ids.Close() }() // it is a temporary file
	later, left := rowsets.Later{}, 0
	policy := events.DefaultPolicy()
	parser, rules := rows.Parser{}, rulesOf(&policy)
	written := 0
	err = m.copyTwice(ctx, env, m.Files, func(file int, line rows.Line) error {
		row, fault := parser.Parse(line.Bytes, rules)
		id, known := row.CustomID, fault == nil
		if !known {
			id, known = fault.CustomID, fault.HasCustomID
		}
		if !known {
			return nil
		}
		return ids.Add(id, distinct.Place{File: file, Line: line.Number})
	}, func() (err error) {
		left, err = m.doubled(ids, &later, found.Paths)
		return err
	}, func(file int, line rows.Line) bool {
		takes := !later.Has(distinct.Place{File: file, Line: line.Number})
		if takes {
			written++
		}
		return takes
	})
	if err != nil {
		return endedWriting(ctx, env, err)
	}
	say(env, "%d rows of %d file(s); %d with a custom_id that came before were left out", written, len(found.Paths), left)
	return app.ExitOK, nil
}

// doubled notes the rows whose id came before, or refuses them.
func (m *mergeCommand) doubled(ids *distinct.Finder, later *rowsets.Later, paths []string) (n int, err error) {
	var shown []string
	for pair, err := range ids.Doubled() {
		if err != nil {
			return n, err
		}
		n++
		if m.OnDuplicate == "first" {
			later.Add(pair.Again)
		} else if len(shown) < shownDoubled {
			shown = append(shown, fmt.Sprintf("%s:%d (first at %s:%d)", paths[pair.Again.File], pair.Again.Line, paths[pair.First.File], pair.First.Line))
		}
	}
	if n > 0 && m.OnDuplicate == "fail" {
		return n, fmt.Errorf("%d row(s) have a custom_id that came before, and nothing was written: %s; --on-duplicate first leaves them out", n, strings.Join(shown, ", "))
	}
	return n, nil
}
