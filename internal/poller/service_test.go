package poller_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/internal/poller"
	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

func TestAllBatchesOfAKeyShareOneListCall(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.submitAs(func(b *events.Batch) {
			b.Status, b.Counts.Total = doubleword.StatusInProgress, 1 // no news, since 1000 events take their time
		}, upTo(1000)...)
		w.during(45 * time.Second)
		w.want("list requests for 1000 batches, 100 a page", w.calls(list), 10)
		w.want("requests for one batch", w.calls(get), 0)
		for _, n := range []string{"1", "500", "1000"} {
			if b := w.batch(n); b.PolledAt == nil {
				t.Errorf("batch %s was not polled: %+v", n, b)
			}
		}
		w.want("events, without news", w.told(events.BatchProgress), map[string]int{})
	})
}

func TestABatchIsFollowedToItsEnd(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.submit("1")
		w.during(3 * time.Hour)
		b := w.batch("1")
		w.want("state", b.State, events.BatchFinished)
		w.want("the provider's word and counts", fmt.Sprint(b.Status, " ", b.Counts), "completed {1 1 0}")
		w.want("finished events", w.told(events.BatchIsFinished), map[string]int{"1": 1})
		if b.OutputFileID == "" || b.ExpiresAt == nil || b.FinishedAt == nil {
			t.Errorf("%+v", b)
		}
		if n := w.calls(list); n < 20 || n > 60 {
			t.Errorf("%d list requests in an hour", n)
		}
		before := w.calls(list)
		w.during(time.Hour)
		w.want("requests for a batch that has ended", w.calls(list), before)
	})
}

func TestOnlyWhatIsDueIsAskedFor(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		later := time.Now().Add(10 * time.Minute)
		w.store("1", func(b *events.Batch) { b.State, b.ProviderBatchID, b.NextPollAt = events.BatchSubmitted, "one", &later })
		w.store("2", func(b *events.Batch) { b.State = events.BatchCreating })
		w.store("3", func(b *events.Batch) { b.State, b.ProviderBatchID = events.BatchFinished, "three" })
		w.store("4", func(b *events.Batch) { b.State, b.ProviderBatchID, b.Key = events.BatchSubmitted, "four", "other" })
		w.during(5 * time.Minute)
		w.want("requests", w.calls(list)+w.calls(get), 0)
	})
}

func TestWhatTheListDoesNotShowIsReadAlone(t *testing.T) {
	t.Parallel()
	t.Run("because the list is empty", func(t *testing.T) {
		t.Parallel()
		inWorld(t, func(w *world) {
			w.submit(upTo(3)...)
			w.talkTo(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/v1/batches" {
					fmt.Fprint(rw, `{"object":"list","data":[],"has_more":false}`)
					return
				}
				w.sim.ServeHTTP(rw, r)
			}))
			w.during(45 * time.Second)
			w.want("requests for one batch", w.calls(get), 3)
			w.want("batches with news", w.told(events.BatchProgress), map[string]int{"1": 1, "2": 1, "3": 1})
		})
	})
	t.Run("because the list repeats its first page", func(t *testing.T) {
		t.Parallel()
		inWorld(t, func(w *world) {
			w.submit(upTo(130)...)
			w.talkTo(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				q := r.URL.Query()
				q.Del("after")
				r.URL.RawQuery = q.Encode()
				w.sim.ServeHTTP(rw, r)
			}))
			w.during(45 * time.Second)
			w.want("list requests", w.calls(list), 2)
			w.want("requests for one batch", w.calls(get), 30)
			w.want("batches with news", len(w.told(events.BatchProgress)), 130)
		})
	})
	t.Run("and a batch that the provider denies is in doubt, alone", func(t *testing.T) {
		t.Parallel()
		inWorld(t, func(w *world) {
			w.submit("1")
			w.store("2", func(b *events.Batch) {
				b.State, b.ProviderBatchID = events.BatchSubmitted, "0123e4b7-0000-4000-8000-000000000000"
			})
			w.during(2 * time.Hour)
			w.want("finished", w.told(events.BatchIsFinished), map[string]int{"1": 1})
			w.want("needs attention", w.told(events.BatchNeedsAttention), map[string]int{"2": 1})
			if b := w.batch("2"); b.State != events.BatchSubmitted || !strings.Contains(b.LastError, "404") {
				t.Errorf("%s: %s", b.State, b.LastError)
			}
		})
	})
}

func TestAListOutageIsOneCallAndEveryBatchSaysWhy(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusUnauthorized, http.StatusNotFound, http.StatusServiceUnavailable} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(w *world) {
				w.submit(upTo(5)...)
				var refused atomic.Int32
				w.talkTo(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
					refused.Add(1)
					rw.WriteHeader(status)
				}))
				p := w.run(w.config())
				pass(45 * time.Second)
				w.want("requests at the first tick", refused.Load(), 1)
				for i := range 5 {
					b := w.batch(strconv.Itoa(i + 1))
					if !strings.Contains(b.LastError, strconv.Itoa(status)) || b.Why == "" || b.UnknownSince == nil || b.State != events.BatchSubmitted {
						t.Errorf("%+v", b.Batch)
					}
				}
				pass(25 * time.Minute)
				every := map[string]int{"1": 1, "2": 1, "3": 1, "4": 1, "5": 1}
				w.want("needs attention", w.told(events.BatchNeedsAttention), every)
				w.talkTo(w.sim)
				pass(25 * time.Minute)
				p.end()
				w.want("resumed", w.told(events.BatchResumed), every)
				w.want("needs attention, afterwards", w.told(events.BatchNeedsAttention), every)
				if b := w.batch("1"); b.LastError != "" || b.Hold != nil || b.Status != "validating" && b.Status != "in_progress" {
					t.Errorf("%+v", b.Batch)
				}
			})
		})
	}
}

