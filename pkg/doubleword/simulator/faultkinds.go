package simulator

import (
	"maps"
	"slices"
)

// FaultKind names what goes wrong.
type FaultKind string

// Faults of single calls: Route, Nth, Count and Share choose them. Each lists the Fault fields it reads beside these.
const (
	// FaultStatus answers Route with Status and Text before anything else looks at the call. An empty Text is
	// the provider's own for that status; 502 and 504 are HTML.
	FaultStatus FaultKind = "status"
	// FaultUploadRefused refuses POST /v1/files with Status and Text, and stores nothing.
	FaultUploadRefused FaultKind = "upload_refused"
	// FaultCreateRefused refuses POST /v1/batches with Status and Text, and creates nothing.
	FaultCreateRefused FaultKind = "create_refused"
	// FaultCreateReplyLost creates the batch and drops the connection, or replies Status when that is set.
	FaultCreateReplyLost FaultKind = "create_reply_lost"
	// FaultCreateLate creates the batch Delay after the call, however long the client waits; with Status it gives
	// that reply at once, as an edge does whose own time is over.
	FaultCreateLate FaultKind = "create_late"
	// FaultNotFound answers a lookup by id with 404, like a storage error; with Delay only while what is asked for
	// is younger than that, like a replica that lags. Without Route it concerns every GET of one id.
	FaultNotFound FaultKind = "not_found"
	// FaultListLag makes both lists blind to what is younger than Delay, like a replica that lags.
	FaultListLag FaultKind = "list_lag"
	// FaultAfterIgnored makes a list begin again with its first page whatever after says.
	FaultAfterIgnored FaultKind = "after_ignored"
	// FaultOffsetHonoured reads the query parameter offset as skip, as the provider's documents say it does.
	FaultOffsetHonoured FaultKind = "offset_honoured"
	// FaultShortBody breaks a file's content off after Bytes bytes; Clean ends it as if it were whole.
	FaultShortBody FaultKind = "short_body"
	// FaultLastLineOverstated promises Rows lines more in X-Last-Line than are there; 0 means 1.
	FaultLastLineOverstated FaultKind = "last_line_overstated"
	// FaultCompleteEarly says X-Incomplete: false while rows still run.
	FaultCompleteEarly FaultKind = "complete_early"
	// FaultIncompleteForever says X-Incomplete: true when nothing will follow.
	FaultIncompleteForever FaultKind = "incomplete_forever"
	// FaultEmptyContent answers content with 200, X-Incomplete: false and not one line, as when the rows of a
	// deleted batch were purged.
	FaultEmptyContent FaultKind = "empty_content"
	// FaultUnknownStatus shows Text as the status of every batch in a reply that is not final; "" means "paused".
	FaultUnknownStatus FaultKind = "unknown_status"
	// FaultISOTimes writes the times of a reply as RFC 3339 text instead of seconds.
	FaultISOTimes FaultKind = "iso_times"
	// FaultPrefixedIDs gives what a POST makes an id with a prefix, "file-" or "batch_", for its whole life.
	FaultPrefixedIDs FaultKind = "prefixed_ids"
)

// scope is what the selectors of a fault count.
type scope uint8

const (
	ofCalls scope = iota + 1
	ofBatches
	ofRows
)

// scopes lists every kind.
func scopes() map[FaultKind]scope {
	return map[FaultKind]scope{
		FaultStatus: ofCalls, FaultUploadRefused: ofCalls, FaultCreateRefused: ofCalls, FaultCreateReplyLost: ofCalls,
		FaultCreateLate: ofCalls, FaultNotFound: ofCalls, FaultListLag: ofCalls, FaultAfterIgnored: ofCalls,
		FaultOffsetHonoured: ofCalls, FaultShortBody: ofCalls, FaultLastLineOverstated: ofCalls,
		FaultCompleteEarly: ofCalls, FaultIncompleteForever: ofCalls, FaultEmptyContent: ofCalls,
		FaultUnknownStatus: ofCalls, FaultISOTimes: ofCalls, FaultPrefixedIDs: ofCalls,
		FaultFrozenValidating: ofBatches, FaultFrozenCancelling: ofBatches, FaultColdModel: ofBatches,
		FaultCreditOut: ofBatches, FaultLateAfterCancel: ofBatches, FaultOperatorRetry: ofBatches,
		FaultAnalyticsLag: ofBatches,
		FaultMissingRow:   ofRows, FaultLateRow: ofRows, FaultDuplicateRow: ofRows, FaultStringBody: ofRows,
		FaultNullBody: ofRows, FaultTruncated: ofRows, FaultModelSubstituted: ofRows, FaultNestedError: ofRows,
		FaultRetriedRow: ofRows,
	}
}

// FaultKinds returns every kind there is, sorted by name.
func FaultKinds() []FaultKind { return slices.Sorted(maps.Keys(scopes())) }
