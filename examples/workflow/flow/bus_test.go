package flow_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/batchbus/batchbus"
	"github.com/batchbus/batchbus/examples/workflow/flow"
	"github.com/batchbus/batchbus/examples/workflow/tools"
	"github.com/batchbus/batchbus/pkg/client"
	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// rig is a bus with all services, and a simulator whose ledger says what was paid.
type rig struct {
	store  *jetstore.Store
	client *client.Client
	kv     *flow.KV
	fake   *simulator.Simulator
}

func startRig(t *testing.T) *rig {
	t.Helper()
	fake, err := simulator.New(simulator.Config{Dir: t.TempDir(), SweepInterval: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(fake)
	ready := make(chan struct{})
	local, err := batchbus.OpenLocal(t.Context(), batchbus.LocalConfig{Dir: t.TempDir(), MaxStore: 1 << 30, Config: batchbus.Config{
		BaseURL: server.URL + "/v1", Keys: map[string]doubleword.Secret{batchbus.DefaultKey: doubleword.NewSecret("k")},
		Times: batchbus.Times{PollFloor: time.Second, PollCeiling: time.Second, SweepInterval: time.Second, MissingGrace: time.Second},
		Ready: func() { close(ready) },
	}})
	if err != nil {
		t.Fatal(err)
	}
	serving, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- local.Run(serving) }()
	<-ready
	conn, err := local.Connect("test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		stop()
		if err := errors.Join(<-ended, local.Close()); err != nil {
			t.Error(err)
		}
		server.Close()
		if err := fake.Close(); err != nil {
			t.Error(err)
		}
	})
	r := &rig{fake: fake}
	if r.store, err = jetstore.Open(conn); err != nil {
		t.Fatal(err)
	}
	if r.kv, err = flow.OpenKV(t.Context(), r.store.JetStream()); err != nil {
		t.Fatal(err)
	}
	r.client = client.New(r.store)
	return r
}

// rigRows have their answer in stage 1, 2 and 3.
func rigRows() []string {
	return []string{
		strings.Replace(row("one", "Say hello."), `"model"`, `"tool_choice":"none","model"`, 1),
		row("two", "How many are open? Use count_orders."),
		row("three", "First part_price, then count_orders."),
	}
}

// load loads rows with the tools of the example.
func load(t *testing.T, lines []string) (*tools.Registry, []*flow.Thread) {
	t.Helper()
	registry, err := tools.New(tools.Limits{Timeout: time.Second, ResultBytes: 1000}, tools.Local(time.Unix(0, 0))...)
	if err != nil {
		t.Fatal(err)
	}
	threads, err := flow.Load(strings.NewReader(strings.Join(lines, "\n")), registry.Definitions(), flow.DefaultCaps())
	if err != nil {
		t.Fatal(err)
	}
	return registry, threads
}

// config is the workflow of the name on the rig.
func (r *rig) config(name string, registry *tools.Registry) flow.Config {
	return flow.Config{
		Bus: r.client, Receipts: r.kv, Tools: registry, Queue: "default", Job: name, Caps: flow.DefaultCaps(), Say: func(string) {},
	}
}

// paid is how many rows the provider was sent for each job of the workflow, and how many ran.
func (r *rig) paid(name string) (rows map[string]int, ran int) {
	rows = map[string]int{}
	for _, create := range r.fake.Ledger().Creates {
		path := strings.Split(create.Metadata["batchbus"], "/") // bus, queue, job, batch
		if job := path[2]; job == name || strings.HasPrefix(job, name+"-") {
			rows[job] += create.Rows
			ran += create.RowsRun
		}
	}
	return rows, ran
}

// receipts counts those of the workflow.
func (r *rig) receipts(t *testing.T, name string) int {
	t.Helper()
	counts, err := r.store.SubjectCounts(t.Context(), "KV_"+flow.Bucket, "$KV."+flow.Bucket+".default."+name+".>")
	if err != nil {
		t.Fatal(err)
	}
	return len(counts)
}

// mustBePaidOnce checks what the provider and the bucket hold of a workflow of rigRows.
func (r *rig) mustBePaidOnce(t *testing.T, name string) {
	t.Helper()
	rows, ran := r.paid(name)
	if rows[name] != 3 || rows[name+"-2"] != 2 || rows[name+"-3"] != 1 || len(rows) != 3 || ran != 6 {
		t.Errorf("%s: the provider was sent %v, and ran %d", name, rows, ran)
	}
	for _, job := range []string{name, name + "-2", name + "-3"} {
		for letter, err := range r.client.DeadLetters(t.Context(), "default", job, 0) {
			t.Errorf("%s: a row was sent twice, as another one: %s %v", name, letter.Code, err)
		}
	}
	if n := r.receipts(t, name); n != 6 { // three stages, and three answers that called a tool
		t.Errorf("%s: %d receipts", name, n)
	}
}
