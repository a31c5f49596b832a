package events

// Codes of dead letters that are not a row fault's own (those are the codes of package rows).
const (
	DLDuplicate     = "duplicate"      // the same row with the same custom_id came again from another source
	DLConflict      = "conflict"       // another row came with a custom_id that is taken
	DLJobSealed     = "job_sealed"     // the row came after the job's seal
	DLJobFull       = "job_full"       // the job holds the policy's max_rows_per_job already
	DLBadSubject    = "bad_subject"    // the subject is neither <queue> nor <queue>.<job>
	DLBadWindow     = "bad_window"     // the header Batchbus-Window names no allowed window
	DLObjectMissing = "object_missing" // the object that holds the payload stayed absent
	DLObjectDigest  = "object_digest"  // the object does not have the digest that the message names
	// DLPayloadBesideObject: the message names an object as its payload, whose rows were taken, and has another payload beside it.
	DLPayloadBesideObject = "payload_beside_object"
	DLEmpty               = "empty_message" // the message holds no row and is no seal
)

// Codes of results that are not the provider's own.
const (
	CodeMissingResult = "missing_result"   // the batch ended and neither file holds the row
	CodeMalformed     = "malformed_result" // the provider's line has neither response nor error; Raw holds it
	CodeCancelled     = "job_cancelled"    // the job was cancelled before the row ran
	CodeExpired       = "window_expired"   // the completion window ended before the row ran
	CodeRefusedRow    = "provider_refused" // the provider refused the row before it ran; Message is its text
	CodeTooManyGroups = "too_many_groups"  // the row is of the job's 65th (window, url, model)
	CodeProvider      = "provider_error"   // the provider's error has no code of its own
	CodeOutOfCredit   = "out_of_credit"    // the provider stopped the row for want of credit, or a spending cap: top up before it is sent again
	CodeAccessLost    = "access_lost"      // the provider refused the row because the key may not use it or its model any more
	CodeTooLarge      = "answer_too_large" // the provider's line is too long for memory and its answer cannot be streamed
)

// Codes of holds: why a queue, job or batch waits for a person or for the world to change.
const (
	HoldRefused           = "refused"                 // the provider refuses for a reason that no row explains
	HoldCredit            = "out_of_credit"           // 402
	HoldBudget            = "budget_reached"          // a limit of what may be spent does not allow the batch now; ends by itself when it does
	HoldUnpriced          = "price_unknown"           // there is a limit of money and no price; ends by itself when there is one
	HoldBusOlder          = "bus_older_than_world"    // the provider knows a batch of this path with another digest
	HoldRowsOlder         = "rows_older_than_records" // ROWS lacks blocks that the records name
	HoldFence             = "fence_unproven"          // the input file is gone and its deletion cannot be proven
	HoldKeyMissing        = "key_missing"             // no API key of the batch's key name is configured
	HoldLineRefusals      = "too_many_line_refusals"  // 20 rows in one line of follow-ups were refused one by one
	HoldManifestMissing   = "manifest_missing"        // the object of the batch's manifest is absent or differs
	HoldPublish           = "publish_refused"         // the bus refuses a result for good
	HoldCapability        = "capability_missing"      // the provider can neither be listed nor fenced
	HoldNeedsAttention    = "needs_attention"         // a batch we know stays 404 or 401
	HoldUnverifiedQuota   = "unverified_quota"        // an unverified account may not submit as many rows: waiting for a whole window did not help
	HoldGroupsUnsupported = "model_refused"           // the provider refuses the model or window of the whole batch
)
