package flow_test

import (
	"strconv"
	"sync"
	"testing"

	"github.com/batchbus/batchbus/examples/workflow/flow"
	"github.com/batchbus/batchbus/pkg/jetstore/jetstoretest"
)

func TestTheFirstReceiptOfAKeyStands(t *testing.T) {
	t.Parallel()
	f := jetstoretest.Start(t)
	var all sync.WaitGroup
	stands := make([]string, 8)
	for i := range stands {
		all.Go(func() {
			kv, err := flow.OpenKV(t.Context(), f.Store.JetStream())
			if err != nil {
				t.Error(err)
				return
			}
			value, err := kv.Once(t.Context(), "default.w.row.1.=ab", []byte(strconv.Itoa(i)))
			if err != nil {
				t.Error(err)
			}
			stands[i] = string(value)
		})
	}
	all.Wait()
	kv, err := flow.OpenKV(t.Context(), f.Store.JetStream())
	if err != nil {
		t.Fatal(err)
	}
	value, found, err := kv.Get(t.Context(), "default.w.row.1.=ab")
	for i, stood := range stands {
		if stood == "" || stood != string(value) || !found || err != nil {
			t.Errorf("writer %d was told %q; %q stands, %v, %v", i, stood, value, found, err)
		}
	}
	if _, found, err := kv.Get(t.Context(), "default.w.row.2.x"); found || err != nil {
		t.Errorf("an absent one: %v, %v", found, err)
	}
}
