package gateway_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/batchbus/batchbus/test/rig"
)

// crowded asks n questions at once and returns how many were answered rightly.
func crowded(t *testing.T, n int, do func(ctx context.Context, i int) (*openai.ChatCompletion, error)) int {
	t.Helper()
	ctx := rig.Patiently(t)
	var right atomic.Int64
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() {
			got, err := do(ctx, i)
			if wantAnswer(t, question("crowd", i), got, err) {
				right.Add(1)
			}
		})
	}
	group.Wait()
	return int(right.Load())
}

func TestACrowdOfCallsBecomesFewBatchesAndEachGetsItsOwnAnswer(t *testing.T) {
	t.Parallel()
	h := build(t, 1, "--gather=5s")
	c := h.sdk(0, wide())
	if right := crowded(t, crowd, func(ctx context.Context, i int) (*openai.ChatCompletion, error) {
		return c.Chat.Completions.New(ctx, ask(question("crowd", i)))
	}); right != crowd {
		t.Errorf("%d of %d have their own answer", right, crowd)
	}
	ledger := h.Ledger()
	if ledger.RowsRun != crowd || len(ledger.Creates) > 12 {
		t.Errorf("%d rows ran in %d batches, want %d in a few", ledger.RowsRun, len(ledger.Creates), crowd)
	}
	h.gateways[0].Measure()
	t.Logf("%d calls in %d batches; the gateway's peak is %d MiB", crowd, len(ledger.Creates), h.gateways[0].Peak>>20)
	if limit := int64(600 << 20); h.gateways[0].Peak > limit {
		t.Errorf("the gateway took %d bytes", h.gateways[0].Peak)
	}
}

func TestAGatewayThatIsKilledCostsNothingTwice(t *testing.T) {
	t.Parallel()
	const calls = 100
	h := build(t, 2)
	keyed := func(ctx context.Context, i int) (*openai.ChatCompletion, error) {
		c := h.sdk(i%2, wide())
		options := []option.RequestOption{option.WithHeader("Idempotency-Key", question("key", i))}
		if i%3 == 0 { // what the SDK's own retry says
			options = []option.RequestOption{option.WithHeader("X-Stainless-Retry-Count", "1")}
		}
		return c.Chat.Completions.New(ctx, ask(question("crowd", i)), options...)
	}
	var group sync.WaitGroup
	broken := atomic.Int64{}
	for i := range calls {
		group.Go(func() {
			if _, err := keyed(rig.Patiently(t), i); err != nil {
				broken.Add(1)
			}
		})
	}
	rig.Eventually(t, "some rows are on the bus", func() bool { return h.published() > calls/2 })
	h.gateways[0].Kill()
	group.Wait()
	if broken.Load() == 0 {
		t.Fatal("the kill broke no call")
	}
	h.gateways[0].Start()
	h.await(0)
	if right := crowded(t, calls, keyed); right != calls {
		t.Errorf("%d of %d have their own answer", right, calls)
	}
	if ran := h.Ledger().RowsRun; ran != calls {
		t.Errorf("%d rows ran for %d calls, %d of which were broken", ran, calls, broken.Load())
	}
}

// published is how many rows of calls the bus has or had.
func (h *house) published() (n int) {
	counts, err := h.Store.SubjectCounts(h.t.Context(), "KV_batchbus_calls", "$KV.batchbus_calls.>")
	if err != nil {
		h.t.Fatal(err)
	}
	return len(counts)
}

func TestACallThatWasLeftIsAttachedToAndTwoOpenOnesAreTwoRows(t *testing.T) {
	t.Parallel()
	h := build(t, 2)
	left, leave := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() {
		c := h.sdk(0)
		_, err := c.Chat.Completions.New(left, ask("left"))
		gone <- err
	}()
	rig.Eventually(t, "the call is recorded", func() bool { return h.published() == 1 })
	leave()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	attached := h.twice(t, 1, "left") // the first may attach to the one that was left, the second is another call
	if attached != 1 {
		t.Errorf("%d of two calls attached to the one that was left", attached)
	}
	if attached := h.twice(t, 0, "open"); attached != 0 {
		t.Errorf("%d of two open calls attached", attached)
	}
	if ran := h.Ledger().RowsRun; ran != 4 {
		t.Errorf("%d rows ran, want 4", ran)
	}
}

// twice makes the same call of both gateways at once and returns how many of them attached to an earlier one.
func (h *house) twice(t *testing.T, first int, text string) (attached int) {
	t.Helper()
	replies := make(chan *http.Response, 2)
	for i := range 2 {
		go func() {
			c := h.sdk((first + i) % 2)
			var reply *http.Response
			got, err := c.Chat.Completions.New(rig.Patiently(t), ask(text), option.WithResponseInto(&reply))
			wantAnswer(t, text, got, err)
			replies <- reply
		}()
	}
	for range 2 {
		if reply := <-replies; reply != nil && strings.EqualFold(reply.Header.Get("X-Batchbus-Attached"), "true") {
			attached++
		}
	}
	return attached
}

func TestAWaitOutlivesTheBus(t *testing.T) {
	t.Parallel()
	h := build(t, 1)
	done := make(chan error, 1)
	go func() {
		c := h.sdk(0)
		got, err := c.Chat.Completions.New(rig.Patiently(t), ask("patience"))
		wantAnswer(t, "patience", got, err)
		done <- err
	}()
	rig.Eventually(t, "the call is recorded", func() bool { return h.published() == 1 })
	rig.Eventually(t, "its row is taken", func() bool { return h.Count("BATCHBUS_ROWS") > 0 })
	h.Bus.Kill()
	h.Bus.Start()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if ran := h.Ledger().RowsRun; ran != 1 {
		t.Errorf("%d rows ran", ran)
	}
	h.WantQuietEnd()
	if code := h.gateways[0].Stop(); code != 143 {
		t.Errorf("the gateway ends with %d after SIGTERM", code)
	}
}
