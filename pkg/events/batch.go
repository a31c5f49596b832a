package events

import (
	"encoding/json"
	"fmt"
	"time"
)

// BatchState is how far a batch has come.
type BatchState string

// The states of a batch. planned → uploaded → creating → submitted → finished → settled is the plain way; fencing is the way out of a
// creating whose answer never came; refused and cancelled end a batch that the provider never ran.
const (
	BatchPlanned   BatchState = "planned"   // its manifest is stored, nothing was sent
	BatchUploaded  BatchState = "uploaded"  // its input file is at the provider
	BatchCreating  BatchState = "creating"  // the paid POST may have gone out: nobody may POST but who won this change
	BatchFencing   BatchState = "fencing"   // no answer was found: the old input file is being deleted
	BatchSubmitted BatchState = "submitted" // the provider runs it
	BatchFinished  BatchState = "finished"  // terminal at the provider, its results are being collected
	BatchSettled   BatchState = "settled"   // every row has its answer, or is in a follow-up. Never left
	BatchRefused   BatchState = "refused"   // refused by the provider, its rows are answered or in follow-ups. Never left
	BatchCancelled BatchState = "cancelled" // ended before it was submitted; its rows are cancelled. Never left
)

// Ended reports whether every row of a batch in this state has its answer or is in a follow-up.
func (s BatchState) Ended() bool {
	return s == BatchSettled || s == BatchRefused || s == BatchCancelled
}

// Batch is the state of one planned batch, key [BatchKey]. It is changed by compare-and-set only.
type Batch struct {
	Queue   string     `json:"queue"`
	Job     string     `json:"job"`
	N       string     `json:"n"`                // "1", or "5-1" for the first follow-up of batch 5
	Parent  string     `json:"parent,omitempty"` // the batch that a follow-up takes rows from
	State   BatchState `json:"state"`
	SinceAt time.Time  `json:"since_at"`
	// Why, NextTryAt and LastError say what the batch waits for, until when, and what went wrong last (cut at 1 KiB).
	Why       string     `json:"why,omitempty"`
	NextTryAt *time.Time `json:"next_try_at,omitempty"`
	LastError string     `json:"last_error,omitempty"`
	Hold      *Hold      `json:"hold,omitempty"`
	// Wish is what a person asked for to end the hold and what is not done yet.
	Wish *Wish `json:"wish,omitempty"`

	GroupKey
	Key          string `json:"key"`                    // name of the API key it was planned with
	Organization string `json:"organization,omitempty"` // and its organisation
	Rows         int    `json:"rows"`
	Bytes        int64  `json:"bytes"` // of the input file, newlines counted
	OpaqueIDs    bool   `json:"opaque_ids,omitempty"`
	// Manifest names the object that lists the rows; Digest is over the ordered (custom_id, row hash, group) and stands in the remote
	// metadata too. A path never changes its digest.
	Manifest ObjectRef `json:"manifest"`
	Digest   string    `json:"digest"`
	// LineRefusals counts the rows that were refused one by one in this line of follow-ups.
	LineRefusals int `json:"line_refusals,omitempty"`

	// Estimate, Shortage and Reserved are those of a batch under a limit of spending: what its rows may take, which limit keeps it from being sent,
	// and what is reserved for it. Reserved is nil again when the batch has ended.
	Estimate *Estimate    `json:"estimate,omitempty"`
	Shortage *Shortage    `json:"shortage,omitempty"`
	Reserved *Reservation `json:"reserved,omitempty"`

	// QuotaSince is since when the provider has been refusing the create for the quota of an unverified account.
	QuotaSince *time.Time `json:"quota_since,omitempty"`

	Attempt int    `json:"attempt"` // of the POST, from 1; grows with each fence
	FileID  string `json:"file_id,omitempty"`
	// Owner is who won the change to creating or fencing: a random id of one process.
	Owner           string `json:"owner,omitempty"`
	ProviderBatchID string `json:"provider_batch_id,omitempty"`
	Fenced          bool   `json:"fenced,omitempty"` // stopped by us, or adopted by a person: rows it lacks go to a follow-up
	// ForeignDigest is the digest of the remote batch when a person had one adopted that was planned with other rows, or whose digest cannot be
	// seen ([UnknownDigest]): an answer counts only where its id names the row of its place whole.
	ForeignDigest string `json:"foreign_digest,omitempty"`
	// Abandoned are the remote batches of this path that a person gave up: at most 100 of them are named.
	Abandoned []string `json:"abandoned,omitempty"`

	Status       string     `json:"status,omitempty"` // the provider's own word
	Counts       Counts     `json:"counts"`
	RatePerSec   float64    `json:"rate_per_second,omitempty"` // rows settled per second at the provider, smoothed
	RateSince    *time.Time `json:"rate_since,omitempty"`      // from when on the rate was measured; anew when rows run again
	ETAAt        *time.Time `json:"eta_at,omitempty"`
	ProgressAt   *time.Time `json:"progress_at,omitempty"` // when the provider's status or counts were last seen to change
	OutputFileID string     `json:"output_file_id,omitempty"`
	ErrorFileID  string     `json:"error_file_id,omitempty"`
	SubmittedAt  *time.Time `json:"submitted_at,omitempty"`
	ExpiresAt    *time.Time `json:"expires_at,omitempty"`
	FinishedAt   *time.Time `json:"finished_at,omitempty"`
	PolledAt     *time.Time `json:"polled_at,omitempty"` // when the provider last answered for it
	NextPollAt   *time.Time `json:"next_poll_at,omitempty"`
	Overdue      bool       `json:"overdue,omitempty"`
	UnknownSince *time.Time `json:"unknown_since,omitempty"` // the provider has been answering 404 or 401 for it since
	Unanswered   int        `json:"unanswered,omitempty"`    // how many polls in a row that were

	// FollowUps and Totals are written when the batch ends; Totals leaves out rows that went to follow-ups.
	FollowUps []string `json:"follow_ups,omitempty"`
	Totals    *Totals  `json:"totals,omitempty"`
	// Billed is what the provider said at the settlement that it billed for the batch; nil when it did not say.
	Billed *Money `json:"billed,omitempty"`
	// Spent is what was counted for the batch when it ended, in the place of its reservation. Where it had usage and no price, that is the amount
	// that was reserved.
	Spent *Reservation `json:"spent,omitempty"`
}

// Counts are the provider's own counts of a batch's rows.
type Counts struct {
	Total     int `json:"total"`
	Completed int `json:"completed"`
	Failed    int `json:"failed"`
}

// ObjectRef names an object in the bucket batchbus_objects.
type ObjectRef struct {
	Name   string `json:"name"`
	Digest string `json:"digest"` // "SHA-256=" and base64url
	Size   int64  `json:"size"`
}

// Encode returns the JSON of b.
func (b *Batch) Encode() []byte { return encode(b) }

// ParseBatch reads a batch's state.
func ParseBatch(data []byte) (Batch, error) {
	var b Batch
	if err := json.Unmarshal(data, &b); err != nil {
		return Batch{}, fmt.Errorf("parse batch: %w", err)
	}
	return b, nil
}
