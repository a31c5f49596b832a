package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/batchbus/batchbus/internal/app"
	"github.com/batchbus/batchbus/internal/refused"
	"github.com/batchbus/batchbus/pkg/events"
)

// deadlettersCommand gathers what is about refused rows: dead letters, and rejected results.
type deadlettersCommand struct {
	List    deadlettersListCommand    `cmd:"" help:"List what was refused: dead letters, and rows whose result is rejected."`
	Show    deadlettersShowCommand    `cmd:"" help:"Show one refused row: why, where it stood, and its bytes."`
	Requeue deadlettersRequeueCommand `cmd:"" help:"Publish refused rows of a job, corrected or as they were, to a new job that names it."`
	Purge   deadlettersPurgeCommand   `cmd:"" help:"Delete dead letters."`
}

// refusedFlags choose among refused rows.
type refusedFlags struct {
	Kind     string   `enum:",deadletter,rejected" default:"" help:"Only of this kind: deadletter or rejected. Default: both."`
	Code     []string `placeholder:"CODE" help:"Only with one of these codes, comma separated."`
	CustomID []string `name:"custom-id" sep:"none" placeholder:"ID" help:"Only rows with this custom_id. May be repeated."`
	Source   []string `placeholder:"SOURCE" help:"Only what came from these sources, comma separated: 32 hexadecimal characters, as list shows them."`
	Since    string   `placeholder:"TIME" help:"Only what was refused at this time or later: 2026-11-30, 2026-11-30T02:00:00Z, or 2h for two hours ago."`
	Until    string   `placeholder:"TIME" help:"Only what was refused before this time."`
	Limit    int      `placeholder:"N" help:"The first N of them. Default: all."`
}

// filter is what the flags say, without queue and jobs.
func (f *refusedFlags) filter() (refused.Filter, error) {
	out := refused.Filter{Kind: refused.Kind(f.Kind), Codes: f.Code, CustomIDs: f.CustomID, Sources: f.Source, Limit: f.Limit}
	var since, until error
	now := time.Now()
	out.Since, since = readTime(f.Since, now)
	out.Until, until = readTime(f.Until, now)
	faults := []error{flagError("--since", since), flagError("--until", until)}
	if f.Limit < 0 {
		faults = append(faults, fmt.Errorf("--limit: %d is negative", f.Limit))
	}
	for _, source := range f.Source {
		if !refused.IsSource(source) {
			faults = append(faults, fmt.Errorf("--source: %.40q is not 32 hexadecimal characters", source))
		}
	}
	return out, errors.Join(faults...)
}

// readTime reads a day, a time, or how long ago it was. Nothing is the zero time.
func readTime(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	if at, err := time.ParseInLocation(time.DateOnly, text, time.Local); err == nil {
		return at, nil
	}
	return time.Time{}, fmt.Errorf("%q is no day (2026-11-30), no time (2026-11-30T02:00:00Z) and no duration (2h)", text)
}

// manyJobs choose the jobs.
type manyJobs struct {
	Queue string   `help:"Only of this queue. Default: all."`
	Job   []string `placeholder:"JOB" help:"Only of these jobs, comma separated. Default: all."`
}

// narrow is both groups of flags together.
func (f *manyJobs) narrow(flags *refusedFlags) (refused.Filter, error) {
	out, err := flags.filter()
	out.Queue, out.Jobs = f.Queue, f.Job
	faults := []error{err}
	if f.Queue != "" {
		faults = append(faults, flagError("--queue", events.CheckName(f.Queue)))
	}
	for _, job := range f.Job {
		faults = append(faults, flagError("--job", events.CheckName(job)))
	}
	return out, errors.Join(faults...)
}

func reading(bus *app.Bus) *refused.Reader { return &refused.Reader{Bus: bus.Store, Jobs: bus.Jobs} }
