package top_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"strings"
	"sync"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/batchbus/batchbus/internal/top"
	"github.com/batchbus/batchbus/pkg/events"
)

// bus is a control API with some jobs.
type bus struct {
	mu     sync.Mutex
	jobs   []events.JobStatus
	asked  []string
	fault  error
	answer []events.ResumedHold
}

func (b *bus) Jobs(_ context.Context, _ string) iter.Seq2[events.JobStatus, error] {
	return func(yield func(events.JobStatus, error) bool) {
		if b.fault != nil {
			yield(events.JobStatus{}, b.fault)
			return
		}
		for _, j := range b.jobs {
			j.Batches = nil // as in a list
			if !yield(j, nil) {
				return
			}
		}
	}
}

func (b *bus) Job(_ context.Context, q events.JobRef) (events.JobStatus, error) {
	for _, j := range b.jobs {
		if j.Job == q.Job {
			return j, nil
		}
	}
	return events.JobStatus{}, errors.New("no such job")
}

func (b *bus) CancelJob(_ context.Context, q events.JobRef) (events.JobStatus, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked = append(b.asked, "cancel "+q.Queue+"/"+q.Job)
	return events.JobStatus{}, b.fault
}

func (b *bus) ResumeJobs(_ context.Context, q events.ResumeJobs) ([]events.ResumedHold, error) {
	b.asked = append(b.asked, "resume "+q.Queue+"/"+q.Job)
	return b.answer, b.fault
}

// screen drives the view by hand: what waits for the bus is done at once, pauses are skipped.
type screen struct {
	t     *testing.T
	model tea.Model
	now   time.Time
}

var opened = time.Date(2026, 12, 1, 2, 0, 0, 0, time.UTC)

func newScreen(t *testing.T, b *bus) *screen {
	t.Helper()
	s := &screen{t: t, now: opened}
	s.model = top.New(t.Context(), top.Config{
		Source: b, Interval: time.Nanosecond, Now: func() time.Time { return s.now }, Text: func(text string) string { return strings.ReplaceAll(text, "\x1b", "<esc>") },
	})
	s.send(tea.WindowSizeMsg{Width: 200, Height: 20})
	s.again(s.model.Init())
	return s
}

// again looks once more, some seconds later.
func (s *screen) again(look tea.Cmd) tea.Cmd {
	s.t.Helper()
	pause := s.send(look())
	if pause == nil {
		s.t.Fatal("it does not go on looking")
	}
	return pause
}

func (s *screen) send(msg tea.Msg) tea.Cmd {
	model, cmd := s.model.Update(msg)
	s.model = model
	return cmd
}

// later lets the pause end and takes a look.
func (s *screen) later(d time.Duration, pause tea.Cmd) tea.Cmd {
	s.t.Helper()
	s.now = s.now.Add(d)
	return s.again(s.send(pause()))
}

// press presses keys one after the other and does what they ask of the bus.
func (s *screen) press(keys ...string) {
	named := map[string]tea.KeyType{"enter": tea.KeyEnter, "esc": tea.KeyEsc, "up": tea.KeyUp, "down": tea.KeyDown, "back": tea.KeyBackspace}
	for _, k := range keys {
		msg := tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(k)}
		if kind, ok := named[k]; ok {
			msg = tea.KeyMsg{Type: kind}
		}
		if cmd := s.send(msg); cmd != nil {
			s.send(cmd())
		}
	}
}

// chosen is the line that the mark stands at.
func (s *screen) chosen() string {
	for line := range strings.Lines(s.model.View()) {
		if strings.HasPrefix(line, ">") {
			return strings.Join(strings.Fields(line), " ")
		}
	}
	return ""
}

func (s *screen) wants(words ...string) {
	s.t.Helper()
	for _, w := range words {
		if !strings.Contains(s.model.View(), w) {
			s.t.Errorf("the screen does not say %q:\n%s", w, s.model.View())
		}
	}
}

func (s *screen) wantsNot(word string) {
	s.t.Helper()
	if strings.Contains(s.model.View(), word) {
		s.t.Errorf("the screen says %q:\n%s", word, s.model.View())
	}
}

func someJobs() *bus {
	batch := events.Batch{N: "1", State: events.BatchSubmitted, Status: "in_progress", Rows: 10, GroupKey: events.GroupKey{Model: "m\x1b[2J"}, SinceAt: opened}
	stuck := events.Batch{N: "2", State: events.BatchUploaded, Rows: 5, SinceAt: opened, Hold: &events.Hold{Code: "key_missing", Message: "no such key"}}
	return &bus{jobs: []events.JobStatus{
		{Queue: "q", Job: "old", State: events.JobCompleted, OpenedAt: opened.Add(-time.Hour), Rows: 3, Totals: &events.Totals{Succeeded: 3}},
		{Queue: "q", Job: "young", State: events.JobPlanned, OpenedAt: opened.Add(-time.Minute), Rows: 15, Totals: &events.Totals{Succeeded: 1, Failed: 1}, Batches: []events.Batch{batch, stuck}},
		{Queue: "r", Job: "first", State: events.JobOpen, OpenedAt: opened.Add(-2 * time.Minute), Rows: 7},
	}}
}

