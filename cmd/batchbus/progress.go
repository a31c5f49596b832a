package main

import (
	"fmt"
	"os"
	"sort"
	"strings"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/term"

	"github.com/batchbus/batchbus/pkg/events"
)

// plainInterval is how often a run that is not on a terminal says how far it is, when that has changed.
const plainInterval = 2 * time.Second

// progress shows how far a run is: a live bar on a terminal, plain lines elsewhere. It is used from one goroutine.
type progress struct {
	plan   *plan
	bars   *mpb.Progress
	bar    *mpb.Bar
	status string // beside the bar

	said   string
	saidAt time.Time
	begun  time.Time
}

func newProgress(p *plan) *progress {
	g := &progress{plan: p, begun: time.Now()}
	out, ok := p.env.Stderr.(*os.File)
	if !ok || !term.IsTerminal(int(out.Fd())) {
		return g
	}
	g.bars = mpb.New(mpb.WithOutput(out), mpb.WithRefreshRate(lookInterval))
	g.bar = g.bars.AddBar(int64(p.rows),
		mpb.PrependDecorators(decor.CountersNoUnit("%d / %d rows ")),
		mpb.AppendDecorators(decor.Any(func(decor.Statistics) string { return g.status })))
	return g
}

// published tells of rows on their way to the bus; only plain lines show it, since the bar counts answers.
func (g *progress) published(rows int) {
	if g.bar == nil {
		g.plain(fmt.Sprintf("published %d of %d rows", rows, g.plan.rows))
	}
}

// show tells of answers, batches by state, rate and time left.
func (g *progress) show(f *follower) {
	settled := f.totals.Rows + f.deadLetters
	rate := float64(settled) / max(time.Since(g.begun).Seconds(), 0.001)
	status := fmt.Sprintf("%.0f rows/s, batches: %s", rate, states(f.batches))
	if left := g.plan.rows - settled; left > 0 && settled > 0 {
		status += ", about " + time.Duration(float64(left)/rate*float64(time.Second)).Round(time.Second).String() + " left"
	}
	if holds := f.holds(); len(holds) > 0 {
		status += ", HELD " + holds[0]
	}
	if g.bar == nil {
		g.plain(fmt.Sprintf("%d of %d rows settled, %s", settled, g.plan.rows, status))
		return
	}
	g.status = status
	g.bar.SetCurrent(int64(min(settled, g.plan.rows)))
}

// plain says a line when it is new, and not too often.
func (g *progress) plain(line string) {
	if line == g.said || time.Since(g.saidAt) < plainInterval {
		return
	}
	g.said, g.saidAt = line, time.Now()
	g.plan.say("%s", line)
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
