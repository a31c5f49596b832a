package proxy

import (
	"strings"
	"time"
)

// BusFaults says how often what happens; each share is of what it can happen to, 0 to 1.
type BusFaults struct {
	LoseAck        float64       // publishes that are stored and whose acknowledgement does not arrive
	DoublePublish  float64       // publishes that are sent twice
	LoseConsumed   float64       // acks, naks and signs of life of consumers that do not arrive
	LoseDelivery   float64       // deliveries to durable consumers that do not arrive: they come again after the ack wait
	DoubleDelivery float64       // deliveries to durable consumers that come twice, the second up to 16 frames later
	Stall          float64       // frames, in either direction, that wait, and all behind them
	StallMax       time.Duration // for at most so long
	Cut            float64       // connections that are cut in the middle of whatever goes through
	CutBytes       int64         // after at most so many bytes of both directions
}

// The kinds of faults as a [Tally] counts them.
const (
	AckLost         = "bus: publish ack lost"
	PublishDoubled  = "bus: publish doubled"
	ConsumedLost    = "bus: consumer's ack lost"
	DeliveryLost    = "bus: delivery lost"
	DeliveryDoubled = "bus: delivery doubled"
	Stalled         = "bus: stalled"
	ConnectionCut   = "bus: connection cut"
)

// budget is after how many bytes the nth connection is cut; negative: never.
func (b *Bus) budget(n int64) int64 {
	r := b.dice.At("connection", n)
	if r.Float64() >= b.faults.Cut || b.faults.CutBytes <= 0 {
		return -1
	}
	return 1 + r.Int64N(b.faults.CutBytes)
}

// stall waits before the next frame when that one is hit.
func (b *Bus) stall() {
	n := b.frames.Add(1)
	if !b.stormy.Load() || !b.dice.hit("stall", n, b.faults.Stall) {
		return
	}
	b.tally.Add(Stalled)
	b.sleep(upTo(b.dice.At("stall length", n), b.faults.StallMax))
}

// stored tells whether a stream keeps the messages of a subject.
func stored(subject string) bool {
	for _, prefix := range []string{"batchbus.api.", "batchbus.", "$KV.", "$O."} {
		if strings.HasPrefix(subject, prefix) {
			return prefix != "batchbus.api."
		}
	}
	return false
}

// onPublish decides what becomes of a client's frame: how many times it is sent on, and whether the answer to it is lost.
func (b *Bus) onPublish(f *frame) (times int, loseAck bool) {
	switch {
	case !b.stormy.Load() || !f.publish():
		return 1, false
	case strings.HasPrefix(f.subject, "$JS.ACK."):
		if b.dice.hit("consumed", b.acks.Add(1), b.faults.LoseConsumed) {
			b.tally.Add(ConsumedLost)
			return 0, false
		}
		return 1, false
	case !stored(f.subject):
		return 1, false
	}
	n := b.publishes.Add(1)
	times = 1
	if b.dice.hit("double publish", n, b.faults.DoublePublish) {
		b.tally.Add(PublishDoubled)
		times = 2
	}
	if f.reply != "" && b.dice.hit("lose ack", n, b.faults.LoseAck) {
		b.tally.Add(AckLost)
		loseAck = true
	}
	return times, loseAck
}

// onDelivery decides what becomes of a server's frame: whether it is sent on, and after how many more frames again; negative: not again.
func (b *Bus) onDelivery(f *frame) (pass bool, again int) {
	if !b.stormy.Load() || !durable(f.consumer()) {
		return true, -1
	}
	n := b.deliveries.Add(1)
	switch {
	case b.dice.hit("lose delivery", n, b.faults.LoseDelivery):
		b.tally.Add(DeliveryLost)
		return false, -1
	case b.dice.hit("double delivery", n, b.faults.DoubleDelivery):
		b.tally.Add(DeliveryDoubled)
		return true, b.dice.At("again", n).IntN(16)
	default:
		return true, -1
	}
}

// durable tells whether a consumer is one of batchbus' own, whose messages a server may deliver again. Others are of one reader, in order.
func durable(consumer string) bool {
	switch consumer {
	case "ingest", "planner", "submitter", "poller", "collector":
		return true
	default:
		return false
	}
}
