package chaos_test

import (
	"net/http"
	"strings"
	"time"

	"github.com/batchbus/batchbus/internal/failpoint"
	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
	"github.com/batchbus/batchbus/test/rig"
)

// edit changes a batch's state past all of batchbus, as a restored bus or an operator does.
func (w *world) edit(job, n string, change func(b *events.Batch)) {
	w.t.Helper()
	store := jobs.New(w.Store)
	w.until("a change of a state", func() bool {
		b, err := store.Batch(rig.Patiently(w.t), rig.Queue, job, n)
		if err != nil {
			w.t.Fatal(err)
		}
		c := jobs.NewChange(time.Now())
		change(&b.Batch)
		c.Batch(&b)
		return store.Commit(rig.Patiently(w.t), c) == nil
	})
}

// editJob does the same to a job.
func (w *world) editJob(job string, change func(j *events.Job)) {
	w.t.Helper()
	store := jobs.New(w.Store)
	w.until("a change of a state", func() bool {
		j, err := store.Job(rig.Patiently(w.t), rig.Queue, job)
		if err != nil {
			w.t.Fatal(err)
		}
		c := jobs.NewChange(time.Now())
		change(&j.Job)
		c.Job(&j)
		return store.Commit(rig.Patiently(w.t), c) == nil
	})
}

// open opens a job under a policy of the test's.
func (w *world) open(job string, change func(p *events.Policy)) {
	w.t.Helper()
	policy := events.DefaultPolicy()
	change(&policy)
	if _, err := jobs.New(w.Store).Open(rig.Patiently(w.t), rig.Queue, job, jobs.Options{Policy: policy}); err != nil {
		w.t.Fatal(err)
	}
}

// without runs something while a service is away.
func (w *world) without(service string, do func()) {
	w.t.Helper()
	away := w.Running[service]
	for _, p := range away {
		p.Kill()
	}
	do()
	for _, p := range away {
		p.Start()
	}
}

// keys are batches whose API key is gone for a while, each time noticed by another service.
func keys() []scenario {
	gone := func(b *events.Batch) { b.Key = "gone" }
	back := func(b *events.Batch) { b.Key = "default" }
	collector := scenario{
		name: "key-gone-collector", madeFor: []failpoint.Point{"collector.commit.batch.held", "collector.commit.batch.resumed"},
		plays: func() []role {
			return []role{{name: "closed", calls: callRead, times: -1, play: refuse(http.StatusUnauthorized, "")}}
		},
		run: func(w *world) {
			w.job("keyless", rows("row", "m", 3))
			w.event(events.BatchIsFinished, "keyless")
			w.edit("keyless", "1", gone)
			w.event(events.BatchHeld, "keyless")
			w.edit("keyless", "1", back)
			w.event(events.BatchResumed, "keyless")
			w.theatre.end("closed")
		},
		want: expectation{dues: []due{succeed("keyless", 3)}, allowed: []events.Kind{events.BatchHeld, events.BatchNeedsAttention}},
	}
	poller := scenario{
		name: "key-gone-poller", simulator: []string{"--rows-per-second=4"},
		madeFor: []failpoint.Point{"poller.commit.batch.held", "poller.commit.batch.resumed"},
		run: func(w *world) {
			w.job("keyless", rows("row", "m", 8))
			w.event(events.BatchIsSubmitted, "keyless")
			w.without("collector", func() {
				w.edit("keyless", "1", gone)
				w.event(events.BatchHeld, "keyless")
				// What a poll hears is told in the same commit, so that only the sweep is to notice that the key is back.
				w.theatre.begin(role{name: "away", calls: callBatches, times: -1, play: refuse(http.StatusServiceUnavailable, "")})
				w.edit("keyless", "1", back)
				w.event(events.BatchResumed, "keyless")
				w.theatre.end("away")
			})
		},
		want: expectation{dues: []due{succeed("keyless", 8)}, allowed: []events.Kind{events.BatchHeld}},
	}
	return []scenario{
		{
			name: "key-gone-submitter", madeFor: []failpoint.Point{"submitter.commit.batch.held", "submitter.commit.batch.resumed"},
			run: func(w *world) {
				w.open("keyless", func(p *events.Policy) { p.Key = "gone" })
				w.job("keyless", rows("row", "m", 3))
				w.event(events.BatchHeld, "keyless")
				w.edit("keyless", "1", back)
			},
			want: expectation{dues: []due{succeed("keyless", 3)}, allowed: []events.Kind{events.BatchHeld}},
		},
		poller, collector, heldJob(), givenUp(),
	}
}

