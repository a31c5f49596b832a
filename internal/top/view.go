package top

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/batchbus/batchbus/pkg/events"
)

// View implements tea.Model: one screen.
func (m Model) View() string {
	if m.quitting {
		return ""
	}
	lines := m.head()
	room := max(1, m.height-len(lines)-3)
	if j, ok := m.job(); ok && m.mode == closer {
		lines = append(lines, m.batches(&j, room)...)
	} else {
		lines = append(lines, m.jobs(room)...)
	}
	lines = append(lines, "", m.foot())
	for i := range lines {
		lines[i] = m.cut(lines[i])
	}
	return strings.Join(lines, "\n")
}

func (m Model) head() []string {
	counts := m.last.counts
	where := cmp.Or(m.config.Queue, "all queues")
	if m.last.at.IsZero() && m.last.counts == nil {
		return []string{"batchbus top: " + where + ": looking …", ""}
	}
	line := fmt.Sprintf("batchbus top: %s at %s: %d open, %d planned, %d completed", where, m.last.at.Local().Format(time.TimeOnly),
		counts[events.JobOpen], counts[events.JobPlanned], counts[events.JobCompleted])
	if m.config.Note != "" {
		line += ", " + m.config.Note
	}
	return []string{line, ""}
}

// jobs is a table of as many jobs as there is room for, the chosen one among them.
func (m Model) jobs(room int) []string {
	shown := m.shown()
	table := [][]string{{" ", "QUEUE", "JOB", "STATE", "ROWS", "DONE", "FAILED", "ROWS/S", "AGE", "BATCHES", "HELD OR WAITING"}}
	first := max(0, m.at-room+2)
	for i := first; i < len(shown) && i-first < room-1; i++ {
		mark := " "
		if i == m.at {
			mark = ">"
		}
		table = append(table, append([]string{mark}, m.words(&shown[i])...))
	}
	lines := columns(table)
	if len(shown) == 0 {
		lines = append(lines, "  no job")
	}
	if m.last.hidden > 0 {
		lines = append(lines, fmt.Sprintf("  and %d older ones: batchbus list", m.last.hidden))
	}
	return lines
}

func (m Model) words(j *events.JobStatus) []string {
	failed, speed := 0, "-"
	if t := j.Totals; t != nil {
		failed = t.Failed + t.Expired + t.Rejected
	}
	if r := m.rates[ref(j)].perSecond(); r > 0 {
		speed = fmt.Sprintf("%.1f", r)
	}
	batches := strconv.Itoa(len(j.Batches))
	if j.More {
		batches += "+"
	}
	if over(j) {
		batches, speed = "-", "-"
	}
	return []string{
		m.config.Text(j.Queue), m.config.Text(j.Job), state(j), strconv.Itoa(j.Rows), strconv.Itoa(done(j)), strconv.Itoa(failed), speed,
		age(m.last.at.Sub(j.OpenedAt)), batches, m.config.Text(cmp.Or(held(j), waiting(j))),
	}
}

// batches is a table of one job's batches, those that go on before those that have ended.
func (m Model) batches(j *events.JobStatus, room int) []string {
	table := [][]string{{" ", "BATCH", "STATE", "PROVIDER SAYS", "ROWS", "COMPLETED", "FAILED", "SINCE", "MODEL", "HELD OR WAITING"}}
	add := func(ended bool) {
		for i := range j.Batches {
			if b := &j.Batches[i]; b.State.Ended() == ended {
				table = append(table, []string{
					" ", b.N, string(b.State), m.config.Text(cmp.Or(b.Status, "-")), strconv.Itoa(b.Rows), strconv.Itoa(b.Counts.Completed), strconv.Itoa(b.Counts.Failed),
					age(m.last.at.Sub(b.SinceAt)), m.config.Text(b.Model), m.config.Text(trouble(b)),
				})
			}
		}
	}
	add(false)
	add(true)
	more := max(0, len(table)-room+1)
	lines := append([]string{"job " + m.config.Text(j.Job) + " of queue " + m.config.Text(j.Queue) + ": " + state(j)}, columns(table[:len(table)-more])...)
	if more > 0 || j.More {
		lines = append(lines, "  and more: batchbus status")
	}
	return lines
}

func (m Model) foot() string {
	switch {
	case m.mode == typing:
		return "filter: " + m.filter + "_   enter keeps it, esc drops it"
	case m.mode == sure:
		return "cancel job " + m.config.Text(m.chosen.Job) + " of queue " + m.config.Text(m.chosen.Queue) + "? y: rows that did not run end as cancelled; any other key: no"
	case m.trouble != "":
		return m.config.Text(m.trouble)
	case m.said != "":
		return m.config.Text(m.said)
	case m.mode == closer:
		return "esc back   c cancel   r resume what is held   q quit"
	case m.filter != "":
		return "only " + m.filter + "   esc all   enter look closer   c cancel   r resume   q quit"
	default:
		return "up/down choose   enter look closer   / filter   c cancel   r resume what is held   a ended jobs too   q quit"
	}
}

// cut shortens a line to the screen's width, so that it stays one.
func (m Model) cut(line string) string {
	letters := []rune(line)
	if m.width <= 1 || len(letters) <= m.width {
		return line
	}
	return string(letters[:m.width-1]) + "…"
}

func columns(table [][]string) []string {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, row := range table {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	_ = w.Flush() // into memory
	return strings.Split(strings.TrimRight(text.String(), "\n"), "\n")
}

func state(j *events.JobStatus) string {
	switch {
	case j.ForgottenAt != nil:
		return "forgotten"
	case j.CancelWantedAt != nil && !over(j):
		return "cancelling"
	default:
		return string(j.State)
	}
}

// held names the first hold: of the job, its queue or one of its batches.
func held(j *events.JobStatus) string {
	if j.Hold != nil {
		return "HELD " + j.Hold.Code
	}
	if len(j.QueueHolds) > 0 {
		return "HELD queue: " + j.QueueHolds[0].Code
	}
	for i := range j.Batches {
		if b := &j.Batches[i]; b.Hold != nil && !b.State.Ended() {
			return "HELD batch " + b.N + ": " + b.Hold.Code
		}
	}
	return ""
}

func waiting(j *events.JobStatus) string {
	for i := range j.Batches {
		if b := &j.Batches[i]; b.Why != "" && !b.State.Ended() {
			return "batch " + b.N + ": " + b.Why
		}
	}
	return ""
}

func trouble(b *events.Batch) string {
	switch {
	case b.State.Ended():
		return ""
	case b.Hold != nil:
		return "HELD " + b.Hold.Code + ": " + b.Hold.Message
	default:
		return strings.TrimSuffix(b.Why+": "+b.LastError, ": ")
	}
}

func age(d time.Duration) string {
	switch d = max(0, d); {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	default:
		return fmt.Sprintf("%dd", int(d.Hours())/24)
	}
}
