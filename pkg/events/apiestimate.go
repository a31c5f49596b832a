package events

// APIEstimate is the endpoint that says what rows may take before they are sent: [AskEstimate] → [Estimated].
const APIEstimate = "estimate"

// AskEstimate asks what the batches of a job that are not sent yet may take; or, without a job, what rows may take of which the totals are known.
type AskEstimate struct {
	JobRef
	// Window and Model, Rows, Bytes of their bodies, and OutputTokens, of all answers: of rows that are not on the bus. Window empty: the queue's;
	// OutputTokens 0: what answers of the model took in the queue so far, or a fixed number.
	Window       string `json:"window,omitempty"`
	Model        string `json:"model,omitempty"`
	Rows         int    `json:"rows,omitempty"`
	Bytes        int64  `json:"bytes,omitempty"`
	OutputTokens int64  `json:"output_tokens,omitempty"`
}

// Estimated is what rows may take: guesses on the high side, and no bound.
type Estimated struct {
	Queue  string           `json:"queue"`
	Job    string           `json:"job,omitempty"`
	Limits Limits           `json:"limits,omitzero"` // of the queue, as they are now
	Groups []EstimatedGroup `json:"groups"`
}

// EstimatedGroup is what the rows of one window, url and model may take.
type EstimatedGroup struct {
	GroupKey
	Rows int `json:"rows"`
	Estimate
	// Cost and Realtime are by the price table of the replica that answers: null where it has no such price.
	Cost     *Cost `json:"cost"`
	Realtime *Cost `json:"realtime_cost"`
}
