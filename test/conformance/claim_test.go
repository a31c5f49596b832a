package conformance_test

import (
	"cmp"
	"context"
	"fmt"
	"strings"
)

// verdict compares what was seen with what the contract says.
type verdict string

const (
	agrees          verdict = "agrees"
	differs         verdict = "differs"
	notDeterminable verdict = "not determinable"
)

// finding is what one check came to.
type finding struct {
	seen    string
	verdict verdict
}

// judged is a finding by comparison.
func judged(ok bool, format string, args ...any) finding {
	f := finding{seen: fmt.Sprintf(format, args...), verdict: differs}
	if ok {
		f.verdict = agrees
	}
	return f
}

// unseen is a finding when the circumstances did not show the matter.
func unseen(format string, args ...any) finding {
	return finding{seen: fmt.Sprintf(format, args...), verdict: notDeterminable}
}

// claim is one sentence of the contract.
type claim struct {
	name, section, expected string
	// relied: batchbus's own guarantees need it, so a server that differs is no provider for it.
	relied bool
	check  func(ctx context.Context, a *asking) finding
}

// line is one line of the report.
type line struct {
	claim
	finding
}

// breaks tells whether the line is a reason not to use the server.
func (l line) breaks() bool { return l.relied && l.verdict == differs }

// report is what one server was found to do.
type report struct {
	server, spending string
	lines            []line
}

func (r *report) add(l line) { r.lines = append(r.lines, l) }

func (r *report) broken() []line {
	var found []line
	for _, l := range r.lines {
		if l.breaks() {
			found = append(found, l)
		}
	}
	return found
}

func (r *report) differing() map[string]bool {
	found := map[string]bool{}
	for _, l := range r.lines {
		if l.verdict == differs {
			found[l.name] = true
		}
	}
	return found
}

// markdown writes the report; its headings are those that docs/provider.md shows.
func (r *report) markdown() string {
	var b strings.Builder
	count := map[verdict]int{}
	for _, l := range r.lines {
		count[l.verdict]++
	}
	fmt.Fprintf(&b, "# Conformance of %s\n\n%s\n\n%d claims agree, %d differ, %d were not determinable; %d of those that differ are relied on.\n",
		r.server, r.spending, count[agrees], count[differs], count[notDeterminable], len(r.broken()))
	for _, part := range []struct {
		heading string
		relied  bool
	}{{"What batchbus relies on", true}, {"What batchbus can live with", false}} {
		fmt.Fprintf(&b, "\n## %s\n\n| Claim | Contract | Expected | Seen | Verdict |\n|---|---|---|---|---|\n", part.heading)
		for _, l := range r.lines {
			if l.relied == part.relied {
				fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", l.name, l.section, l.expected, cell(l.seen), l.verdict)
			}
		}
	}
	return b.String()
}

// cell makes a text fit into a table: one line, no bars, not endless.
func cell(text string) string {
	text = strings.NewReplacer("|", "\\|", "\n", " ", "\r", " ").Replace(text)
	if runes := []rune(text); len(runes) > 160 {
		text = string(runes[:160]) + "…"
	}
	return cmp.Or(strings.TrimSpace(text), "nothing")
}
