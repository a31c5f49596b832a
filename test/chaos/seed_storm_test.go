package chaos_test

import (
	"fmt"
	"io"
	"log"
	"strings"
	"time"
)

// pace is how often the storm looks around.
const stormPace = 20 * time.Millisecond

// silent is a log that nobody reads: connections that the proxies drop are no news.
func silent() *log.Logger { return log.New(io.Discard, "", 0) }

// storm carries out the plan's steps, each at its time, until its time is over, all are done and rows are published. Then it goes on for a while
// until batches were made of them: a storm that is over before the money is spent would be of little use.
func (w *seedWorld) storm(published <-chan error) {
	began, steps := time.Now(), w.plan.steps
	tick, look := time.NewTicker(stormPace), time.NewTicker(20*stormPace)
	defer tick.Stop()
	defer look.Stop()
	for done, sent := false, false; ; <-tick.C {
		for len(steps) > 0 && steps[0].at <= time.Since(began) {
			w.take(steps[0])
			steps = steps[1:]
		}
		w.thaw()
		w.supervise()
		select {
		case err := <-published:
			if err != nil {
				w.t.Fatal(err)
			}
			done = true
		case <-look.C:
			sent = done && w.sent()
		default:
		}
		over := time.Since(began) - w.plan.storm
		if done && len(steps) == 0 && over > 0 && (sent || over > seedExtra) {
			return
		}
	}
}

// take carries out one step.
func (w *seedWorld) take(s step) {
	a := w.actors[s.actor]
	kind := "services: "
	if s.actor == busActor {
		kind = "nats-server: "
	}
	switch s.do {
	case actKill:
		w.tally.Add(kind + "kill -9")
		a.Kill()
		a.down = true
	case actStart:
		a.down = false
		a.Start()
	case actPause:
		if !a.Ended() {
			w.tally.Add(kind + "paused")
			a.Pause()
			a.paused = true
		}
	case actResume:
		if a.paused = false; !a.Ended() {
			a.Resume()
		}
	case actCut:
		if b := w.buses[s.actor]; b != nil {
			w.tally.Add(kind + "all connections cut")
			b.Cut()
		}
	}
}

// thaw resumes processes that their failpoint has stopped, when their time has come.
func (w *seedWorld) thaw() {
	for _, a := range w.actors {
		switch {
		case a.down || a.paused || !a.Paused():
			a.froze = time.Time{}
		case a.froze.IsZero():
			w.tally.Add("services: stopped between the change to creating and the POST")
			a.froze = time.Now()
		case time.Since(a.froze) > w.plan.freeze:
			a.Resume()
		}
	}
}

// frozen tells whether a process stands still.
func (w *seedWorld) frozen() bool {
	for _, a := range w.actors {
		if !a.down && a.Paused() {
			return true
		}
	}
	return false
}

// supervise starts again what has ended by itself, as whoever runs services does: without a bus a service does not start, and says so.
func (w *seedWorld) supervise() {
	for name, a := range w.actors {
		if a.down || !a.Ended() {
			continue
		}
		const busAway, noSuchPoint = 2, 97 // the second is for the matrix to judge: an effect that the table of failpoints lacks
		end := a.End()
		if end.Code != busAway && end.Code != noSuchPoint {
			w.t.Errorf("%s has %s", name, end)
		}
		if out := a.Output(); strings.Contains(out, "panic: ") || strings.Contains(out, "fatal error: ") {
			w.t.Fatalf("%s: a fault of the program", name)
		}
		w.tally.Add(fmt.Sprintf("services: started again after exit code %d", end.Code))
		a.Start()
	}
}