func TestWhatGoesOnIsShownWithItsRatesAndHolds(t *testing.T) {
	t.Parallel()
	b := someJobs()
	s := newScreen(t, b)
	s.wants("1 open, 1 planned, 1 completed", "HELD batch 2: key_missing")
	s.wantsNot("old")
	if got := s.chosen(); got != "> q young planned 15 2 1 - 1m00s 2 HELD batch 2: key_missing" {
		t.Errorf("the newest is not the first: %s", got)
	}
	pause := s.again(s.model.Init())
	b.jobs[1].Totals = &events.Totals{Succeeded: 12}
	s.later(4*time.Second, pause)
	if got := s.chosen(); !strings.HasPrefix(got, "> q young planned 15 12 0 2.5 1m04s") {
		t.Errorf("ten rows in four seconds: %s", got)
	}
	s.press("enter")
	s.wants("job young", "in_progress", "m<esc>[2J", "HELD key_missing: no such key")
	s.wantsNot("\x1b")
	s.press("esc")
	s.wants("first")
}

func TestTheChosenJobStaysChosenWhenOthersCome(t *testing.T) {
	t.Parallel()
	b := someJobs()
	s := newScreen(t, b)
	s.press("down")
	if !strings.HasPrefix(s.chosen(), "> r first") {
		t.Fatal(s.chosen())
	}
	b.jobs = append(b.jobs, events.JobStatus{Queue: "q", Job: "new", State: events.JobOpen, OpenedAt: opened})
	pause := s.again(s.model.Init())
	if !strings.HasPrefix(s.chosen(), "> r first") {
		t.Errorf("now it is %s", s.chosen())
	}
	s.press("c")
	s.wants("cancel job first of queue r?")
	b.jobs[2].State = events.JobCompleted
	s.later(time.Second, pause)
	s.press("y")
	if len(b.asked) != 0 {
		t.Errorf("the job was gone and another was cancelled: %v", b.asked)
	}
}

func TestKeysCancelAfterAYesAndResume(t *testing.T) {
	t.Parallel()
	b := someJobs()
	s := newScreen(t, b)
	s.press("c", "n")
	s.wants("nothing was cancelled")
	s.press("c", "y")
	s.wants("young is being cancelled")
	s.press("r")
	s.wants("nothing of job young is held")
	b.answer = []events.ResumedHold{{Code: "key_missing", Why: "the key is still missing"}, {Code: "refused", Ended: true}}
	s.press("r")
	s.wants("key_missing: the key is still missing; refused: goes on")
	if got := strings.Join(b.asked, ", "); got != "cancel q/young, resume q/young, resume q/young" {
		t.Error(got)
	}
	b.fault = errors.New("the bus is away")
	s.press("r")
	s.wants("resume of young: the bus is away")
}

func TestTheFilterTakesNamesStatesAndHolds(t *testing.T) {
	t.Parallel()
	s := newScreen(t, someJobs())
	for filter, want := range map[string]string{"fir": "> r first", "planned": "> q young", "key_miss": "> q young", "nothing": ""} {
		s.press("/")
		s.press(strings.Split(filter, "")...)
		s.wants("filter: " + filter)
		s.press("enter")
		if !strings.HasPrefix(s.chosen(), want) || want == "" && s.chosen() != "" {
			t.Errorf("%s: %s", filter, s.chosen())
		}
		s.press("esc")
	}
	s.press("/", "x", "back", "esc")
	s.wants("young", "first")
}

func TestALookThatFailsLeavesWhatWasSeenAndSaysSo(t *testing.T) {
	t.Parallel()
	b := someJobs()
	s := newScreen(t, b)
	b.fault = errors.New("no responders")
	pause := s.again(s.model.Init())
	s.wants("cannot look, what is shown is old: no responders", "young")
	b.fault = nil
	pause = s.later(time.Second, pause)
	s.wantsNot("no responders")
	s.press("a")
	s.later(time.Second, pause)
	s.wants("old", "completed")
}

func TestLinesFitTheScreen(t *testing.T) {
	t.Parallel()
	b := someJobs()
	for range 40 {
		b.jobs = append(b.jobs, events.JobStatus{Queue: "q", Job: strings.Repeat("é", 60) + string(rune('A'+len(b.jobs))), State: events.JobOpen, OpenedAt: opened})
	}
	s := newScreen(t, b)
	s.send(tea.WindowSizeMsg{Width: 60, Height: 12})
	for range 45 {
		s.press("down")
		lines := strings.Split(s.model.View(), "\n")
		if len(lines) > 12 || s.chosen() == "" {
			t.Fatalf("%d lines, chosen %q", len(lines), s.chosen())
		}
		for _, line := range lines {
			if len([]rune(line)) > 60 {
				t.Fatalf("too long: %s", line)
			}
		}
	}
}

// reader presses q once the screen shows what it waits for.
type reader struct {
	seen  bytes.Buffer
	until string
	keys  io.WriteCloser
	once  sync.Once
}

func (r *reader) Write(p []byte) (int, error) {
	r.seen.Write(p)
	if strings.Contains(r.seen.String(), r.until) {
		r.once.Do(func() { go func() { _, _ = io.WriteString(r.keys, "q") }() })
	}
	return len(p), nil
}

func TestRunShowsTheJobsUntilAKeyOrItsContextEndsIt(t *testing.T) {
	t.Parallel()
	config := top.Config{Source: someJobs(), Text: func(text string) string { return text }}
	in, keys := io.Pipe()
	defer in.Close()
	if err := top.Run(t.Context(), config, in, &reader{until: "young", keys: keys}); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	silent, nobody := io.Pipe()
	defer nobody.Close()
	ended := make(chan error, 1)
	go func() { ended <- top.Run(ctx, config, silent, io.Discard) }()
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