// heldJob: a planner finds other rows than the state names, until a person has put that right.
func heldJob() scenario {
	return scenario{
		name: "job-held", madeFor: []failpoint.Point{"submitter.commit.job.held", "api.commit.job.resumed"},
		run: func(w *world) {
			w.publish("held", rows("row", "m", 3))
			w.until("the job is walked", func() bool { return w.walked("held") > 0 })
			w.replace("submitter", func() {
				w.editJob("held", func(j *events.Job) { j.Walked.At = j.Walked.At.Add(-time.Second) })
			})
			w.publishMore("held", rows("more", "m", 2))
			w.event(events.JobHeld, "held")
			w.editJob("held", func(j *events.Job) { j.Walked.At = j.Walked.At.Add(time.Second) })
			w.asked("resume", func() error {
				_, err := w.Client.ResumeJobs(w.t.Context(), events.ResumeJobs{JobRef: ref("held")})
				return err
			})
			w.event(events.JobResumed, "held")
			w.seal("held", 5)
		},
		want: expectation{dues: []due{succeed("held", 5)}, allowed: []events.Kind{events.JobHeld}},
	}
}

// givenUp: a job is held as its rows are not those that its state names, and a person cancels it.
func givenUp() scenario {
	return scenario{
		name: "given-up", madeFor: []failpoint.Point{"submitter.commit.job.resumed"},
		run: func(w *world) {
			w.publish("given-up", rows("row", "m", 3))
			w.until("the job is walked", func() bool { return w.walked("given-up") > 0 })
			w.replace("submitter", func() {
				w.editJob("given-up", func(j *events.Job) { j.Walked.At = j.Walked.At.Add(time.Second) })
			})
			w.publishMore("given-up", rows("more", "m", 2))
			w.event(events.JobHeld, "given-up")
			w.asked("cancel", func() error { return second(w.Client.CancelJob(w.t.Context(), ref("given-up"))) })
		},
		want: expectation{
			dues:    []due{{job: "given-up", published: 5, outcomes: map[string]int{"cancelled": 5}}},
			allowed: []events.Kind{events.JobHeld},
		},
	}
}

// walked is up to which block a job is planned.
func (w *world) walked(job string) uint64 {
	j, err := jobs.New(w.Store).Job(rig.Patiently(w.t), rig.Queue, job)
	if err != nil {
		return 0
	}
	return j.Walked.Sequence
}

// replace ends all replicas of a service for good, does something, and starts a new one, which is armed as they were.
func (w *world) replace(service string, do func()) {
	w.t.Helper()
	for _, p := range w.Running[service] {
		p.Kill()
	}
	do()
	w.Running[service] = nil
	w.begun(w.Add(service))
}

// publishMore publishes rows of a second input of the job.
func (w *world) publishMore(job, text string) {
	w.t.Helper()
	w.send(events.RequestSubject(rig.Queue, job), text)
}

// kept: what the keeper deletes, each soon: the rows of an ended job, an object that nothing names, and what a store that was cut off has
// left.
func kept() scenario {
	return scenario{
		name: "kept", services: []string{"--object-age=6s", "--keep-interval=500ms"},
		madeFor: []failpoint.Point{"keeper.purge.rows", "keeper.delete.object", "keeper.purge.object", "keeper.purge.object_chunk"},
		run: func(w *world) {
			if _, err := w.Store.PutObject(rig.Patiently(w.t), jetstore.StreamResults, "batchbus.results.default.kept.nobody", newReader("nobody's")); err != nil {
				w.t.Fatal(err)
			}
			w.send("$O."+jetstore.BucketObjects+".C.cutoff", "half an object")
			w.open("kept", func(p *events.Policy) { p.KeepRowsSeconds = 1 })
			w.job("kept", rows("row", "m", 3))
			w.event(events.JobDone, "kept")
			w.until("the rows are purged", func() bool { return w.Count(jetstore.StreamRows) == 0 })
			w.until("the remnants are deleted", func() bool { return w.Count(jetstore.StreamObjects) == manifestMessages })
		},
		want: expectation{dues: []due{succeed("kept", 3)}},
	}
}

