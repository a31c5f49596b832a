package events

// Headers that a publisher of requests may set.
const (
	// HeaderSeal, with the value "true", ends the job; the payload may hold its last rows.
	HeaderSeal = "Batchbus-Seal"
	// HeaderExpectedRows beside a seal is how many rows the publisher meant to send; batchbus says so when the counts disagree.
	HeaderExpectedRows = "Batchbus-Expected-Rows"
	// HeaderCancel, with the value "true", asks for the job to be cancelled; the message is a seal too.
	HeaderCancel = "Batchbus-Cancel"
	// HeaderWindow is the completion window of all rows of the message, in place of the job's.
	HeaderWindow = "Batchbus-Window"
	// HeaderFirstLine is the line number, in the publisher's own file, of the payload's first line (default 1), so that faults name the
	// line the publisher knows.
	HeaderFirstLine = "Batchbus-First-Line"
)

// Headers on what batchbus publishes.
const (
	HeaderQueue   = "Batchbus-Queue"
	HeaderJob     = "Batchbus-Job"
	HeaderRow     = "Batchbus-Row"     // the row token; the exact custom_id is in the body only
	HeaderOutcome = "Batchbus-Outcome" // an [Outcome]
	HeaderSource  = "Batchbus-Source"  // 32 hex characters: which input the result or dead letter answers
	HeaderCode    = "Batchbus-Code"    // a dead letter's code
)

// CloudEvents attributes in binary mode, and the W3C trace context.
const (
	HeaderCEID          = "ce-id"
	HeaderCEType        = "ce-type"
	HeaderCESource      = "ce-source"
	HeaderCESpecVersion = "ce-specversion"
	HeaderTraceparent   = "traceparent"

	// CESpecVersion is the CloudEvents version of the attributes above.
	CESpecVersion = "1.0"
	// CETypeResult is the ce-type of a result.
	CETypeResult = "io.batchbus.v1.result"
	// CETypeDeadletter is the ce-type of a dead letter.
	CETypeDeadletter = "io.batchbus.v1.deadletter"
)
