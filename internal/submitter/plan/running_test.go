package plan_test

import (
	"context"
	"io"
	"sync/atomic"
	"time"

	"github.com/batchbus/batchbus/internal/submitter/plan"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// until waits until what is true, which it looks at again and again.
func (b *bench) until(what string, holds func() bool) {
	b.t.Helper()
	limit, tick := time.NewTimer(30*time.Second), time.NewTicker(10*time.Millisecond)
	defer limit.Stop()
	defer tick.Stop()
	for !holds() {
		select {
		case <-limit.C:
			b.t.Fatal("still not so after 30 s: " + what)
		case <-tick.C:
		}
	}
}

// run runs a planner until the returned function is called, which waits for its end.
func (b *bench) run(p *plan.Planner) (stop func()) {
	b.t.Helper()
	ctx, cancel := context.WithCancel(b.ctx)
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			b.t.Error(err)
		}
	}
}

// lose takes the planner's wake-ups away and acknowledges them.
func (b *bench) lose() (lost func() int64, stop func()) {
	var n atomic.Int64
	ctx, cancel := context.WithCancel(b.ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = b.Store.Each(ctx, jetstore.StreamRows, jetstore.ConsumerPlanner, jetstore.EachOptions{},
			func(context.Context, jetstore.Delivery) error {
				n.Add(1)
				cancel()
				return nil
			})
	}()
	return n.Load, func() { cancel(); <-ended }
}

// pending is how many wake-ups are not acknowledged.
func (b *bench) pending() int {
	b.t.Helper()
	consumer, err := b.Store.JetStream().Consumer(b.ctx, jetstore.StreamRows, jetstore.ConsumerPlanner)
	b.check(err)
	info, err := consumer.Info(b.ctx)
	b.check(err)
	return int(info.NumPending) + info.NumAckPending
}

func (b *bench) read(object jetstore.Object) []byte {
	b.t.Helper()
	r, err := b.Store.OpenObject(b.ctx, object)
	b.check(err)
	defer r.Close()
	data, err := io.ReadAll(r)
	b.check(err)
	return data
}
