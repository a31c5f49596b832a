package doubleword

import (
	"io"
	"time"
)

// File is a file at the provider: an input file, or the virtual output or error file of a batch.
type File struct {
	ID       string
	Filename string
	// Purpose is "batch" for an input, "batch_output" or "batch_error" for what a batch writes.
	Purpose string
	// Bytes is exact for an input and an estimate that grows for what a batch writes.
	Bytes int64
	// CreatedAt and ExpiresAt are zero when the provider does not say.
	CreatedAt, ExpiresAt time.Time
}

// FileQuery selects files. Zero values select everything, newest first.
type FileQuery struct {
	// Search is part of a file name, case-insensitive; the provider reads % and _ as wildcards, so compare what comes back.
	Search string
	// Purpose is the exact purpose.
	Purpose string
	// After is the id of the last file of the page before.
	After string
	// Limit is the page size; the provider clamps it to 1..101 and takes 20 for 0.
	Limit int
}

// FilePage is one page of files.
type FilePage struct {
	Files []File
	// HasMore says that files follow; their page is the one after Last.
	HasMore bool
	// Last is the cursor for FileQuery.After, empty when the page is empty.
	Last string
}

// Batch is the provider's run of one input file. Times are zero and ids empty when the provider does not say.
type Batch struct {
	ID string
	// Status is kept as it came, see Alive and Terminal.
	Status                                                                               string
	Endpoint, CompletionWindow                                                           string
	InputFileID, OutputFileID, ErrorFileID                                               string
	CreatedAt, ExpiresAt, InProgressAt, FinalizingAt, CompletedAt, FailedAt, CancelledAt time.Time
	Counts                                                                               Counts
	// CountsImpossible says that the provider's counts cannot be true, such as negative ones; Counts is zero then.
	CountsImpossible bool
	// Metadata is what the creator gave, less what the provider drops, plus what it adds: never compare it for equality.
	Metadata map[string]string
	Errors   []BatchError
}

// Counts are rows of a batch. Rows that were cancelled are in none of Completed and Failed.
type Counts struct {
	Total, Completed, Failed int
}

// BatchError is a fault of a batch as a whole.
type BatchError struct {
	Code, Message string
	// Line is the 1-based row, 0 when the provider names none.
	Line int
}

// NewBatch is what CreateBatch sends.
type NewBatch struct {
	InputFileID string `json:"input_file_id"`
	// Endpoint is one allowed row url; the provider stores it but runs each row at its own url.
	Endpoint string `json:"endpoint"`
	// CompletionWindow is the provider's text, like "24h".
	CompletionWindow string `json:"completion_window"`
	// Metadata should hold a token that no other batch has: it is how an unanswered create is found.
	Metadata map[string]string `json:"metadata,omitempty"`
}

// BatchQuery selects batches. Zero values select everything, newest first.
type BatchQuery struct {
	// Search is part of the metadata, the input file's name or the id, case-insensitive; the provider reads % and _ as wildcards, so
	// compare what comes back.
	Search string
	// After is the id of the last batch of the page before.
	After string
	// Limit is the page size; the provider clamps it to 1..101 and takes 20 for 0.
	Limit int
	// MaxPages is how many pages AllBatches follows before it ends with [ErrEndless]. Default [DefaultMaxPages].
	MaxPages int
}

// BatchPage is one page of batches.
type BatchPage struct {
	Batches []Batch
	// HasMore says that batches follow; their page is the one after Last.
	HasMore bool
	// Last is the cursor for BatchQuery.After, empty when the page is empty.
	Last string
}

// ContentQuery selects lines of a file.
type ContentQuery struct {
	// Skip is how many lines to leave out from the start.
	Skip int
	// Limit 0 streams everything; otherwise the provider sends one page of at most min(Limit, 101) lines with exact headers.
	Limit int
}

// Content is a stream of result lines. The caller closes Body. One goroutine at a time may read it.
type Content struct {
	// Body fails with an [*Error] (Retryable) when the stream breaks off or stands still for the idle timeout, and ends with
	// io.EOF only when the provider ended it. Time between two reads does not count as idle.
	Body io.ReadCloser
	// Incomplete is the provider's word that more lines may come; valid if HasIncomplete. It can be wrong both ways.
	Incomplete, HasIncomplete bool
	// LastLine is the number of lines from the start of the file to the end of this body; valid if HasLastLine. Without a
	// limit it is a promise made before the body was sent: count complete lines instead.
	LastLine    int
	HasLastLine bool
}

// Model is a model the key may use.
type Model struct {
	ID      string
	OwnedBy string
	// CreatedAt is zero when the provider does not say.
	CreatedAt time.Time
}
