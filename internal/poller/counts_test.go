package poller_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/batchbus/batchbus/pkg/events"
)

// The provider's counts are spoilt on their way, in lists and in single answers.
func TestCountsThatContradictTheStatusKeepNoBatchFromEnding(t *testing.T) {
	t.Parallel()
	for name, counts := range map[string]string{
		"negative":                        `{"total":-5,"completed":-1,"failed":-1}`,
		"beyond every number":             `{"total":10000000000000000000000000,"completed":1.5e300,"failed":0}`,
		"more rows than it was sent with": `{"total":1000,"completed":1,"failed":0}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(w *world) {
				w.submit("1")
				w.talkTo(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
					answer := httptest.NewRecorder()
					w.sim.ServeHTTP(answer, r)
					var list map[string]any
					w.ok(json.Unmarshal(answer.Body.Bytes(), &list))
					if entries, ok := list["data"].([]any); ok {
						for _, b := range entries {
							b.(map[string]any)["request_counts"] = json.RawMessage(counts)
						}
					}
					w.ok(json.NewEncoder(rw).Encode(list))
				}))
				w.during(90 * time.Minute)
				w.want("state", w.batch("1").State, events.BatchFinished)
				w.want("finished", w.told(events.BatchIsFinished), map[string]int{"1": 1})
			})
		})
	}
}
