package jetstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
)

// ErrOtherServer is returned when anchored work would change a bus that is served by another process than when it began. What the work
// has read and stored may not be there: the bus can have been restored from a copy. Nothing was changed; begin the work anew, with
// what stands now. See [Store.Anchor].
var ErrOtherServer = errors.New("the bus is served by another process than when this work began")

// errAway is returned when the connection is lost just now: nothing was sent.
var errAway = fmt.Errorf("send nothing: %w", nats.ErrDisconnected)

type anchorKey struct{}

// Anchor ties a piece of work to the server process that the connection is with now: to be called before the first read that the work's
// changes rest on. Once the connection is with another process, every change and answer under the returned context, or one made
// of it, fails with [ErrOtherServer]: commits, publishes, purges. A [Window] and an object's upload are not stopped, since
// what they store claims nothing of what was stored before.
//
// Sequences and revisions come again after a bus was restored from a copy, so they do not tell its timelines apart: a worker that has
// stored a thousand results, lives through a restore and then sets their bits would find the very revision that it expects, and
// the results gone. A process of nats-server has a name of its own for each of its lives, and a bus goes back in time between two lives
// only. The price is that work under way is done anew after a change of servers; all of it is idempotent.
//
// [Store.Each] and [Store.Batches] anchor each delivery, and the handler's context, before the fetch that brought it.
func (s *Store) Anchor(ctx context.Context) context.Context {
	return anchored(ctx, s.nc.ConnectedServerId())
}

func anchored(ctx context.Context, server string) context.Context {
	return context.WithValue(ctx, anchorKey{}, server)
}

// holds tells whether a change under ctx may be sent now: nil, [ErrOtherServer], or errAway, which passes.
func (s *Store) holds(ctx context.Context) error {
	server, tied := ctx.Value(anchorKey{}).(string)
	if !tied {
		return nil
	}
	return s.isWith(server)
}

// isWith tells whether the connection is with the given process of nats-server.
func (s *Store) isWith(server string) error {
	switch s.nc.ConnectedServerId() {
	case "":
		return errAway
	case server:
		return nil
	default:
		return ErrOtherServer
	}
}
