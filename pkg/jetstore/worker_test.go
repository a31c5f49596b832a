package jetstore_test

import (
	"context"
	"testing"
	"time"

	"github.com/batchbus/batchbus/pkg/jetstore"
	"github.com/batchbus/batchbus/pkg/jetstore/jetstoretest"
)

func TestAHandlerThatLeavesItsWorkerLetsAnotherMessageBeHandled(t *testing.T) {
	t.Parallel()
	jetstoretest.Bubble(t, func(t *testing.T, f *jetstoretest.Fixture) {
		t.Helper()
		for _, job := range []string{"a", "b", "c", "d"} {
			request(t, f, job)
		}
		came, goOn := make(chan jetstore.Delivery, 4), make(chan struct{})
		stop := each(t, f, jetstore.EachOptions{Workers: 1, Aside: 2}, func(_ context.Context, d jetstore.Delivery) error {
			came <- d
			<-goOn
			return nil
		})
		for i := range 2 {
			d := <-came
			if first, second := d.Leave(), d.Leave(); !first || !second {
				t.Fatalf("handler %d may not leave", i)
			}
		}
		third := <-came
		if third.Leave() {
			t.Error("a third may leave where two may be gone")
		}
		<-time.After(time.Minute)
		if len(came) != 0 {
			t.Error("a fourth is handled, and the third has the only worker")
		}
		close(goOn)
		<-came
		<-time.After(time.Minute)
		stop()
		if n := left(t, f); n != 0 {
			t.Errorf("%d messages are left", n)
		}
		if third.Leave() {
			t.Error("a handler that has ended has left")
		}
	})
}