func TestBatchesWaitForTheirKey(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.submit("1")
		without := w.config()
		without.Keys, without.Provider = nil, func(string) (poller.Provider, bool) { return nil, false }
		p := w.run(without)
		pass(10 * time.Minute)
		p.end()
		b := w.batch("1")
		if b.Hold == nil || b.Hold.Code != events.HoldKeyMissing || !strings.Contains(b.Hold.Message, key) {
			t.Errorf("hold %+v", b.Hold)
		}
		w.want("held", w.told(events.BatchHeld), map[string]int{"1": 1})
		w.want("requests", w.calls(list), 0)
		w.during(5 * time.Minute)
		b = w.batch("1")
		w.want("resumed", w.told(events.BatchResumed), map[string]int{"1": 1})
		if b.Hold != nil || b.PolledAt == nil {
			t.Errorf("%+v", b.Batch)
		}
	})
}

func TestStrangersAreToldOnce(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.submit("1")
		w.remote(busID, "1") // a twin
		w.remote(busID, "1") // and another
		w.remote(busID, "2") // an orphan
		w.remote("BUS8", "3")
		w.remote(busID, "4")
		w.store("4", func(b *events.Batch) { b.State = events.BatchCreating }) // the submitter is about to adopt it
		w.remote(busID, "5")
		w.store("5", func(b *events.Batch) { b.State = events.BatchCancelled }) // nobody will
		w.during(30 * time.Minute)
		w.during(5 * time.Minute)
		if n := w.calls(list); n < 10 {
			t.Fatalf("%d lists are too few to show that nothing is told twice", n)
		}
		w.want("twins", w.told(events.BatchTwin), map[string]int{"1": 2, "5": 1})
		w.want("orphans", w.told(events.BatchOrphan), map[string]int{"2": 1})
	})
}

func TestAnOrphanThatHasCompletedUnseenIsToldToo(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.remote(busID, "2")
		pass(2 * time.Hour)
		w.submit("1")
		w.during(5 * time.Minute)
		w.want("orphans", w.told(events.BatchOrphan), map[string]int{"2": 1})
	})
}

func TestWhatAPersonGaveUpIsToldOfOnlyWhileItRuns(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		over := w.remote(busID, "2")
		pass(2 * time.Hour)
		runs := w.remote(busID, "3")
		for n, id := range map[string]string{"2": over.ID, "3": runs.ID} {
			w.store(n, func(b *events.Batch) { b.State, b.Abandoned = events.BatchSettled, []string{id} })
		}
		w.submit("1")
		w.during(5 * time.Minute)
		w.want("twins", w.told(events.BatchTwin), map[string]int{"3": 1})
	})
}

func TestTicksThatWereLostAreSetAgain(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.submit("1")
		c := w.config()
		c.Floor = 1500 * time.Millisecond // no whole number of seconds
		p := w.run(c)
		pass(10 * time.Second)
		if w.calls(list) == 0 {
			t.Fatal("nothing was polled")
		}
		w.ok(w.f.Store.ClearTick(w.ctx(), "poll."+key))
		pass(2 * time.Minute)
		before := w.calls(list)
		pass(10 * time.Minute)
		p.end()
		if after := w.calls(list); after <= before {
			t.Errorf("%d list requests before, %d after", before, after)
		}
	})
}

// refusingBus refuses for good to change one batch.
type refusingBus struct {
	*jetstore.Store
	subject string
}

func (b *refusingBus) Commit(ctx context.Context, changes ...jetstore.Change) ([]uint64, error) {
	for _, c := range changes {
		if c.Subject == b.subject {
			return nil, errors.New("message too big")
		}
	}
	return b.Store.Commit(ctx, changes...)
}

func TestABatchThatCannotBeChangedDoesNotKeepTheOthers(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.submit(upTo(5)...)
		c := w.config()
		c.Jobs = jobs.New(&refusingBus{Store: w.f.Store, subject: jetstore.KeySubject(events.BatchKey(queue, job, "3"))})
		p := w.run(c)
		pass(45 * time.Second)
		p.end()
		w.want("batches with news", w.told(events.BatchProgress), map[string]int{"1": 1, "2": 1, "4": 1, "5": 1})
	})
}

func TestAPollerNeedsItsParts(t *testing.T) {
	t.Parallel()
	whole := poller.Config{
		Bus: &jetstore.Store{}, Jobs: jobs.New(nil), BusID: busID, Keys: []string{key},
		Provider: func(string) (poller.Provider, bool) { return nil, false },
	}
	if s, err := poller.New(whole); err != nil || s.Name() != "poller" {
		t.Fatal(err)
	}
	for name, edit := range map[string]func(*poller.Config){
		"bus":                     func(c *poller.Config) { c.Bus = nil },
		"jobs":                    func(c *poller.Config) { c.Jobs = nil },
		"provider":                func(c *poller.Config) { c.Provider = nil },
		"bus id":                  func(c *poller.Config) { c.BusID = "" },
		"a token as a key's name": func(c *poller.Config) { c.Keys = []string{key, "two.words"} },
	} {
		c := whole
		edit(&c)
		if _, err := poller.New(c); err == nil {
			t.Errorf("without %s it is made", name)
		}
	}
}
