package simulator

// Faults of batches: Nth, Count and Share choose them, in the order of their creation.
const (
	// FaultFrozenValidating leaves the batch "validating" for Delay, 0 for ever; a cancel then leaves it "cancelling".
	FaultFrozenValidating FaultKind = "frozen_validating"
	// FaultFrozenCancelling shows a cancelled batch as "cancelling" for Delay, 0 for ever.
	FaultFrozenCancelling FaultKind = "frozen_cancelling"
	// FaultColdModel keeps the first row back for Delay after the create; 0 means until the window is almost over, as
	// with a model that is scaled to zero (contract, 5.3): 59 minutes are left of 24 hours, 10 of one.
	FaultColdModel FaultKind = "cold_model"
	// FaultCreditOut refuses every row after the first Rows of the batch with Status (402, or 403), at full speed,
	// until Delay after the create; 0 means until SetFaults. Such a row does not count as run.
	FaultCreditOut FaultKind = "credit_out"
	// FaultLateAfterCancel finishes Rows rows (0 means 10) Delay after the cancel that found them in flight.
	FaultLateAfterCancel FaultKind = "late_after_cancel"
	// FaultOperatorRetry retries the batch once, Delay after it ended or was cancelled, as a person at the dashboard does.
	FaultOperatorRetry FaultKind = "operator_retry"
	// FaultAnalyticsLag counts only Rows rows in the analytics until Delay after the last row.
	FaultAnalyticsLag FaultKind = "analytics_lag"
)

// Faults of rows: Nth and Count choose the batches. CustomIDs names the rows; without it Share of them are hit, chosen
// by seed and row, or all when that is 0 too. With CustomIDs Share chooses batches. They strike when a row runs.
const (
	// FaultMissingRow counts the rows as completed and puts them into neither file.
	FaultMissingRow FaultKind = "missing_row"
	// FaultLateRow commits the rows Delay after they ran, at the place they ran: behind a cursor that has passed.
	FaultLateRow FaultKind = "late_row"
	// FaultDuplicateRow writes the rows' lines twice, one after the other, and counts them once.
	FaultDuplicateRow FaultKind = "duplicate_row"
	// FaultStringBody delivers Text as the answer, a JSON string; "" means the answer as one raw server-sent event.
	FaultStringBody FaultKind = "string_body"
	// FaultNullBody delivers null as the answer. The tokens were used all the same.
	FaultNullBody FaultKind = "null_body"
	// FaultTruncated stops the answers after four tokens for "length"; with Text "null" the reason is null, as after
	// an upstream stream that broke off.
	FaultTruncated FaultKind = "truncated"
	// FaultModelSubstituted answers with the model Text ("" means "substitute/model") what runs within Delay of the
	// deadline; 0 means always.
	FaultModelSubstituted FaultKind = "model_substituted"
	// FaultNestedError fails the rows with Status (0 means 400) and Text, three layers of JSON in strings deep.
	FaultNestedError FaultKind = "nested_error"
	// FaultRetriedRow has the provider try the rows again until the deadline, and fail them then with Status (0 means
	// 404, a model that was removed). Past the deadline one attempt is all they get.
	FaultRetriedRow FaultKind = "retried_row"
)
