package events

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"
)

// DeadLetter is refused input that has no result: its payload, why it was refused, and where it came from. It is published on
// [DeadletterSubject] with expected last subject sequence 0, so that a redelivered input leaves one.
type DeadLetter struct {
	Code     string `json:"code"` // one of the DL constants or a row fault's code
	Message  string `json:"message"`
	Hint     string `json:"hint,omitempty"`
	CustomID string `json:"custom_id,omitempty"` // when the input had a usable one
	Queue    string `json:"queue"`
	Job      string `json:"job"`
	Source   string `json:"source"` // 32 hex characters, the last token of the subject
	// Subject and Sequence are where the input stood in BATCHBUS_REQUESTS; Line is its line in the publisher's file or message, from 1;
	// Column is the byte column of the fault in that line, from 1, 0 when it has none.
	Subject  string `json:"subject"`
	Sequence uint64 `json:"sequence"`
	Line     int    `json:"line"`
	Column   int    `json:"column,omitempty"`
	// First is where the owner of a duplicated or conflicting custom_id was published, and for a row behind the seal where the seal was,
	// whose Line is 0. Nil where that is not known, or makes no sense.
	First *Origin   `json:"first,omitempty"`
	At    time.Time `json:"at"`
	// Payload is the refused input, exactly. It travels as "payload" where it is UTF-8, else as "payload_base64".
	Payload []byte `json:"-"`
}

// Origin is the place of one row in what its publisher sent.
type Origin struct {
	Sequence uint64 `json:"sequence"` // sequence in BATCHBUS_REQUESTS
	Line     int    `json:"line"`     // line in the publisher's file or message, from 1; 0 for a seal
}

// Append appends the JSON of d to dst and returns it.
func (d *DeadLetter) Append(dst []byte) []byte {
	type plain DeadLetter
	head := encode((*plain)(d))
	dst = append(dst, head[:len(head)-1]...)
	if utf8.Valid(d.Payload) {
		dst = AppendString(append(dst, `,"payload":`...), string(d.Payload))
	} else {
		dst = append(dst, `,"payload_base64":"`...)
		dst = base64.StdEncoding.AppendEncode(dst, d.Payload)
		dst = append(dst, '"')
	}
	return append(dst, '}')
}

// ParseDeadLetter reads a dead letter, payload included.
func ParseDeadLetter(data []byte) (DeadLetter, error) {
	var d struct {
		DeadLetter
		Text   *string `json:"payload"`
		Base64 []byte  `json:"payload_base64"`
	}
	if err := json.Unmarshal(data, &d); err != nil {
		return DeadLetter{}, fmt.Errorf("parse dead letter: %w", err)
	}
	d.Payload = d.Base64
	if d.Text != nil {
		d.Payload = []byte(*d.Text)
	}
	return d.DeadLetter, nil
}

// Place says in words where the input stood: "line 3, column 17".
func (d *DeadLetter) Place() string {
	place := "line " + strconv.Itoa(d.Line)
	if d.Column > 0 {
		place += ", column " + strconv.Itoa(d.Column)
	}
	return place
}
