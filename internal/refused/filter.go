package refused

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/batchbus/batchbus/pkg/events"
)

// Filter says which entries are meant. What is left empty does not narrow.
type Filter struct {
	Queue     string
	Jobs      []string // in these jobs, read one after the other
	Kind      Kind
	Codes     []string
	NotCodes  []string // but none of these
	CustomIDs []string
	Sources   []string
	Since     time.Time // refused at this time or later
	Until     time.Time // refused before it
	Limit     int       // the first so many
}

// Everything reports whether f takes each dead letter of the jobs or queues that it names.
func (f *Filter) Everything() bool {
	return f.Kind != Rejected && len(f.Codes)+len(f.NotCodes)+len(f.CustomIDs)+len(f.Sources) == 0 && f.Since.IsZero() && f.Until.IsZero() && f.Limit == 0
}

// takes reports whether e is meant.
func (f *Filter) takes(e *Entry) bool {
	among := func(list []string, value string) bool { return len(list) == 0 || slices.Contains(list, value) }
	return among(f.Codes, e.Code) && !slices.Contains(f.NotCodes, e.Code) && among(f.CustomIDs, e.CustomID) && among(f.Sources, e.Source) &&
		(f.Since.IsZero() || !e.At.Before(f.Since)) && (f.Until.IsZero() || e.At.Before(f.Until))
}

// mayTake is takes for what the header of a dead letter says alone.
func (f *Filter) mayTake(code string) bool {
	return (len(f.Codes) == 0 || slices.Contains(f.Codes, code)) && !slices.Contains(f.NotCodes, code)
}

// letterFilters are the subjects that hold the dead letters of f.
func (f *Filter) letterFilters() []string {
	source := "*"
	if len(f.Sources) == 1 {
		source = f.Sources[0]
	}
	subjects := make([]string, 0, len(f.Jobs)+1)
	for _, job := range f.jobs() {
		subjects = append(subjects, events.DeadletterSubject(f.queue(), job, source))
	}
	return subjects
}

// resultFilters are the subjects that hold the results of f in a queue and job, which may be "*".
func (f *Filter) resultFilters(queue, job string) []string {
	if len(f.CustomIDs) == 0 {
		return []string{events.ResultsFilter(queue, job)}
	}
	subjects := make([]string, len(f.CustomIDs))
	for i, id := range f.CustomIDs {
		subjects[i] = events.ResultSubject(queue, job, id)
	}
	return subjects
}

func (f *Filter) queue() string { return cmp.Or(f.Queue, "*") }

func (f *Filter) jobs() []string {
	if len(f.Jobs) == 0 {
		return []string{"*"}
	}
	return f.Jobs
}

// splitLetter takes a dead letter's subject apart.
func splitLetter(subject string) (queue, job, source string, ok bool) {
	return split(subject, events.PrefixDeadletters)
}

// splitResult takes a result's subject apart.
func splitResult(subject string) (queue, job, row string, ok bool) {
	return split(subject, events.PrefixResults)
}

func split(subject, prefix string) (queue, job, last string, ok bool) {
	rest, ok := strings.CutPrefix(subject, prefix)
	parts := strings.Split(rest, ".")
	if !ok || len(parts) != 3 || !events.IsToken(parts[0]) || !events.IsToken(parts[1]) {
		return "", "", "", false
	}
	return parts[0], parts[1], parts[2], true
}
