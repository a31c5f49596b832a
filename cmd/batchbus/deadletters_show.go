package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/batchbus/batchbus/internal/app"
	"github.com/batchbus/batchbus/internal/refused"
)

type deadlettersShowCommand struct {
	Entry string `arg:"" help:"The refused row: its custom_id, its source, or the subject on which its dead letter or result stands."`
	manyJobs
	Kind    string `enum:",deadletter,rejected" default:"" help:"Only of this kind: deadletter or rejected. Default: both."`
	Payload bool   `help:"Print the payload alone, byte for byte."`
	JSON    bool   `name:"json" help:"Print it as JSON, payload included."`

	busFlags
}

// shownMatches is how many entries are named when a name is not enough.
const shownMatches = 10

// run shows one refused row.
func (s *deadlettersShowCommand) run(ctx context.Context, env app.Env) (int, error) {
	filter, err := s.narrow(&refusedFlags{Kind: s.Kind, Limit: shownMatches + 1})
	if err != nil {
		return app.ExitFault, err
	}
	return s.look(ctx, env, func(ctx context.Context, bus *app.Bus) (int, error) {
		found, err := reading(bus).Find(ctx, s.Entry, filter)
		if err == nil {
			err = s.one(found)
		}
		if err != nil {
			return app.ExitFault, err
		}
		e := &found[0]
		if err := reading(bus).Fetch(ctx, e); err != nil {
			return app.ExitFault, err
		}
		return app.ExitOK, s.print(env, e)
	})
}

// one refuses what names nothing or more than one.
func (s *deadlettersShowCommand) one(found []refused.Entry) error {
	switch {
	case len(found) == 0:
		return fmt.Errorf("nothing that was refused has the custom_id, source or subject %.200q", s.Entry)
	case len(found) == 1:
		return nil
	}
	lines := []error{fmt.Errorf("%.200q names more than one; give the subject of one of them", s.Entry)}
	for i := range found[:min(len(found), shownMatches)] {
		lines = append(lines, fmt.Errorf("  %s  %s", found[i].Entry, found[i].Code))
	}
	if len(found) > shownMatches {
		lines = append(lines, errors.New("  and more"))
	}
	return errors.Join(lines...)
}

func (s *deadlettersShowCommand) print(env app.Env, e *refused.Entry) error {
	switch {
	case s.Payload && e.Lost != "":
		return errors.New("there is no payload: " + e.Lost)
	case s.Payload:
		return writeAll(env.Stdout, e.Payload, "")
	case s.JSON:
		return writeAll(env.Stdout, e.AppendJSON(nil, true), "\n")
	}
	return writeAll(env.Stdout, []byte(strings.Join(entryWords(e), "\n")), "\n")
}

// entryWords is an entry for people.
func entryWords(e *refused.Entry) (lines []string) {
	add := func(format string, args ...any) { lines = append(lines, printable(fmt.Sprintf(format, args...))) }
	add("%s %s: %s", e.Kind, e.Code, e.Message)
	if e.Hint != "" {
		add("what to do: %s", e.Hint)
	}
	add("job %s, queue %s, custom_id %s", e.Job, e.Queue, quotedID(e.CustomID))
	add("refused %s", e.At.Format(time.RFC3339))
	if e.Subject != "" {
		add("came as message %d of BATCHBUS_REQUESTS, on %s, line %s", e.Sequence, e.Subject, lineAndColumn(e))
	} else {
		add("line %s", lineAndColumn(e))
	}
	switch {
	case e.First != nil && e.First.Line == 0:
		add("behind the seal, message %d", e.First.Sequence)
	case e.First != nil:
		add("the first with this custom_id: message %d, line %d", e.First.Sequence, e.First.Line)
	}
	add("stands on %s, source %s", e.Entry, e.Source)
	if e.Lost != "" {
		add("its payload is gone: %s", e.Lost)
	} else {
		add("payload of %d bytes: --payload prints it", len(e.Payload))
	}
	return lines
}
