package chaos_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/batchbus/batchbus/internal/failpoint"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
	"github.com/batchbus/batchbus/test/rig"
)

// asked are jobs that people drive by the control API, which ingest answers as well as the submitter.
func asked() []scenario {
	return []scenario{askedJob(), askedRetry(), askedHold(), askedQueue(), askedPause(), word(), foreign("adopted"), foreign("abandoned")}
}

func ref(job string) events.JobRef { return events.JobRef{Queue: rig.Queue, Job: job} }

// askedJob: the queue's policy is changed, one job is opened, sealed and forgotten, another one cancelled.
func askedJob() scenario {
	return scenario{
		name: "asked",
		madeFor: []failpoint.Point{
			"api.commit.queue", "api.commit.job.opened", "api.publish.seal_request", "api.commit.job.forgotten", "api.purge.rows", "api.purge.results",
			"api.purge.deadletters", "api.delete.object", "api.purge.object",
		},
		run: func(w *world) {
			ctx := w.t.Context()
			w.asked("put", func() error {
				return second(w.Client.PutQueue(ctx, events.PutQueue{Queue: rig.Queue, Policy: json.RawMessage(`{"keep_rows_seconds":600000}`)}))
			})
			w.asked("open", func() error { return second(w.Client.OpenJob(ctx, events.OpenJob{JobRef: ref("asked")})) })
			w.publish("asked", rows("row", "m", 4)+noRow)
			w.asked("seal", func() error { return second(w.Client.SealJob(ctx, events.SealJob{JobRef: ref("asked")})) })
			w.publish("dropped", rows("row", "m", 3))
			w.event(events.JobOpened, "dropped")
			w.asked("cancel", func() error { return second(w.Client.CancelJob(ctx, ref("dropped"))) })
			w.event(events.JobDone, "asked")
			w.asked("forget", func() error { return second(w.Client.ForgetJob(ctx, ref("asked"))) })
		},
		want: expectation{dues: []due{
			{job: "asked", published: 5, forgotten: true}, {job: "dropped", published: 3, outcomes: map[string]int{"cancelled": 3}},
		}},
	}
}

// askedQueue: a queue is held since the account has no credit, and resumed by a person.
func askedQueue() scenario {
	return scenario{
		name: "broke", madeFor: []failpoint.Point{"submitter.commit.queue.held", "api.commit.queue.resumed"},
		plays: func() []role {
			return []role{{name: "broke", calls: callCreate, times: -1, play: refuse(http.StatusPaymentRequired, "Insufficient credit")}}
		},
		run: func(w *world) {
			w.job("broke", rows("row", "m", 3))
			w.event(events.QueueHeld, events.NoJob)
			w.theatre.end("broke")
			w.asked("resume", func() error {
				_, err := w.Client.ResumeJobs(w.t.Context(), events.ResumeJobs{JobRef: events.JobRef{Queue: rig.Queue}})
				return err
			})
			w.event(events.QueueResumed, events.NoJob)
		},
		want: expectation{dues: []due{succeed("broke", 3)}, allowed: []events.Kind{events.QueueHeld}},
	}
}

// askedPause: a queue is paused, a job of it is planned and not sent, and the queue is resumed.
func askedPause() scenario {
	return scenario{
		name: "paused", madeFor: []failpoint.Point{"api.commit.queue.held"},
		run: func(w *world) {
			ctx := w.t.Context()
			w.asked("pause", func() error { return second(w.Client.PauseQueue(ctx, events.PauseQueue{Queue: rig.Queue})) })
			w.job("paused", rows("row", "m", 3))
			w.event(events.JobFullyPlanned, "paused")
			w.asked("resume", func() error { return second(w.Client.ResumeQueue(ctx, rig.Queue)) })
			w.event(events.QueueResumed, events.NoJob)
		},
		want: expectation{dues: []due{succeed("paused", 3)}, allowed: []events.Kind{events.QueueHeld}},
	}
}

// askedRetry: every row fails, one of them too big for a message, and is retried by hand.
func askedRetry() scenario {
	return scenario{
		name: "retried", simulator: []string{"--failure-rate=1"},
		madeFor: []failpoint.Point{"api.publish.requests", "api.publish.object", "api.publish.object_chunk"},
		run: func(w *world) {
			w.job("tried", rows("row", "m", 3)+rig.Chat("big", "m", strings.Repeat("x", 1<<20)))
			w.event(events.JobDone, "tried")
			w.asked("retry", func() error {
				return second(w.Client.RetryJob(w.t.Context(), events.RetryJob{JobRef: ref("tried"), All: true}))
			})
			w.event(events.JobDone, "tried-retry1")
		},
		want: expectation{dues: []due{
			{job: "tried", published: 4, outcomes: map[string]int{"failed": 4}},
			{job: "tried-retry1", published: 4, outcomes: map[string]int{"failed": 4}},
		}},
	}
}

