package main

import (
	"fmt"
	"io"
	"os"
	"sort"
	"strings"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/term"

	"github.com/batchbus/batchbus/internal/app"
	"github.com/batchbus/batchbus/pkg/events"
)

// plainInterval is how often a run that is not on a terminal says how far it is, when that has changed.
const plainInterval = 2 * time.Second

// progress shows how far a run is: a live bar on a terminal, plain lines elsewhere. It is used from one goroutine.
type progress struct {
	env    app.Env
	rows   int
	bars   *mpb.Progress
	bar    *mpb.Bar
	status string // beside the bar

	said   string
	saidAt time.Time

	first   int // answers at firstAt, when the first of them were seen
	firstAt time.Time
}

func newProgress(env app.Env, rows int) *progress {
	g := &progress{env: env, rows: rows}
	if !isTerminal(env.Stderr) {
		return g
	}
	g.bars = mpb.New(mpb.WithOutput(env.Stderr), mpb.WithRefreshRate(lookInterval))
	g.bar = g.bars.AddBar(int64(rows),
		mpb.PrependDecorators(decor.CountersNoUnit("%d / %d rows ")),
		mpb.AppendDecorators(decor.Any(func(decor.Statistics) string { return g.status })))
	return g
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// published tells of rows on their way to the bus; only plain lines show it, since the bar counts answers.
func (g *progress) published(rows int) {
	if g.bar == nil {
		g.plain(fmt.Sprintf("published %d of %d rows", rows, g.rows))
	}
}

// show tells of rows that have come to their end, those of them that the provider answered, batches by state, rate and time left.
func (g *progress) show(v *view, settled, answered int) {
	rate := g.rate(answered)
	status := fmt.Sprintf("%.0f rows/s, batches: %s", rate, states(v.batches))
	if left := g.rows - settled; left > 0 && rate > 0 {
		status += ", about " + time.Duration(float64(left)/rate*float64(time.Second)).Round(time.Second).String() + " left"
	}
	if holds := v.holds(); len(holds) > 0 {
		status += ", HELD " + holds[0]
	} else if trouble := troubles(v.batches); trouble != "" {
		status += ", waiting: " + trouble
	}
	if g.bar == nil {
		g.plain(fmt.Sprintf("%d of %d rows settled, %s", settled, g.rows, status))
		return
	}
	g.status = printable(status)
	g.bar.SetTotal(int64(g.rows), false)
	g.bar.SetCurrent(int64(min(settled, g.rows)))
}

// rate is answered rows per second since the first answer: rows refused here cost no time and would promise too much.
func (g *progress) rate(answered int) float64 {
	if answered == 0 {
		return 0
	}
	if g.firstAt.IsZero() {
		g.first, g.firstAt = answered, time.Now()
	}
	elapsed := time.Since(g.firstAt).Seconds()
	if elapsed < 1 || answered == g.first {
		return 0
	}
	return float64(answered-g.first) / elapsed
}

// plain says a line when it is new, and not too often.
func (g *progress) plain(line string) {
	if line == g.said || time.Since(g.saidAt) < plainInterval {
		return
	}
	g.said, g.saidAt = line, time.Now()
	say(g.env, "%s", line)
}

// stop takes the bar away. It is idempotent.
func (g *progress) stop() {
	if g.bars == nil {
		return
	}
	g.bar.Abort(false)
	g.bars.Wait()
	g.bars = nil
}

// troubles says what the first batch in trouble waits for, after what error, and when it is tried next.
func troubles(batches []events.Batch) string {
	for i := range batches {
		if b := &batches[i]; !b.State.Ended() && b.LastError != "" {
			words := fmt.Sprintf("batch %s: %s (%s)", b.N, b.Why, b.LastError)
			if b.NextTryAt != nil {
				words += ", next try " + b.NextTryAt.Local().Format(time.TimeOnly)
			}
			return words
		}
	}
	return ""
}

func states(batches []events.Batch) string {
	counts := make(map[events.BatchState]int)
	for i := range batches {
		counts[batches[i].State]++
	}
	parts := make([]string, 0, len(counts))
	for state, n := range counts {
		parts = append(parts, fmt.Sprintf("%d %s", n, state))
	}
	sort.Strings(parts)
	if len(parts) == 0 {
		return "none yet"
	}
	return strings.Join(parts, ", ")
}
