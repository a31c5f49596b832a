package simulator

// Faults of rows: Nth and Count choose the batches. CustomIDs names the rows; without it Share of them are hit, chosen
// by seed and row, or all when that is 0 too. With CustomIDs Share chooses batches.
const (
	// FaultMissingRow counts the rows as completed and puts them into neither file.
	FaultMissingRow FaultKind = "missing_row"
	// FaultLateRow commits the rows Delay after they ran, at the place they ran: behind a cursor that has passed.
	FaultLateRow FaultKind = "late_row"
)
