package chaos_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/batchbus/batchbus/internal/failpoint"
	"github.com/batchbus/batchbus/pkg/client"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
	"github.com/batchbus/batchbus/test/rig"
)

// quick are times in which a small job takes seconds, crashes and fences included.
func quick() []string {
	return []string{
		"--ack-wait=1s", "--create-timeout=1s", "--quiet-period=300ms", "--upload-allowance=2s", "--poll-floor=200ms",
		"--poll-ceiling=500ms", "--missing-grace=300ms", "--cancel-grace=300ms", "--sweep-interval=400ms", "--linger=1s", "--patience=1s",
	}
}

// smallPayload makes what is big small: blocks, objects and answers that do not fit.
const smallPayload = "max_payload: 200KB\n"

// caseTimeout is how long one run may take before it counts as a hang: many times what the slowest takes on a busy machine.
const caseTimeout = 90 * time.Second

// arming is what the services of one run are armed with.
type arming struct {
	replicas int
	trap     failpoint.Trap // of the service that the point names; the zero value: none
	trace    string         // a folder for the traces; empty: none
}

// arms tells whether a service passes the trap's point.
func (a arming) arms(service string) bool {
	return a.trap.K > 0 && slices.Contains(a.trap.Point.Programs(), service)
}

// world is one run of a scenario.
type world struct {
	*rig.Deployment
	t       testing.TB
	theatre *theatre // in front of the provider
	broken  []violation
	killed  []time.Time // when processes that ended themselves were found
}

// newWorld starts a deployment for a scenario.
func newWorld(t testing.TB, s *scenario, a arming) *world {
	t.Helper()
	w := &world{t: t}
	shape := rig.Shape{
		Replicas: a.replicas, First: s.first, Services: slices.Concat(quick(), s.services), Bus: smallPayload,
		Simulator: slices.Concat([]string{"--sweep-interval=50ms"}, s.simulator),
		Env: func(service string, _ int) []string {
			if !a.arms(service) {
				return nil
			}
			return []string{failpoint.EnvTrap + "=" + a.trap.String()}
		},
		EnvAlways: func(service string, replica int) []string {
			if a.trace == "" {
				return nil
			}
			return []string{fmt.Sprintf("%s=%s", failpoint.EnvTrace, filepath.Join(a.trace, fmt.Sprintf("%s-%d", service, replica)))}
		},
	}
	shape.Ways = func(_ string, _ int, direct rig.Ways) rig.Ways {
		if w.theatre == nil {
			var roles []role
			if s.plays != nil {
				roles = s.plays()
			}
			w.theatre = newTheatre(t, direct.Provider, roles)
		}
		direct.Provider = w.theatre.server.URL
		return direct
	}
	w.Deployment = rig.Deploy(t, shape)
	for _, replicas := range w.Running {
		for _, p := range replicas {
			w.begun(p)
		}
	}
	return w
}

// begun notes how often a process has ended itself before it was ready.
func (w *world) begun(p *rig.Process) {
	for _, end := range p.Ends() {
		if end.KilledItself() {
			w.killed = append(w.killed, time.Now())
		}
	}
}

// violate notes a broken invariant.
func (w *world) violate(invariant, format string, args ...any) {
	w.broken = append(w.broken, violation{invariant, fmt.Sprintf(format, args...)})
}

