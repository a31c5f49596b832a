package doubleword

// Statuses the provider is known to use. Any other is kept and counts as alive.
const (
	StatusValidating = "validating"
	StatusInProgress = "in_progress"
	StatusFinalizing = "finalizing"
	StatusCompleted  = "completed"
	StatusFailed     = "failed"
	StatusExpired    = "expired"
	StatusCancelling = "cancelling"
	StatusCancelled  = "cancelled"
)

// ended reports whether the status alone says that the provider starts no more rows. `cancelling` is among them: the provider
// shows it only for a batch cancelled before it had rows, and then for ever.
func (b Batch) ended() bool {
	switch b.Status {
	case StatusCompleted, StatusFailed, StatusExpired, StatusCancelling, StatusCancelled:
		return true
	}
	return false
}

// Alive reports whether the batch may still start rows: validating, in_progress, finalizing or a status this package does not
// know. It is pure.
func (b Batch) Alive() bool { return !b.ended() }

// Terminal reports whether the batch has ended, by status and counts: a `completed` whose counts leave rows open is a stale or
// changing picture and not terminal, so the caller needs a deadline of its own. Rows that finished just before a cancel can still land
// for an hour afterwards. It is pure.
func (b Batch) Terminal() bool {
	if b.Status == StatusCompleted {
		return b.Counts.Total == 0 || b.Settled()
	}
	return b.ended()
}

// Settled reports whether the counts give every row an outcome; false while there are no counts. It is pure.
func (b Batch) Settled() bool { return b.Counts.Total > 0 && b.Counts.open() == 0 }

// Adoptable reports whether the batch is worth following instead of making another one: it is alive, or rows completed, or every
// row failed, which is an answer too. A batch that failed or was cancelled before it had rows is not. One whose counts are impossible may have
// had some. It is pure.
func (b Batch) Adoptable() bool {
	allFailed := b.Status == StatusFailed && b.Counts.Total > 0 && b.Counts.Failed == b.Counts.Total
	return b.Alive() || b.CountsImpossible || b.Counts.Completed > 0 || allFailed
}

func (c Counts) open() int { return max(0, c.Total-c.Completed-c.Failed) }
