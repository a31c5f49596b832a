package refused

import (
	"time"

	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// Kind tells the two ways of being refused apart.
type Kind string

// The kinds.
const (
	DeadLetter Kind = "deadletter" // input that has no result
	Rejected   Kind = "rejected"   // a row whose one result says that it was refused
)

// Entry is one refused row, or a whole message that was refused. Its JSON is a line of `batchbus deadletters list --json`.
type Entry struct {
	Entry    string `json:"entry"` // the subject on which it stands
	Kind     Kind   `json:"kind"`
	Code     string `json:"code"`
	Message  string `json:"message"`
	Hint     string `json:"hint,omitempty"`
	CustomID string `json:"custom_id,omitempty"`
	Queue    string `json:"queue"`
	Job      string `json:"job"`
	Source   string `json:"source"`
	// Subject and Sequence are where the input stood in BATCHBUS_REQUESTS; a rejected row's are known once its payload was looked for.
	Subject  string         `json:"subject,omitempty"`
	Sequence uint64         `json:"sequence,omitempty"`
	Line     int            `json:"line,omitempty"`
	Column   int            `json:"column,omitempty"`
	First    *events.Origin `json:"first,omitempty"`
	At       time.Time      `json:"at"`

	// Standing is its sequence in its own stream. Payload is the input as it was received, nil until it was looked for.
	Standing uint64 `json:"-"`
	Payload  []byte `json:"-"`
	Lost     string `json:"-"` // why the payload is not to be had any more

	object   jetstore.Object // of a dead letter that names one
	external bool
}

// letterOf reads a dead letter. One that nobody can read is an entry all the same, whose payload are its bytes: it must not hide the others.
func letterOf(m *jetstore.Message) Entry {
	e := Entry{Entry: m.Subject, Kind: DeadLetter, Standing: m.Sequence, At: m.At}
	e.object, e.external = jetstore.ObjectOf(m.Header)
	d, err := events.ParseDeadLetter(m.Data)
	if err != nil {
		e.Code, e.Message, e.Payload = m.Header.Get(events.HeaderCode), "this is no dead letter of batchbus: "+err.Error(), m.Data
		e.Queue, e.Job, e.Source, _ = splitLetter(m.Subject)
		return e
	}
	e.Code, e.Message, e.Hint, e.CustomID, e.Queue, e.Job, e.Source = d.Code, d.Message, d.Hint, d.CustomID, d.Queue, d.Job, d.Source
	e.Subject, e.Sequence, e.Line, e.Column, e.First, e.At = d.Subject, d.Sequence, d.Line, d.Column, d.First, d.At
	if !e.external {
		e.Payload = append([]byte{}, d.Payload...)
	}
	return e
}

// resultOf reads a rejected result.
func resultOf(m *jetstore.Message) (Entry, error) {
	r, err := events.ParseResult(m.Data)
	if err != nil {
		return Entry{}, err
	}
	e := Entry{
		Entry: m.Subject, Kind: Rejected, CustomID: r.CustomID, Queue: r.Queue, Job: r.Job,
		Source: m.Header.Get(events.HeaderSource), At: r.CompletedAt, Standing: m.Sequence,
	}
	if r.Error != nil {
		e.Code, e.Message, e.Hint, e.Line, e.Column = r.Error.Code, r.Error.Message, r.Error.Hint, r.Error.Line, r.Error.Column
	}
	return e, nil
}
