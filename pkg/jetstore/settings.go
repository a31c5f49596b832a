package jetstore

import "time"

// Settings are the few choices a deployment has about the topology. The zero value is usable: [Setup] fills in the
// defaults named below.
type Settings struct {
	// Replicas of every stream, 1 or 3. Default 1.
	Replicas int
	// MaxStore is how many bytes all streams together may hold, on each replica. It is handed out in shares (see the
	// table in topology.go) so that the sum fits a server whose max_store is the same. 0: streams have no size limit
	// and the server's own decides.
	MaxStore int64
	// KeepSizes leaves the size limits of streams that exist alone and does not report them as drift. For a MaxStore
	// that is an estimate, such as a share of the free disk, and comes out differently at each start.
	KeepSizes bool
	// GrowSizes raises the size limits of streams that exist to those of MaxStore, and never lowers one: for a store of one's own, where
	// a larger MaxStore is meant to help what waits for room.
	GrowSizes bool
	// ResultsMaxAge is how long a result can be read. Default 30 days.
	ResultsMaxAge time.Duration
	// EventsMaxAge is how long an event can be read. Default 30 days.
	EventsMaxAge time.Duration
	// DeadlettersMaxAge is how long a dead letter can be read. Default 30 days.
	DeadlettersMaxAge time.Duration
	// AckWait is after how long without a sign of life a delivery is given to another replica. Default 30 s.
	AckWait time.Duration
	// StartupTimeout bounds how long Setup repeats what the server refuses only because it is starting. Default 30 s.
	StartupTimeout time.Duration
}

// OutboxTTL is how long an event stays in the jobs stream after its commit: 7 days for the events stream to copy it.
// It is the TTL of a [Change] that carries an event.
const OutboxTTL = 7 * 24 * time.Hour

// duplicateWindow is how long a Nats-Msg-Id is remembered. It only has to outlive a publisher's own retries: each id
// costs about 260 bytes of the server's memory meanwhile (measured).
const duplicateWindow = 2 * time.Minute

const month = 30 * 24 * time.Hour

func (s Settings) withDefaults() Settings {
	s.Replicas = max(s.Replicas, 1)
	s.ResultsMaxAge = orDefault(s.ResultsMaxAge, month)
	s.EventsMaxAge = orDefault(s.EventsMaxAge, month)
	s.DeadlettersMaxAge = orDefault(s.DeadlettersMaxAge, month)
	s.AckWait = orDefault(s.AckWait, 30*time.Second)
	s.StartupTimeout = orDefault(s.StartupTimeout, 30*time.Second)
	return s
}

func orDefault(d, def time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return def
}

// share is a percentage of MaxStore; without one, a stream has no limit of its own (-1).
func (s Settings) share(percent int64) int64 {
	if s.MaxStore <= 0 {
		return -1
	}
	return s.MaxStore / 100 * percent
}
