package top

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/batchbus/batchbus/pkg/events"
)

// Config is what [Run] shows.
type Config struct {
	Source Source
	Queue  string // only its jobs; empty: all
	// Interval is the pause between two looks. Default 2 s.
	Interval time.Duration
	// Text makes what others wrote fit to be shown. Required.
	Text func(string) string
	// Note is a line for the top of the screen.
	Note string
	// Now is the clock, for tests; nil: the real one.
	Now func() time.Time
}

// Run shows the view on a terminal until q, ctrl-c or the end of ctx.
func Run(ctx context.Context, c Config, in io.Reader, out io.Writer) error {
	program := tea.NewProgram(New(ctx, c), tea.WithContext(ctx), tea.WithAltScreen(), tea.WithInput(in), tea.WithOutput(out), tea.WithoutSignalHandler())
	_, err := program.Run()
	if err == nil || ctx.Err() != nil && errors.Is(err, tea.ErrProgramKilled) {
		return nil
	}
	return fmt.Errorf("show jobs: %w", err)
}

// mode is what the keys mean.
type mode int

const (
	choosing mode = iota // of jobs
	typing               // the filter
	sure                 // y cancels, anything else does not
	closer               // the batches of one job
)

// Model is the view. It never blocks.
type Model struct {
	config Config
	do     func(f func(ctx context.Context) tea.Msg) tea.Cmd // f with the context of the view
	peek   func(ended bool) tea.Cmd                          // the next look

	mode     mode
	filter   string
	ended    bool // jobs that are over are shown too
	at       int  // line of the chosen job among those that are shown
	chosen   events.JobRef
	last     looked
	rates    map[events.JobRef]rate
	said     string // what became of the last wish, until the next key
	trouble  string // why the last look failed
	height   int
	width    int
	quitting bool
}

// New returns the view with nothing in it yet.
func New(ctx context.Context, c Config) Model {
	if c.Interval <= 0 {
		c.Interval = 2 * time.Second
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return Model{
		config: c, height: 24, width: 100, rates: make(map[events.JobRef]rate),
		peek: func(ended bool) tea.Cmd { return look(ctx, c.Source, c.Queue, ended, c.Now) },
		do: func(f func(ctx context.Context) tea.Msg) tea.Cmd {
			return func() tea.Msg {
				ctx, cancel := context.WithTimeout(ctx, requestTimeout)
				defer cancel()
				return f(ctx)
			}
		},
	}
}

// Init implements tea.Model.
func (m Model) Init() tea.Cmd { return m.peek(false) }

// rate is how fast a job's rows have been answered since it was seen first.
type rate struct {
	first int
	since time.Time
	done  int
	at    time.Time
}

func (r rate) perSecond() float64 {
	elapsed := r.at.Sub(r.since).Seconds()
	if elapsed < 1 {
		return 0
	}
	return float64(r.done-r.first) / elapsed
}

// take takes what a look brought. One that failed leaves what was seen before.
func (m Model) take(found looked) Model {
	if found.failure != nil {
		m.trouble = "cannot look, what is shown is old: " + found.failure.Error()
		return m
	}
	m.trouble = ""
	rates := make(map[events.JobRef]rate, len(found.jobs))
	for i := range found.jobs {
		j := &found.jobs[i]
		r, seen := m.rates[ref(j)]
		if !seen {
			r = rate{first: done(j), since: found.at}
		}
		r.done, r.at = done(j), found.at
		rates[ref(j)] = r
	}
	m.last, m.rates = found, rates
	return m.stay()
}

// done is how many rows have their answer.
func done(j *events.JobStatus) int {
	if j.Totals == nil {
		return 0
	}
	t := j.Totals
	return t.Succeeded + t.Failed + t.Expired + t.Cancelled + t.Rejected
}