// revive starts every process again that its failpoint has ended. Another end is a violation, and then that service stays away.
func (w *world) revive() {
	for name, replicas := range w.Running {
		for i, p := range replicas {
			if !p.Ended() || p.End().Ours {
				continue
			}
			if end := p.End(); !end.KilledItself() {
				w.violate(quiet, "replica %d of %s has %s: %s", i, name, end, lastLine(p.Output()))
				w.Running[name] = slices.Delete(slices.Clone(replicas), i, i+1)
				return
			}
			w.killed = append(w.killed, time.Now())
			p.Start()
		}
	}
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// until waits for something that the run brings about and keeps the services alive meanwhile. It tells whether it came; what did not is a
// violation.
func (w *world) until(what string, done func() bool) bool {
	w.t.Helper()
	if len(w.broken) > 0 {
		return false // the run has failed: nothing more is waited for
	}
	came := rig.Within(caseTimeout, func() bool {
		w.revive()
		return len(w.broken) > 0 || done()
	})
	if !came {
		w.violate(quiet, "hangs: %s did not come within %s; %s", what, caseTimeout, w.standing())
	}
	return came && len(w.broken) == 0
}

// event waits for an event of a job.
func (w *world) event(kind events.Kind, job string) bool {
	w.t.Helper()
	return w.until(string(kind)+" of "+job, func() bool { return w.Happened(kind, job) })
}

// finish waits until everything that was published has its end and every job is completed.
func (w *world) finish(want expectation) {
	w.t.Helper()
	var published, forgotten uint64
	for _, d := range want.dues {
		published += uint64(d.published)
		if d.forgotten {
			forgotten += uint64(d.published)
		}
	}
	w.until("the end of all rows", func() bool {
		return w.Count(jetstore.StreamResults)+w.Count(jetstore.StreamDeadletters) >= published-forgotten
	})
	for _, d := range want.dues {
		if d.job != "" && d.opens() {
			w.event(events.JobDone, d.job)
		}
	}
	w.until("the end of all work", func() bool { return len(w.Waiting()) == 0 && w.unfinished() == "" })
}

// unfinished names a job or batch that has not ended.
func (w *world) unfinished() string {
	for e, err := range w.Store.Entries(rig.Patiently(w.t), "") {
		if err != nil {
			return err.Error()
		}
		if j, err := events.ParseJob(e.Value); err == nil && strings.HasPrefix(e.Key, "job.") && j.State != events.JobCompleted {
			return fmt.Sprintf("job %s is %s, hold %+v", j.Job, j.State, j.Hold)
		}
		if b, err := events.ParseBatch(e.Value); err == nil && strings.HasPrefix(e.Key, "batch.") && !b.State.Ended() {
			return fmt.Sprintf("batch %s of %s is %s, why %q, last error %q, hold %+v", b.N, b.Job, b.State, b.Why, b.LastError, b.Hold)
		}
	}
	return ""
}

// standing says for people where a run stands.
func (w *world) standing() string {
	return fmt.Sprintf("%d results, %d dead letters, waiting %v, unfinished: %q",
		w.Count(jetstore.StreamResults), w.Count(jetstore.StreamDeadletters), w.Waiting(), w.unfinished())
}

// publish publishes rows as our own tools do, without a seal.
func (w *world) publish(job, rows string) {
	w.t.Helper()
	if _, err := w.Client.Publish(rig.Patiently(w.t), client.Input{Queue: rig.Queue, Job: job, Rows: strings.NewReader(rows), Digest: "input"}); err != nil {
		w.t.Fatal(err)
	}
}

// seal asks on the bus for a job to be sealed.
func (w *world) seal(job string, rows int) {
	w.t.Helper()
	if err := w.Client.Seal(rig.Patiently(w.t), rig.Queue, job, rows); err != nil {
		w.t.Fatal(err)
	}
}

// send publishes a request as any NATS client does, with pairs of headers.
func (w *world) send(subject, payload string, headers ...string) {
	w.t.Helper()
	m := nats.NewMsg(subject)
	m.Data = []byte(payload)
	for i := 0; i < len(headers); i += 2 {
		m.Header.Set(headers[i], headers[i+1])
	}
	if _, err := w.JS.PublishMsg(rig.Patiently(w.t), m); err != nil {
		w.t.Fatal(err)
	}
}

// asked repeats a call of the control API until it is answered, as a person does, while services may die over it.
func (w *world) asked(what string, call func() error) {
	w.t.Helper()
	answers, waiting := make(chan error, 1), false
	var last error
	if !w.until("an answer to "+what, func() bool {
		if !waiting {
			waiting = true
			go func() { answers <- call() }()
		}
		select {
		case last = <-answers:
			waiting = false
			return last == nil
		default:
			return false
		}
	}) {
		w.violate(quiet, "%s is answered with %v", what, last)
	}
}

// audit is the product's own verdict.
func (w *world) audit(want expectation) {
	w.t.Helper()
	args := []string{"audit", "--all", "--json", "--provider"}
	if want.strangers {
		args = args[:3] // the provider's list does not add up, as it should not
	}
	if got := w.CLI(args...); got.Code != 0 {
		w.violate(audited, "batchbus %s ends with %d: %s%s", strings.Join(args, " "), got.Code, got.Stdout, got.Stderr)
	}
}

// settle judges the whole run.
func (w *world) settle(want expectation) *rig.Left {
	w.t.Helper()
	w.revive()
	left := w.Look()
	w.broken = append(w.broken, judge(left, want)...)
	w.audit(want)
	return left
}

// points counts the passages of a traced run.
func passages(t testing.TB, dir string) map[failpoint.Passage]int {
	t.Helper()
	counts := map[failpoint.Passage]int{}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			point, moment, ok := strings.Cut(strings.TrimSpace(line), ":")
			if !ok {
				t.Fatalf("%s has the line %q", name, line)
			}
			counts[failpoint.Passage{Point: failpoint.Point(point), Moment: failpoint.Moment(moment)}]++
		}
	}
	return counts
}
