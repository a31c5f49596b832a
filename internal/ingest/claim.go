package ingest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
	"github.com/batchbus/batchbus/pkg/rows"
)

const (
	// maxClaimBytes bounds what a message that names an object can bring into memory: six rows of the provider's largest. The longest line
	// that pkg/client publishes fits with its mark and line feed, so that such a row ends as a result and not as a dead letter.
	maxClaimBytes = 64<<20 + 1<<10
	// maxNameShown bounds how much of an object's name a refusal repeats: a longer one is none of ours.
	maxNameShown = 256
	// objectGrace is how long an absent object is waited for, from the message's timestamp (design.md section 2).
	objectGrace = 10 * time.Minute
)

// claim is the object that a message names in place of a payload. It is not valid when the headers make no sense.
type claim struct {
	object jetstore.Object
	valid  bool
}

// claimOf reads the headers of a message whose payload is an object.
func claimOf(header nats.Header) (claim, bool) {
	if header.Get(jetstore.HeaderObject) == "" {
		return claim{}, false
	}
	object, ok := jetstore.ObjectOf(header)
	return claim{object, ok}, true
}

// redeem reads the object. The refusal is set when that will never succeed; an error is for another time.
func (w *worker) redeem(ctx context.Context, m *message, c claim) ([]byte, *refusal, error) {
	if why := c.refused(); why != nil {
		return nil, c.named(why), nil
	}
	data, err := readObject(ctx, w.bus, c.object)
	if err == nil {
		return data, nil, nil
	}
	if why := claimRefusal(err, time.Since(m.at)); why != nil {
		return nil, c.named(why), nil
	}
	return nil, nil, err
}

// named says which object is meant.
func (c claim) named(why *refusal) *refusal {
	name := c.object.Name
	if len(name) > maxNameShown {
		name = name[:maxNameShown] + "…"
	}
	why.message += fmt.Sprintf("; it is %q", name)
	return why
}

// refused judges the headers alone.
func (c claim) refused() *refusal {
	switch {
	case !c.valid:
		return &refusal{
			events.DLObjectDigest, "the header " + jetstore.HeaderSize + " is not the size of the object that the message names",
			"send " + jetstore.HeaderObject + ", " + jetstore.HeaderDigest + " and " + jetstore.HeaderSize,
		}
	case c.object.Size > maxClaimBytes:
		return &refusal{
			rows.CodeRowTooLarge,
			fmt.Sprintf("the message's object has %d bytes, the limit is %d", c.object.Size, maxClaimBytes),
			"publish its rows in several messages",
		}
	}
	return nil
}

// besideObject refuses the payload of a message that names an object as its payload.
func besideObject() refusal {
	return refusal{
		events.DLPayloadBesideObject, "the message names an object as its payload and has another payload beside it, which was not read",
		"publish the payload in a message of its own",
	}
}

// claimRefusal tells the errors that no waiting changes.
func claimRefusal(err error, age time.Duration) *refusal {
	switch {
	case errors.Is(err, jetstore.ErrDigest):
		return &refusal{
			events.DLObjectDigest, "the object that the message names has not the bytes that the headers " + jetstore.HeaderDigest + " and " + jetstore.HeaderSize + " say",
			"publish the rows again",
		}
	case errors.Is(err, jetstore.ErrObjectMissing) && age >= objectGrace:
		return &refusal{
			events.DLObjectMissing, "the object that the message names does not exist", "store the object before the message",
		}
	}
	return nil
}

type objects interface {
	OpenObject(ctx context.Context, o jetstore.Object) (io.ReadCloser, error)
}

// readObject reads all of an object whose size was checked. One that is longer than its message says is as good as altered.
func readObject(ctx context.Context, bus objects, o jetstore.Object) ([]byte, error) {
	r, err := bus.OpenObject(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("open payload: %w", err)
	}
	defer r.Close()
	data := make([]byte, o.Size)
	if _, err := io.ReadFull(r, data); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
			err = jetstore.ErrDigest
		}
		return nil, fmt.Errorf("read payload: %w", err)
	}
	n, err := r.Read(make([]byte, 1)) // the digest is compared at the end
	if n > 0 || err == nil {
		err = jetstore.ErrDigest
	}
	if !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read payload: %w", err)
	}
	return data, nil
}