// unopened: a job has rows and no state, as on a bus that was restored in parts.
func unopened() scenario {
	return scenario{
		name: "unopened", madeFor: []failpoint.Point{"submitter.commit.job.opened"},
		run: func(w *world) {
			w.replace("submitter", func() {
				w.publish("unopened", rows("row", "m", 3))
				w.until("the rows are ingested", func() bool { return w.Count(jetstore.StreamRows) == 1 && w.Count(jetstore.StreamRequests) == 0 })
				w.purge(jetstore.KeySubject(events.JobKey(rig.Queue, "unopened")))
				w.purge(events.EventSubject(events.JobOpened, rig.Queue, "unopened", events.EventID("", 0)))
			})
			w.event(events.JobOpened, "unopened")
			w.seal("unopened", 3)
		},
		want: expectation{dues: []due{succeed("unopened", 3)}},
	}
}

// purge removes a state or an event past all of batchbus.
func (w *world) purge(subject string) {
	w.t.Helper()
	if err := w.Store.Purge(rig.Patiently(w.t), jetstore.StreamJobs, subject, 0); err != nil {
		w.t.Fatal(err)
	}
}

// unreadable: for a while a state stands on the bus that no service can read.
func unreadable() scenario {
	return scenario{
		name: "unreadable", simulator: []string{"--rows-per-second=2"}, madeFor: []failpoint.Point{"poller.nak.ticks"},
		run: func(w *world) {
			garbage := jetstore.KeySubject(events.BatchKey(rig.Queue, "garbage", "1"))
			w.job("readable", rows("row", "m", 6))
			w.event(events.BatchIsSubmitted, "readable")
			w.send(garbage, "{")
			// The next tick takes the place of the one that is given back: the log alone tells of it.
			w.until("a tick is given back", func() bool { return strings.Contains(w.Running["poller"][0].Output(), "tick not handled") })
			w.purge(garbage)
		},
		want: expectation{dues: []due{succeed("readable", 6)}},
	}
}

// manifestMessages is what the object of the one manifest takes: a chunk and its description.
const manifestMessages = 2

// cuts are jobs in which batches are cut before the seal, and requests that wait.
func cuts() []scenario {
	return []scenario{
		kept(), unopened(), unreadable(),
		{
			name: "cut", madeFor: []failpoint.Point{"submitter.commit.batch.planned", "submitter.nak.rows", "submitter.commit.job"},
			run: func(w *world) {
				w.open("cut", func(p *events.Policy) { p.MaxRowsPerBatch = 4 })
				w.publish("cut", rows("row", "m", 9))
				w.until("the job is walked", func() bool { return w.walked("cut") > 0 })
				before := w.walked("cut")
				w.replace("submitter", func() {})
				w.publishMore("cut", rows("more", "m", 4))
				// Nobody ends the new one from outside, so it comes to what it is armed for.
				w.until("the job is walked further", func() bool { return w.walked("cut") > before })
				w.seal("cut", 13)
			},
			want: expectation{dues: []due{succeed("cut", 13)}},
		},
		{
			name: "late-object", madeFor: []failpoint.Point{"ingest.nak.requests"},
			run: func(w *world) {
				text := rows("row", "m", 3)
				o, err := w.Store.PutObject(rig.Patiently(w.t), jetstore.StreamRequests, "late", newReader(text))
				if err != nil {
					w.t.Fatal(err)
				}
				put := w.hideObject(o.Name)
				w.send(events.RequestSubject(rig.Queue, "late"), "", objectHeaders(o)...)
				w.until("the request waits", func() bool { return w.redelivered(jetstore.StreamRequests, jetstore.ConsumerIngest) })
				put(text)
				w.seal("late", 3)
			},
			want: expectation{dues: []due{succeed("late", 3)}},
		},
	}
}
