package jetstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Setup creates the streams and consumers that are missing and checks those that exist. It changes nothing of a live one:
// every difference, field by field, is in a [*DriftError]. It is idempotent, and several processes may call it at once. It
// needs the rights to create streams and consumers; services need it only when they are their own administrators.
//
// While the server is starting (no responders, no leader yet, its directories not yet made) it repeats, for at most
// Settings.StartupTimeout; [ErrNoJetStream], at once when the server itself says that it has none. After another error some streams may exist and others not: call it again.
func Setup(ctx context.Context, js jetstream.JetStream, s Settings) error {
	return walk(ctx, js, s, true)
}

// Check does what [Setup] does and creates nothing: what is missing is a difference too. It needs the rights to read only.
func Check(ctx context.Context, js jetstream.JetStream, s Settings) error {
	return walk(ctx, js, s, false)
}

func walk(ctx context.Context, js jetstream.JetStream, s Settings, create bool) error {
	s = s.withDefaults()
	ctx, cancel := context.WithTimeout(ctx, s.StartupTimeout)
	defer cancel()
	w := walker{js: js, skip: skipped(s), create: create, grow: create && s.GrowSizes}
	var drift []Difference
	for _, want := range streams(s) {
		d, err := patiently(ctx, w.hopeless, func(ctx context.Context) ([]Difference, error) { return w.stream(ctx, want) })
		if err != nil {
			return fmt.Errorf("set up stream %s: %w", want.Name, explain(err))
		}
		drift = append(drift, d...)
	}
	for _, want := range consumers(s) {
		d, err := patiently(ctx, w.hopeless, func(ctx context.Context) ([]Difference, error) { return w.consumer(ctx, want) })
		if err != nil {
			return fmt.Errorf("set up consumer %s: %w", want.config.Name, err)
		}
		drift = append(drift, d...)
	}
	if len(drift) > 0 {
		return &DriftError{Differences: drift}
	}
	return nil
}

// explain says what silence most likely means.
func explain(err error) error {
	if silent(err) {
		return fmt.Errorf("%w %w", ErrNoJetStream, err)
	}
	return err
}

func silent(err error) bool {
	return errors.Is(err, nats.ErrNoResponders) || errors.Is(err, jetstream.ErrNoStreamResponse)
}

// hopeless tells silence that will not pass: the connected server has no JetStream by its own word, and knows of no other that has.
func (w walker) hopeless(err error) bool {
	has, _ := w.js.Conn().ConnectedServerJetStream()
	return silent(err) && !has
}

func skipped(s Settings) []string {
	if s.KeepSizes {
		return []string{"max_bytes"}
	}
	return nil
}

type walker struct {
	js     jetstream.JetStream
	skip   []string
	create bool
	grow   bool
}

func missing(name string) []Difference {
	return []Difference{{Name: name, Field: "exists", Want: "true", Have: "false"}}
}

func (w walker) stream(ctx context.Context, want jetstream.StreamConfig) ([]Difference, error) {
	have, err := w.js.Stream(ctx, want.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		if !w.create {
			return missing(want.Name), nil
		}
		have, err = w.js.CreateStream(ctx, want)
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // another process made it meanwhile, differently
			have, err = w.js.Stream(ctx, want.Name)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("create or read: %w", err)
	}
	config := have.CachedInfo().Config
	if w.grow && config.MaxBytes > 0 && want.MaxBytes > config.MaxBytes {
		config.MaxBytes = want.MaxBytes
		if have, err = w.js.UpdateStream(ctx, config); err != nil {
			return nil, fmt.Errorf("grow to %d bytes: %w", want.MaxBytes, err)
		}
		config = have.CachedInfo().Config
	}
	return differences(want.Name, want, config, w.skip...), nil
}

func (w walker) consumer(ctx context.Context, want binding) ([]Difference, error) {
	name := want.stream + "/" + want.config.Name
	have, err := w.js.Consumer(ctx, want.stream, want.config.Name)
	if !w.create && errors.Is(err, jetstream.ErrStreamNotFound) {
		return missing(name), nil
	}
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		if !w.create {
			return missing(name), nil
		}
		have, err = w.js.CreateConsumer(ctx, want.stream, want.config)
		if errors.Is(err, jetstream.ErrConsumerExists) {
			have, err = w.js.Consumer(ctx, want.stream, want.config.Name)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("create or read: %w", err)
	}
	return differences(name, want.config, have.CachedInfo().Config), nil
}

// patiently repeats what fails only because the server is starting. Each try has its own limit: a cluster that has no leader yet answers
// nothing at all, and the next try may meet one.
func patiently(ctx context.Context, hopeless func(error) bool, do func(context.Context) ([]Difference, error)) ([]Difference, error) {
	try := func() ([]Difference, error) {
		ctx, cancel := context.WithTimeout(ctx, requestTimeout)
		defer cancel()
		return do(ctx)
	}
	for pause := newPause(); ; {
		d, err := try()
		if err == nil || !starting(err) || hopeless(err) {
			return d, err
		}
		if pause.wait(ctx) != nil {
			return nil, err
		}
	}
}

// starting tells a server that is not ready from one that says no. 10049 is what a server answers whose stream directory
// is being removed with its last stream; 10005 is what a cluster says while too few of its nodes are up for the replicas. 10047, no storage
// for the reservation, has code 500 too and does not pass.
func starting(err error) bool {
	transient := []error{nats.ErrNoResponders, nats.ErrTimeout, jetstream.ErrNoStreamResponse, context.DeadlineExceeded, nats.ErrDisconnected}
	if slices.ContainsFunc(transient, func(t error) bool { return errors.Is(err, t) }) {
		return true
	}
	var api *jetstream.APIError
	return errors.As(err, &api) && (api.Code == 503 || api.ErrorCode == 10049 || api.ErrorCode == 10005)
}

// pauses grow from 50 ms to 2 s: a leader election takes 1.6 to 7.8 s (measured), a busy stream microseconds.
type pauses struct {
	next time.Duration
}

func newPause() *pauses { return &pauses{next: 50 * time.Millisecond} }

// wait blocks for the next pause or until ctx ends, and returns ctx's error then.
func (p *pauses) wait(ctx context.Context) error {
	timer := time.NewTimer(p.next)
	defer timer.Stop()
	p.next = min(2*p.next, 2*time.Second)
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
