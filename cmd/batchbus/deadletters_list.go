package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/batchbus/batchbus/internal/app"
	"github.com/batchbus/batchbus/internal/refused"
)

type deadlettersListCommand struct {
	manyJobs
	refusedFlags
	Count   bool `help:"Count by kind and code instead."`
	Payload bool `help:"Print the refused rows themselves, one a line, to be corrected in an editor; with --json, as a field. They can be private."`
	JSON    bool `name:"json" help:"Print one JSON object a line."`

	busFlags
}

// run lists what was refused.
func (l *deadlettersListCommand) run(ctx context.Context, env app.Env) (int, error) {
	filter, err := l.narrow(&l.refusedFlags)
	if l.Count && l.Payload {
		err = errors.Join(err, errors.New("--count and --payload exclude each other"))
	}
	if err != nil {
		return app.ExitFault, err
	}
	return l.look(ctx, env, func(ctx context.Context, bus *app.Bus) (int, error) {
		entries := reading(bus).Entries(ctx, filter)
		if l.Payload {
			entries = reading(bus).WithPayloads(ctx, filter)
		}
		out := bufio.NewWriterSize(env.Stdout, 1<<16)
		err := l.print(env, out, entries)
		if flushed := out.Flush(); err == nil && flushed != nil {
			err = fmt.Errorf("print refused rows: %w", flushed)
		}
		return app.ExitOK, err
	})
}

func (l *deadlettersListCommand) print(env app.Env, out io.Writer, entries iter.Seq2[refused.Entry, error]) error {
	switch {
	case l.Count:
		return countRefused(out, entries, l.JSON)
	case l.JSON:
		return eachRefused(entries, func(e *refused.Entry) error { return writeAll(out, e.AppendJSON(nil, l.Payload), "\n") })
	case l.Payload:
		return eachRefused(entries, func(e *refused.Entry) error {
			if e.Lost != "" {
				say(env, "%s: no payload: %s", cmp.Or(e.Entry, e.Source), e.Lost)
				return nil
			}
			return writeAll(out, e.Payload, "\n")
		})
	}
	return refusedTable(out, entries)
}

func eachRefused(entries iter.Seq2[refused.Entry, error], do func(*refused.Entry) error) error {
	for e, err := range entries {
		if err == nil {
			err = do(&e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func writeAll(out io.Writer, data []byte, end string) error {
	_, err := out.Write(append(slices.Clip(data), end...))
	if err != nil {
		return fmt.Errorf("print refused rows: %w", err)
	}
	return nil
}

// tablePart is how many lines share the widths of their columns: a list of any length is printed as it is read.
const tablePart = 200

func refusedTable(out io.Writer, entries iter.Seq2[refused.Entry, error]) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "REFUSED\tKIND\tCODE\tQUEUE\tJOB\tLINE\tCUSTOM_ID\tSOURCE\tMESSAGE")
	n := 0
	err := eachRefused(entries, func(e *refused.Entry) error {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", e.At.Local().Format(time.DateTime), e.Kind, printable(e.Code), printable(e.Queue), printable(e.Job),
			lineAndColumn(e), quotedID(e.CustomID), printable(e.Source), printable(e.Message))
		if n++; n%tablePart == 0 {
			return w.Flush()
		}
		return nil
	})
	if err = cmp.Or(err, w.Flush()); err != nil {
		return fmt.Errorf("print refused rows: %w", err)
	}
	return nil
}

func lineAndColumn(e *refused.Entry) string {
	switch {
	case e.Line == 0:
		return "-"
	case e.Column == 0:
		return strconv.Itoa(e.Line)
	}
	return fmt.Sprintf("%d:%d", e.Line, e.Column)
}

// quotedID keeps an id of any kind on its line.
func quotedID(id string) string {
	if id == "" {
		return "-"
	}
	if plain := strings.Trim(fmt.Sprintf("%q", id), `"`); plain != id || strings.ContainsAny(id, " \t") {
		return fmt.Sprintf("%q", id)
	}
	return id
}

// refusedCount is how often something was refused for one reason.
type refusedCount struct {
	Kind  refused.Kind `json:"kind"`
	Code  string       `json:"code"`
	Count int          `json:"count"`
}

func countRefused(out io.Writer, entries iter.Seq2[refused.Entry, error], asJSON bool) error {
	counts := make(map[refusedCount]int)
	err := eachRefused(entries, func(e *refused.Entry) error {
		counts[refusedCount{Kind: e.Kind, Code: e.Code}]++
		return nil
	})
	if err != nil {
		return err
	}
	all := slices.SortedFunc(maps.Keys(counts), func(a, b refusedCount) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Code, b.Code))
	})
	for _, c := range all {
		c.Count = counts[c]
		line := fmt.Appendf(nil, "%s %s: %d", c.Kind, c.Code, c.Count)
		if asJSON {
			if line, err = json.Marshal(c); err != nil {
				return fmt.Errorf("print counts: %w", err)
			}
		}
		if err := writeAll(out, line, "\n"); err != nil {
			return err
		}
	}
	return nil
}
