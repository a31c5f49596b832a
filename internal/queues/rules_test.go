package queues_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/batchbus/batchbus/internal/queues"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/rows"
)

func TestTheRulesOfAPolicyAreAllThatItSaysOfRows(t *testing.T) {
	t.Parallel()
	plain := events.DefaultPolicy()
	rules, err := queues.Rules(&plain)
	if want := rows.DefaultRules(); err != nil || !reflect.DeepEqual(rules, &want) {
		t.Errorf("by default %+v, %v", rules, err)
	}
	own := events.Policy{DefaultModel: "a", Model: "b", Models: []string{"b"}, Set: []string{"body.n=1"}, URLs: []string{"/v1/x"}, MaxRowBytes: 9}
	rules, err = queues.Rules(&own)
	if err != nil || rules.DefaultModel != "a" || rules.Model != "b" || rules.Models[0] != "b" || rules.URLs[0] != "/v1/x" || rules.MaxRowBytes != 9 ||
		len(rules.Set) != 1 || string(rules.Set[0].Value) != "1" {
		t.Errorf("%+v, %v", rules, err)
	}
	if _, err := queues.Rules(&events.Policy{Set: []string{"n=1"}}); err == nil {
		t.Error("a setting that is none is obeyed")
	}
}

func TestARollingJobsBatchesAreCutAtSizesOfTheirOwn(t *testing.T) {
	t.Parallel()
	p := events.DefaultPolicy()
	if got := queues.Rolling(p, 7*time.Second); got.LingerSeconds != 7 || got.MaxRowsPerBatch != p.MaxRowsPerBatch || got.MaxBytesPerBatch != p.MaxBytesPerBatch {
		t.Errorf("none of its own: %+v", got)
	}
	p.RollingRowsPerBatch, p.RollingBytesPerBatch = 10, 20<<20
	if got := queues.Rolling(p, time.Second); got.MaxRowsPerBatch != 10 || got.MaxBytesPerBatch != 20<<20 || got.MaxRowsPerJob != p.MaxRowsPerJob {
		t.Errorf("%+v", got)
	}
	p.MaxRowsPerBatch = 3
	if got := queues.Rolling(p, time.Second); got.MaxRowsPerBatch != 3 {
		t.Errorf("beyond what all batches may have: %+v", got)
	}
}

func TestListsOfAPolicyAreSharedWithNoJob(t *testing.T) {
	t.Parallel()
	p := events.DefaultPolicy()
	p.Models, p.Set = []string{"a"}, []string{"body.n=1"}
	before, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	got, err := queues.Overlay(p, []byte(`{"models":["b"],"set":["body.n=2"]}`))
	if err != nil {
		t.Fatal(err)
	}
	after, err := json.Marshal(p)
	if err != nil || got.Models[0] != "b" || got.Set[0] != "body.n=2" || string(before) != string(after) {
		t.Errorf("%+v, %v, and the queue's is %s", got, err, after)
	}
}
