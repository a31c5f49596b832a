package top

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/batchbus/batchbus/pkg/events"
)

// again is the end of the pause between two looks.
type again struct{}

// Update implements tea.Model.
func (m Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.height, m.width = msg.Height, msg.Width
	case looked:
		return m.take(msg), tea.Tick(m.config.Interval, func(time.Time) tea.Msg { return again{} })
	case again:
		return m, m.peek(m.ended)
	case wished:
		m.said = msg.said
	case tea.KeyMsg:
		if msg.Type == tea.KeyCtrlC {
			m.quitting = true
			return m, tea.Quit
		}
		return m.key(msg)
	}
	return m, nil
}

func (m Model) key(k tea.KeyMsg) (tea.Model, tea.Cmd) {
	m.said = ""
	switch m.mode {
	case typing:
		return m.typed(k), nil
	case sure:
		return m.answered(k)
	default:
		return m.commanded(k)
	}
}

// commanded obeys a key of the list, or of the look at one job.
func (m Model) commanded(k tea.KeyMsg) (tea.Model, tea.Cmd) {
	switch k.String() {
	case "q":
		m.quitting = true
		return m, tea.Quit
	case "up", "k":
		return m.move(-1), nil
	case "down", "j":
		return m.move(1), nil
	case "enter":
		if _, ok := m.job(); ok {
			m.mode = closer
		}
	case "esc":
		m.mode, m.filter = choosing, ""
		return m.stay(), nil
	case "/":
		m.mode = typing
	case "a":
		m.ended = !m.ended
	case "c":
		if j, ok := m.job(); ok && !over(&j) {
			m.mode = sure
		}
	case "r":
		if j, ok := m.job(); ok {
			return m, m.resume(ref(&j))
		}
	}
	return m, nil
}

// typed changes the filter by a key.
func (m Model) typed(k tea.KeyMsg) Model {
	switch k.Type {
	case tea.KeyEnter:
		m.mode = choosing
	case tea.KeyEsc:
		m.mode, m.filter = choosing, ""
	case tea.KeyBackspace:
		if letters := []rune(m.filter); len(letters) > 0 {
			m.filter = string(letters[:len(letters)-1])
		}
	case tea.KeyRunes, tea.KeySpace:
		m.filter += string(k.Runes)
	default:
	}
	return m.stay()
}

// answered cancels the chosen job on a yes.
func (m Model) answered(k tea.KeyMsg) (tea.Model, tea.Cmd) {
	m.mode = choosing
	j, ok := m.job()
	if k.String() != "y" || !ok {
		m.said = "nothing was cancelled"
		return m, nil
	}
	return m, m.cancel(ref(&j))
}

func (m Model) cancel(job events.JobRef) tea.Cmd {
	return m.do(func(ctx context.Context) tea.Msg {
		if _, err := m.config.Source.CancelJob(ctx, job); err != nil {
			return wished{fmt.Sprintf("cancel of %s: %v", job.Job, err)}
		}
		return wished{"job " + job.Job + " is being cancelled: what ran is kept"}
	})
}

func (m Model) resume(job events.JobRef) tea.Cmd {
	return m.do(func(ctx context.Context) tea.Msg {
		holds, err := m.config.Source.ResumeJobs(ctx, events.ResumeJobs{JobRef: job})
		if err != nil {
			return wished{fmt.Sprintf("resume of %s: %v", job.Job, err)}
		}
		if len(holds) == 0 {
			return wished{"nothing of job " + job.Job + " is held"}
		}
		said := make([]string, 0, len(holds))
		for i := range holds {
			what := "goes on"
			if !holds[i].Ended {
				what = holds[i].Why
			}
			said = append(said, holds[i].Code+": "+what)
		}
		return wished{"job " + job.Job + ": " + strings.Join(said, "; ")}
	})
}

// shown are the jobs that the filter takes: by queue, name, state or a hold's code.
func (m Model) shown() []events.JobStatus {
	if m.filter == "" {
		return m.last.jobs
	}
	var all []events.JobStatus
	for i := range m.last.jobs {
		j := &m.last.jobs[i]
		if strings.Contains(strings.Join([]string{j.Queue, j.Job, string(j.State), held(j)}, " "), m.filter) {
			all = append(all, *j)
		}
	}
	return all
}

// job is the chosen one.
func (m Model) job() (events.JobStatus, bool) {
	shown := m.shown()
	if m.at >= len(shown) {
		return events.JobStatus{}, false
	}
	return shown[m.at], true
}

func (m Model) move(by int) Model {
	shown := m.shown()
	m.at = max(0, min(len(shown)-1, m.at+by))
	if m.at < len(shown) {
		m.chosen = ref(&shown[m.at])
	}
	return m
}

// stay keeps the chosen job chosen when lines come and go around it. When it is gone itself, so is the question about it.
func (m Model) stay() Model {
	shown := m.shown()
	at := slices.IndexFunc(shown, func(j events.JobStatus) bool { return ref(&j) == m.chosen })
	if at >= 0 {
		m.at = at
		return m
	}
	if m.mode == sure || m.mode == closer {
		m.mode = choosing
	}
	return m.move(0)
}
