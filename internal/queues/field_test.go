package queues_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/batchbus/batchbus/internal/queues"
	"github.com/batchbus/batchbus/pkg/events"
)

func TestFieldsAreSetFromText(t *testing.T) {
	t.Parallel()
	fields := map[string]any{"key": "old", "retry": map[string]any{"max_attempts": 2}}
	for _, set := range [][2]string{
		{"key", "night"}, {"window", "1h"}, {"opaque_ids", "true"}, {"max_bytes_per_batch", "1000000"}, {"retry.on", "failed,expired"}, {"windows", "1h"},
	} {
		if err := queues.Set(fields, set[0], set[1]); err != nil {
			t.Fatal(err)
		}
	}
	text, err := json.Marshal(fields)
	want := `{"key":"night","max_bytes_per_batch":1000000,"opaque_ids":true,"retry":{"max_attempts":2,"on":["failed","expired"]},"window":"1h","windows":["1h"]}`
	if err != nil || string(text) != want {
		t.Errorf("%s, %v", text, err)
	}
	for _, set := range [][2]string{{"body.temperature", "0"}, {"body.stop", `["a","b"]`}, {"body.temperature", "0.5"}, {"body.user", "me"}} {
		if err := queues.Set(fields, set[0], set[1]); err != nil {
			t.Fatal(err)
		}
	}
	if got := fmt.Sprint(fields["set"]); got != `[body.temperature=0.5 body.stop=["a","b"] body.user=me]` {
		t.Errorf("members of the body: %s", got)
	}
	for _, name := range []string{"body.user", "body.none", "body.temperature", "body.stop", "retry", "window", "key", "nothing_such", "windows"} {
		if err := queues.Unset(fields, name); (err != nil) != (name == "nothing_such") {
			t.Errorf("unset %s: %v", name, err)
		}
	}
	if len(fields) != 2 {
		t.Errorf("left: %v", fields)
	}
}

func TestAFieldThatIsNoneOrHasAnotherKindIsRefused(t *testing.T) {
	t.Parallel()
	for _, set := range [][2]string{
		{"windw", "1h"},
		{"retry", "failed"},
		{"retry.attempts", "2"},
		{"window.x", "1h"},
		{"", "x"},
		{"opaque_ids", "yes"},
		{"max_rows_per_job", "many"},
		{"max_rows_per_job", "1.5"},
		{"set", "body.temperature=0"},
		{"body.model", "m"},
		{"body.stream", "true"},
	} {
		fields := map[string]any{}
		if err := queues.Set(fields, set[0], set[1]); err == nil || len(fields) != 0 {
			t.Errorf("%s=%s: %v, %v", set[0], set[1], err, fields)
		}
	}
}

func TestEveryFieldOfThePolicyCanBeNamed(t *testing.T) {
	t.Parallel()
	names := queues.Fields()
	for _, want := range []string{"window", "windows", "default_model", "retry.on", "retry.max_attempts", "cancel_grace_seconds"} {
		if !slices.Contains(names, want) {
			t.Errorf("no %s among %s", want, strings.Join(names, " "))
		}
	}
	text, err := json.Marshal(events.DefaultPolicy())
	var fields map[string]any
	if err != nil || json.Unmarshal(text, &fields) != nil {
		t.Fatal(err)
	}
	for name := range fields {
		if !slices.ContainsFunc(names, func(n string) bool { return n == name || strings.HasPrefix(n, name+".") }) {
			t.Errorf("%s cannot be named", name)
		}
	}
}

func TestAJobsOptionsAreLaidOverItsQueuesPolicy(t *testing.T) {
	t.Parallel()
	queue := events.DefaultPolicy()
	queue.Window, queue.Key = "1h", "night"
	before := queue
	before.URLs, before.Windows = slices.Clone(queue.URLs), slices.Clone(queue.Windows)
	got, err := queues.Overlay(queue, []byte(`{"retry":{"max_attempts":5},"urls":["/v1/a"],"windows":["48h","1h"],"opaque_ids":true}`))
	want := queue
	want.Retry.MaxAttempts, want.URLs, want.Windows, want.OpaqueIDs = 5, []string{"/v1/a"}, []string{"48h", "1h"}, true
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	if !reflect.DeepEqual(queue, before) {
		t.Errorf("the queue's own policy was written into: %+v", queue)
	}
	if _, err := queues.Overlay(queue, []byte(`{"colour":"red"}`)); err == nil {
		t.Error("an unknown field is taken")
	}
	if same, err := queues.Overlay(queue, nil); err != nil || !reflect.DeepEqual(same, queue) {
		t.Errorf("no options: %+v, %v", same, err)
	}
}
