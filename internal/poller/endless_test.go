package poller_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/batchbus/batchbus/pkg/events"
)

// A list of ever new batches repeats nothing, so only a limit of pages ends it.
func TestAListWithoutAnEndKeepsNoDueBatchFromBeingPolledAndIsShown(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.submit("1")
		pages := 0
		w.talkTo(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/v1/batches" {
				w.sim.ServeHTTP(rw, r)
				return
			}
			pages++
			data := make([]map[string]any, 100)
			for i := range data {
				data[i] = map[string]any{"id": fmt.Sprintf("p%d_%d", pages, i), "status": "completed", "created_at": time.Now().Unix()}
			}
			w.ok(json.NewEncoder(rw).Encode(map[string]any{"object": "list", "data": data, "has_more": true}))
		}))
		p := w.run(w.config())
		pass(2 * time.Minute)
		if b := w.batch("1"); b.PolledAt == nil || !strings.Contains(b.Why, "list_endless") || b.Hold != nil {
			t.Errorf("while it runs: %+v", b.Batch)
		}
		if pages == 0 || pages > 150 {
			t.Errorf("%d pages in two minutes", pages)
		}
		pass(2 * time.Hour)
		p.end()
		w.want("finished", w.told(events.BatchIsFinished), map[string]int{"1": 1})
		w.want("why", w.batch("1").Why, "")
	})
}
