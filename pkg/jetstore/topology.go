package jetstore

import "github.com/nats-io/nats.go/jetstream"

// streams is the table of streams. Shares of MaxStore in percent, 98 together; the rest is the store's own overhead:
//
//	requests 10   what waits for ingest; full: publishers are refused
//	rows     30   what waits for the provider; full: ingest opens no new jobs
//	results  28   30 days of answers; full: collectors wait, nothing is forgotten
//	jobs      4   the state, and a week of events
//	queues    1   policies
//	calls     2   the gateway's calls of a week; full: it takes no new ones
//	events    4   30 days of events; full: the oldest go
//	timers    1   one tick per API key
//	deadletters 6 30 days of refused input
//	objects  12   manifests, and what is too big for a message
//
// Every limit that JetStream has a default for is written out, so that what the server answers can be compared.
func streams(s Settings) []jetstream.StreamConfig {
	return []jetstream.StreamConfig{
		requests(s), rows(s), results(s), jobs(s), queues(s), calls(s), events(s), timers(s), deadletters(s), objects(s),
	}
}

func stream(s Settings, name string, percent int64, subjects ...string) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: name, Subjects: subjects, Replicas: s.Replicas, MaxBytes: s.share(percent), Storage: jetstream.FileStorage,
		MaxConsumers: -1, MaxMsgs: -1, MaxMsgsPerSubject: -1, MaxMsgSize: -1, Duplicates: duplicateWindow,
		Discard: jetstream.DiscardNew,
	}
}

// requests has no direct get: "the oldest message left" must be the leader's word (a seal depends on it).
func requests(s Settings) jetstream.StreamConfig {
	c := stream(s, StreamRequests, 10, "batchbus.requests.>")
	c.Retention = jetstream.WorkQueuePolicy
	return c
}

// rows may be purged but no single message may be deleted.
func rows(s Settings) jetstream.StreamConfig {
	c := stream(s, StreamRows, 30, "batchbus.rows.*.*")
	c.AllowDirect, c.DenyDelete = true, true
	return c
}

// results refuses a second message on a subject twice over: by the publisher's expectation and by its own limit. A rollup
// header would pass that limit, so rollups are off.
func results(s Settings) jetstream.StreamConfig {
	c := stream(s, StreamResults, 28, "batchbus.results.*.*.*")
	c.MaxAge, c.MaxMsgsPerSubject, c.DiscardNewPerSubject = s.ResultsMaxAge, 1, true
	c.DenyDelete, c.AllowDirect, c.AllowAtomicPublish = true, true, true
	return c
}

// jobs is a KV bucket made by hand, for atomic publishes and for the events that share them. No delete markers for expired
// messages: they would arrive in the events stream as if they were events.
func jobs(s Settings) jetstream.StreamConfig {
	c := stream(s, StreamJobs, 4, keyPrefix+">", eventsFilter)
	c.MaxMsgsPerSubject, c.AllowRollup, c.DenyDelete, c.AllowDirect = 1, true, true, true
	c.AllowAtomicPublish, c.AllowMsgTTL = true, true
	return c
}

func queues(s Settings) jetstream.StreamConfig {
	c := stream(s, StreamQueues, 1, "$KV."+BucketQueues+".>")
	c.MaxMsgsPerSubject, c.AllowRollup, c.DenyDelete, c.AllowDirect = 1, true, true, true
	return c
}

// calls is a KV bucket whose values expire by themselves, each by the TTL that its writer gives it.
func calls(s Settings) jetstream.StreamConfig {
	c := stream(s, StreamCalls, 2, callPrefix+">")
	c.MaxMsgsPerSubject, c.AllowRollup, c.DenyDelete, c.AllowDirect, c.AllowMsgTTL = 1, true, true, true, true
	return c
}

// events copies from the jobs stream. AllowMsgTTL stays off, or the copies would expire with the originals; a full stream
// forgets the oldest, because it must not hold up the copying.
func events(s Settings) jetstream.StreamConfig {
	c := stream(s, StreamEvents, 4)
	c.Sources = []*jetstream.StreamSource{{Name: StreamJobs, FilterSubject: eventsFilter}}
	c.MaxAge, c.Discard, c.AllowDirect = s.EventsMaxAge, jetstream.DiscardOld, true
	return c
}

// timers: one message a subject lets ticks that nobody took coalesce. Schedules forbid DiscardNew and force rollups.
func timers(s Settings) jetstream.StreamConfig {
	c := stream(s, StreamTimers, 1, tickSet+">", tickDue+">")
	c.AllowRollup = true
	c.Retention, c.Discard, c.MaxMsgsPerSubject, c.AllowMsgSchedules = jetstream.WorkQueuePolicy, jetstream.DiscardOld, 1, true
	return c
}

func deadletters(s Settings) jetstream.StreamConfig {
	c := stream(s, StreamDeadletters, 6, "batchbus.deadletters.*.*.*")
	c.MaxAge, c.AllowDirect, c.DenyDelete = s.DeadlettersMaxAge, true, true
	return c
}

// objects is an object store's stream, with the configuration nats.go would give it.
func objects(s Settings) jetstream.StreamConfig {
	c := stream(s, StreamObjects, 12, "$O."+BucketObjects+".C.>", "$O."+BucketObjects+".M.>")
	c.AllowRollup, c.AllowDirect = true, true
	return c
}

// binding is a consumer and the stream it belongs to.
type binding struct {
	stream string
	config jetstream.ConsumerConfig
}

// consumers is the table of consumers. None limits the deliveries in flight (a fetch bounds its process, and a limit full
// of delayed naks would starve the rest) nor the number of deliveries (only a stored dead letter ends a message).
func consumers(s Settings) []binding {
	planner := consumer(s, ConsumerPlanner, "batchbus.rows.>")
	planner.HeadersOnly = true
	return []binding{
		{StreamRequests, consumer(s, ConsumerIngest, "batchbus.requests.>")},
		{StreamRows, planner},
		{StreamEvents, consumer(s, ConsumerSubmitter, "batchbus.events.job.opened.>",
			"batchbus.events.batch.planned.>", "batchbus.events.job.cancelling.>")},
		{StreamTimers, consumer(s, ConsumerPoller, tickDue+">")},
		{StreamEvents, consumer(s, ConsumerCollector, "batchbus.events.batch.progress.>", "batchbus.events.batch.finished.>")},
	}
}

func consumer(s Settings, name string, filters ...string) jetstream.ConsumerConfig {
	c := jetstream.ConsumerConfig{
		Name: name, Durable: name, DeliverPolicy: jetstream.DeliverAllPolicy, AckPolicy: jetstream.AckExplicitPolicy,
		AckWait: s.AckWait, MaxDeliver: -1, MaxAckPending: -1, MaxWaiting: 512, ReplayPolicy: jetstream.ReplayInstantPolicy,
	}
	if len(filters) == 1 {
		c.FilterSubject = filters[0]
	} else {
		c.FilterSubjects = filters
	}
	return c
}
