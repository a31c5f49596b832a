package jetstore

// Streams of batchbus; what each holds is in the table of topology.go.
const (
	StreamRequests    = "BATCHBUS_REQUESTS"
	StreamRows        = "BATCHBUS_ROWS"
	StreamResults     = "BATCHBUS_RESULTS"
	StreamJobs        = "KV_batchbus_jobs"
	StreamEvents      = "BATCHBUS_EVENTS"
	StreamTimers      = "BATCHBUS_TIMERS"
	StreamDeadletters = "BATCHBUS_DEADLETTERS"
	StreamQueues      = "KV_batchbus_queues"
	StreamCalls       = "KV_batchbus_calls"
	StreamObjects     = "OBJ_batchbus_objects"
)

// Buckets of batchbus, for js.KeyValue and js.ObjectStore.
const (
	BucketJobs    = "batchbus_jobs"
	BucketQueues  = "batchbus_queues"
	BucketCalls   = "batchbus_calls"
	BucketObjects = "batchbus_objects"
)

// Durable consumers, one for each kind of work; all replicas of a service share one.
const (
	// ConsumerIngest takes every message of StreamRequests.
	ConsumerIngest = "ingest"
	// ConsumerPlanner takes every message of StreamRows, headers only: a wake-up.
	ConsumerPlanner = "planner"
	// ConsumerSubmitter takes job.opened, batch.planned and job.cancelling of StreamEvents.
	ConsumerSubmitter = "submitter"
	// ConsumerPoller takes the due ticks of StreamTimers.
	ConsumerPoller = "poller"
	// ConsumerCollector takes batch.progress and batch.finished of StreamEvents.
	ConsumerCollector = "collector"
)

// Headers that this package writes or reads.
const (
	// HeaderWriter is a random nonce in every message of a [Store.Commit], by which a writer recognises its own write.
	HeaderWriter = "Batchbus-Writer"
	// HeaderObject is the name of the object that holds a message's bytes.
	HeaderObject = "Batchbus-Object"
	// HeaderDigest is that object's digest, "SHA-256=" and base64url.
	HeaderDigest = "Batchbus-Digest"
	// HeaderSize is that object's size in bytes.
	HeaderSize = "Batchbus-Size"
)

const (
	keyPrefix    = "$KV." + BucketJobs + "."
	eventsFilter = "batchbus.events.>"
	tickSet      = "batchbus.timers.set."
	tickDue      = "batchbus.timers.due."
)

// KeySubject is the subject of a key of the jobs bucket.
func KeySubject(key string) string { return keyPrefix + key }