// askedHold: a batch is held since the provider refuses it for no row's fault, and resumed by a person.
func askedHold() scenario {
	return scenario{
		name: "forbidden", madeFor: []failpoint.Point{"api.commit.batch.resumed"},
		plays: func() []role {
			return []role{{name: "forbidden", calls: callCreate, times: 1, play: refuse(http.StatusForbidden, "Insufficient permissions")}}
		},
		run: func(w *world) {
			w.job("held", rows("row", "m", 3))
			w.event(events.BatchHeld, "held")
			w.asked("resume", func() error {
				return held(w.Client.ResumeBatch(w.t.Context(), events.EndHold{JobRef: ref("held"), N: "1"}))
			})
		},
		want: expectation{dues: []due{succeed("held", 3)}, allowed: []events.Kind{events.BatchHeld}},
	}
}

// word: a batch is held whose create had no answer, as with a provider that cannot list; a person says that it may go on.
func word() scenario {
	return scenario{
		name: "word", madeFor: []failpoint.Point{"api.commit.batch"},
		plays: func() []role {
			return []role{{name: "lost call", calls: callCreate, times: 1, play: refuse(http.StatusGatewayTimeout, "")}}
		},
		run: func(w *world) {
			w.job("word", rows("row", "m", 3))
			w.until("a create has no answer", func() bool { return w.theatre.played("lost call") > 0 })
			w.replace("submitter", func() {
				w.edit("word", "1", func(b *events.Batch) {
					b.Hold = &events.Hold{Code: events.HoldCapability, Message: "said by the test", At: time.Now()}
				})
			})
			w.asked("resume", func() error {
				return held(w.Client.ResumeBatch(w.t.Context(), events.EndHold{JobRef: ref("word"), N: "1"}))
			})
		},
		want: expectation{dues: []due{succeed("word", 3)}},
	}
}

// held is the error of a call that ends a hold; that nothing is held means that an earlier try has done it.
func held(_ events.Batch, err error) error {
	if told, ok := errors.AsType[*events.APIError](err); ok && told.Code == events.APINotHeld {
		return nil
	}
	return err
}

// foreign: the provider runs a batch of the path with other rows, as after a restore of the bus; a person adopts it, or abandons it.
func foreign(end string) scenario {
	s := scenario{
		name: "foreign-" + end, simulator: []string{"--rows-per-second=4"},
		run: func(w *world) {
			var file strings.Builder
			for i, line := range strings.SplitAfter(strings.TrimSpace(rows("row", "m", 6)), "\n") {
				file.WriteString(strings.Replace(line, "row-", strconv.Itoa(i)+"~row-", 1))
			}
			id := w.upload(file.String() + "\n")
			other := w.create(id, map[string]string{pathKey: w.pathOf("foreign", "1"), "batchbus_digest": "another"})
			w.job("foreign", rows("row", "m", 6))
			w.event(events.BatchHeld, "foreign")
			q := events.EndHold{JobRef: ref("foreign"), N: "1"}
			if end == "adopted" {
				q.ProviderBatchID = other
				w.asked("adopt", func() error { return held(w.Client.AdoptBatch(w.t.Context(), q)) })
			} else {
				w.asked("abandon", func() error { return held(w.Client.AbandonBatch(w.t.Context(), q)) })
			}
		},
		want: expectation{dues: []due{succeed("foreign", 6)}, allowed: []events.Kind{events.BatchHeld, events.BatchTwin, events.BatchOrphan}},
	}
	if end == "adopted" {
		s.madeFor = []failpoint.Point{"api.commit.batch.adopting"}
	} else {
		s.madeFor = []failpoint.Point{"api.commit.batch.abandoning"}
	}
	return s
}

// second is a call's error without its answer.
func second[T any](_ T, err error) error { return err }

func newReader(text string) *strings.Reader { return strings.NewReader(text) }

// objectHeaders refer to an object.
func objectHeaders(o jetstore.Object) []string {
	return []string{
		jetstore.HeaderObject, o.Name, jetstore.HeaderDigest, o.Digest, jetstore.HeaderSize, strconv.FormatInt(o.Size, 10),
	}
}

// hideObject deletes an object and returns what puts it back.
func (w *world) hideObject(name string) (put func(text string)) {
	w.t.Helper()
	bucket, err := w.JS.ObjectStore(rig.Patiently(w.t), jetstore.BucketObjects)
	if err == nil {
		err = bucket.Delete(rig.Patiently(w.t), name)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return func(text string) {
		if _, err := bucket.Put(rig.Patiently(w.t), jetstream.ObjectMeta{Name: name}, newReader(text)); err != nil {
			w.t.Fatal(err)
		}
	}
}

// redelivered tells whether something has been given back to a consumer.
func (w *world) redelivered(stream, name string) bool {
	consumer, err := w.JS.Consumer(w.t.Context(), stream, name)
	return err == nil && consumer.CachedInfo().NumRedelivered > 0
}
