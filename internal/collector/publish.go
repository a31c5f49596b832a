package collector

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"

	"github.com/batchbus/batchbus/internal/manifest"
	"github.com/batchbus/batchbus/internal/messages"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
	"github.com/batchbus/batchbus/pkg/rows"
)

// headerRoom is more than the headers of any result take, with what publishing adds.
const headerRoom = 4 << 10

// publish sends the result of a place, which has none yet as far as this run knows. It does not wait for the answer: the place is found
// when the result stands on its subject, this one or one that stood there before. The error is [errRefused] or ctx's.
func (r *run) publish(ctx context.Context, place int, result *events.Result) error {
	m := messages.Result(result, r.entries[place].Source)
	var envelope []byte
	if limit := r.s.cfg.Bus.MaxPayload(); limit > 0 && len(m.Data)+headerRoom > limit {
		envelope = envelopeOf(result)
	}
	m, err := r.s.cfg.Bus.Fit(ctx, jetstore.StreamResults, m, envelope)
	if err != nil {
		return refusal(ctx, err)
	}
	return r.send(ctx, place, m, tallyOf(result))
}

func (r *run) send(ctx context.Context, place int, m *nats.Msg, t tally) error {
	size := len(m.Data)
	if r.flying+size > maxFlying {
		if err := r.window.Flush(ctx); err != nil {
			return refusal(ctx, err)
		}
	}
	r.flying += size
	r.seen.Set(place)
	err := r.window.PublishOnce(ctx, m, func(ack jetstore.Ack) {
		r.s.cfg.Observe.Result(t.outcome, ack)
		r.found[place] = t
		if ack.Already {
			r.stood[place] = m.Subject
		}
		r.flying -= size
	})
	if err != nil {
		return refusal(ctx, err)
	}
	return nil
}

// recount puts what really stands on their subjects in place of what this run would have published for places that were answered before: by
// itself, whose acknowledgement was lost, by another process, or in an earlier life with another outcome. The totals are those of the stream.
func (r *run) recount(ctx context.Context) error {
	for place, subject := range r.stood {
		standing, err := messages.Standing(ctx, r.s.cfg.Bus, subject)
		switch {
		case err == nil:
			r.found[place] = tallyOf(&standing)
		case !errors.Is(err, jetstore.ErrNotFound): // too old: ours is as good
			return err
		}
		delete(r.stood, place)
	}
	return nil
}

// envelopeOf is the body of a result whose whole lies in an object: without its answer, and with no more of a long error than fits.
func envelopeOf(result *events.Result) []byte {
	short := *result
	if result.Error != nil {
		e := *result.Error
		e.Message, e.Raw = cut(e.Message), cut(e.Raw)
		short.Error = &e
	}
	return messages.ResultEnvelope(&short)
}

// customID is the row's own id: the rest of its wire id, or, where that holds none, what its block says. It is false for a wire id that
// the row of this place was not sent with.
func (r *run) customID(ctx context.Context, place int, rest string) (string, bool, error) {
	if r.b.ForeignDigest != "" {
		return r.provenID(ctx, place, rest)
	}
	if rest != "" {
		return rest, !r.b.OpaqueIDs, nil
	}
	if r.ids == nil {
		if err := r.readIDs(ctx); err != nil {
			return "", false, err
		}
	}
	return r.ids[place], r.ids[place] != "", nil
}

// provenID is the row's own id of a batch that was planned with other rows, whose places may thus be those of other rows: the answer is this
// row's only if its wire id holds the row's id whole.
func (r *run) provenID(ctx context.Context, place int, rest string) (string, bool, error) {
	if r.ids == nil {
		if err := r.readIDs(ctx); err != nil {
			return "", false, err
		}
	}
	return rest, rest != "" && r.ids[place] == rest, nil
}

// readIDs reads the custom_ids of all rows whose wire id holds none, or, to compare them, of those whose wire id does. It is one walk over the
// job's blocks: rows come back in any order, and a walk per row, or per read, would cost the whole batch each time.
func (r *run) readIDs(ctx context.Context) error {
	ids := make([]string, len(r.entries))
	for row, err := range manifest.Rows(ctx, r.s.cfg.Bus, r.b.Queue, r.b.Job, r.entries) {
		if err != nil {
			return fmt.Errorf("read custom_ids: %w", err)
		}
		_, rest, ok := rows.ParseWireID(manifest.WireID(row.Place, row.CustomID, r.b.OpaqueIDs))
		if ok && (rest == "") == (r.b.ForeignDigest == "") {
			ids[row.Place] = row.CustomID
		}
	}
	r.ids = ids
	return nil
}
