//go:build unix

package e2e_test

import (
	"fmt"
	"io"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

const heldKey = "sk-held-e2e"

// heldRig is batchbus dev on a provider of the test's own, whose first creates are refused for want of credit.
type heldRig struct {
	*dev
	fake   *simulator.Simulator
	client *doubleword.Client
	flags  []string // of an audit that asks the provider too
}

func newHeldRig(t *testing.T, refused int) *heldRig {
	t.Helper()
	config := simulator.Config{Keys: []string{heldKey}, SweepInterval: 1}
	if refused > 0 {
		config.Faults = []simulator.Fault{{Kind: simulator.FaultCreateRefused, Status: 402, Count: refused}}
	}
	fake, err := simulator.New(config)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(fake)
	t.Cleanup(func() { server.CloseClientConnections(); server.Close(); _ = fake.Close() })
	client, err := doubleword.New(doubleword.Config{BaseURL: server.URL + "/v1", Key: doubleword.NewSecret(heldKey)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseIdleConnections)
	d := startDevIn(t, []string{"DOUBLEWORD_API_KEY=" + heldKey}, "--provider-url", server.URL+"/v1",
		"--sweep-interval", "500ms", "--poll-floor", "1s", "--poll-ceiling", "1s", "--missing-grace", "1s", "--cancel-grace", "1s")
	return &heldRig{dev: d, fake: fake, client: client, flags: []string{"--provider", "--provider-url", server.URL + "/v1"}}
}

// rows publishes three rows and seals the job.
func (h *heldRig) rows(t *testing.T, job string) {
	t.Helper()
	var lines []string
	for _, id := range []string{"a", "b", "c"} {
		lines = append(lines, `{"custom_id":"`+id+`","method":"POST","url":"/v1/embeddings","body":{"model":"m","input":"`+id+`"}}`)
	}
	h.publish(t, "batchbus.requests.default."+job, strings.Join(lines, "\n"), "Batchbus-Seal", "true")
}

// untilHeld waits for a hold of the code to show in the job's status.
func (h *heldRig) untilHeld(t *testing.T, job, code string) {
	t.Helper()
	waitUntil(t, h.process, job+" is held", func() bool { return strings.Contains(h.do(t, "status", job).stdout, "HELD "+code) })
}

// stranger makes the batch that a bus which was restored since had planned under the job's first path.
func (h *heldRig) stranger(t *testing.T, job string) string {
	t.Helper()
	store, err := jetstore.Open(h.connect(t))
	if err != nil {
		t.Fatal(err)
	}
	busID, err := store.BusID(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	file, err := h.client.UploadFile(t.Context(), "older.jsonl", func(w io.Writer) error {
		for place, id := range []string{"a", "x", "b"} { // of a at its place, of nobody, of b at another's
			if _, err := fmt.Fprintf(w, "{\"custom_id\":\"%d~%s\",\"method\":\"POST\",\"url\":\"/v1/embeddings\",\"body\":{\"model\":\"m\",\"input\":\"older\"}}\n", place, id); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	remote, err := h.client.CreateBatch(t.Context(), doubleword.NewBatch{
		InputFileID: file.ID, Endpoint: "/v1/embeddings", CompletionWindow: "24h",
		Metadata: map[string]string{"batchbus": busID + "/default/" + job + "/1/", "batchbus_digest": "older", "batchbus_attempt": "1"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return remote.ID
}

// proven waits for the end of the job, all rows of which succeed, and has it audited.
func (h *heldRig) proven(t *testing.T, job string, says ...string) {
	t.Helper()
	h.do(t, "wait", job, "--timeout", "2m").want(t, 0, "succeeded 3")
	o := batchbus(t, h.dir, []string{"DOUBLEWORD_API_KEY=" + heldKey}, append([]string{"audit", job, "--nats", h.url}, h.flags...)...)
	o.want(t, 0)
	for _, text := range append(says, "proven by rows") {
		if !strings.Contains(o.stdout, text) {
			t.Errorf("the audit does not say %q:\n%s", text, o.stdout)
		}
	}
}

func TestAQueueWithoutCreditIsResumedByCommand(t *testing.T) {
	t.Parallel()
	h := newHeldRig(t, 2)
	for _, job := range []string{"one", "two"} { // the second is held by the refusal of the first
		h.rows(t, job)
		h.untilHeld(t, job, "out_of_credit for ")
	}
	waitUntil(t, h.process, "two waits for its queue", func() bool { return strings.Contains(h.do(t, "status", "two").stdout, "queue_held") })
	if calls := h.fake.Ledger().Calls["POST /v1/batches"]; calls != 1 {
		t.Errorf("%d creates in a held queue", calls)
	}
	h.do(t, "list").want(t, 0)
	h.do(t, "wait", "one").want(t, 2, "batchbus resume --queue default")
	h.do(t, "batch", "abandon", "one/1").want(t, 2, "waits for its queue")
	h.do(t, "resume", "one", "--code", "refused").want(t, 0, "nothing is held there as refused")
	h.do(t, "resume", "one").want(t, 2, "queue default: out_of_credit: it ends by batchbus resume --queue default")
	h.do(t, "resume", "--queue", "default").want(t, 0, "queue default: out_of_credit: it goes on")
	waitUntil(t, h.process, "the second refusal holds the queue", func() bool { // by either job: the other's create may be the first one taken
		return h.fake.Ledger().Calls["POST /v1/batches"] >= 2 &&
			strings.Contains(h.do(t, "status", "one").stdout+h.do(t, "status", "two").stdout, "HELD out_of_credit for ")
	})
	o := h.do(t, "resume", "--queue", "default", "--json")
	o.want(t, 0)
	if strings.Count(o.stdout, `"ended":true`) != 1 {
		t.Errorf("%s", o.stdout)
	}
	h.proven(t, "one")
	h.proven(t, "two")
	services := []string{"BATCHBUS_MAX_STORE=1000000"} // theirs; no embedded bus is meant
	batchbus(t, h.dir, services, "wait", "one", "--nats", h.url).want(t, 0, "succeeded 3")
	h.do(t, "resume", "one").want(t, 0, "nothing is held")
	h.do(t, "resume", "one", "--batch", "1").want(t, 2, "not held")
	h.do(t, "resume", "one", "--batch", "2").want(t, 2, "no batch 2")
}

func TestABatchOfARestoredBusIsAdoptedByCommand(t *testing.T) {
	t.Parallel()
	h := newHeldRig(t, 0)
	remote := h.stranger(t, "older")
	h.rows(t, "older")
	h.untilHeld(t, "older", "bus_older_than_world")
	h.do(t, "resume", "older").want(t, 2, "it ends by adopt or abandon")
	o := h.do(t, "batch", "adopt", "older/1", remote, "--json")
	o.want(t, 0, "to follow it")
	if !strings.Contains(o.stdout, `"kind": "adopt"`) {
		t.Errorf("%s", o.stdout)
	}
	h.proven(t, "older", "provider: 2 batches")
	answers := map[bool][]string{} // of the adopted batch, and of its follow-up
	for line := range strings.Lines(h.do(t, "results", "older").stdout) {
		adopted := strings.Contains(line, remote)
		answers[adopted] = append(answers[adopted], line)
	}
	if len(answers[true]) != 1 || len(answers[false]) != 2 || !strings.Contains(answers[true][0], `"custom_id":"a"`) {
		t.Errorf("answers of the adopted batch: %v\nof the follow-up: %v", answers[true], answers[false])
	}
	if status := h.do(t, "status", "older").stdout; !strings.Contains(status, "batch 1-1: settled  2 rows") {
		t.Errorf("two rows had no answer of their own: %s", status)
	}
}

func TestABatchOfARestoredBusIsAbandonedByCommand(t *testing.T) {
	t.Parallel()
	h := newHeldRig(t, 0)
	h.stranger(t, "given-up")
	h.rows(t, "given-up")
	h.untilHeld(t, "given-up", "bus_older_than_world")
	h.do(t, "batch", "abandon", "default/given-up/1").want(t, 0, "plan its rows anew")
	h.proven(t, "given-up", "1 given up by a person")
	if status := h.do(t, "status", "given-up").stdout; !strings.Contains(status, "batch 1-1: settled  3 rows") || !strings.Contains(status, "abandoned") {
		t.Errorf("%s", status)
	}
}
