package app

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// part is a service made of a function.
type part struct {
	name string
	run  func(ctx context.Context) error
}

func (p part) Name() string                  { return p.name }
func (p part) Run(ctx context.Context) error { return p.run(ctx) }

func drained(drains *int) func(context.Context) error {
	return func(ctx context.Context) error {
		<-ctx.Done()
		*drains++
		return nil
	}
}

func TestTheFirstThatStopsStopsAll(t *testing.T) {
	t.Parallel()
	fault, late := errors.New("bus is gone"), errors.New("drain timed out")
	for _, c := range []struct {
		name  string
		first error
		want  error
		part  string
	}{
		{"by a fault", fault, fault, "run one: bus is gone"},
		{"by itself, which is a fault too", nil, errStoppedEarly, "run one: stopped by itself"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			drains := 0
			err := supervise(t.Context(), []Service{
				part{"one", func(context.Context) error { return c.first }},
				part{"two", drained(&drains)},
				part{"three", func(ctx context.Context) error { <-ctx.Done(); return late }},
			})
			if !errors.Is(err, c.want) || !errors.Is(err, late) || !strings.Contains(err.Error(), c.part) || !strings.Contains(err.Error(), "run three") {
				t.Errorf("%v", err)
			}
			if strings.Contains(err.Error(), "run two") || drains != 1 {
				t.Errorf("two drained %d times: %v", drains, err)
			}
		})
	}
}

func TestAStopThatWasAskedForIsNoFault(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	drains := 0
	err := supervise(ctx, []Service{
		part{"one", drained(&drains)},
		part{"two", func(ctx context.Context) error { stop(); <-ctx.Done(); return nil }},
	})
	if err != nil || drains != 1 {
		t.Errorf("%v, %d", err, drains)
	}
}

func TestOptionsSayEveryFaultAtOnce(t *testing.T) {
	t.Parallel()
	o := Options{Services: []string{Poller, "painter"}, BaseURL: "ftp://example.com"}
	err := o.validate()
	if err == nil {
		t.Fatal("it is taken")
	}
	for _, part := range []string{`"painter"`, "dial", EnvKey, "base url"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not in %q", part, err)
		}
	}
	if err := (&Options{}).validate(); err == nil || !strings.Contains(err.Error(), "no service") {
		t.Error(err)
	}
}
