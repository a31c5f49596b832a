package simulator

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// writtenFault is a [Fault] as people write it: its delay a Go duration as text.
type writtenFault struct {
	Kind      FaultKind   `json:"kind"`
	Route     string      `json:"route,omitempty"`
	Nth       int         `json:"nth,omitempty"`
	Count     int         `json:"count,omitempty"`
	Share     float64     `json:"share,omitempty"`
	Status    int         `json:"status,omitempty"`
	Text      string      `json:"text,omitempty"`
	Delay     writtenTime `json:"delay,omitzero"`
	Bytes     int64       `json:"bytes,omitempty"`
	Clean     bool        `json:"clean,omitempty"`
	Rows      int         `json:"rows,omitempty"`
	CustomIDs []string    `json:"custom_ids,omitempty"`
}

type writtenTime time.Duration

// MarshalText writes what UnmarshalText reads.
func (d writtenTime) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads what [time.ParseDuration] reads.
func (d *writtenTime) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	*d = writtenTime(parsed)
	return err //nolint:wrapcheck // the decoder says where
}

func (f Fault) written() writtenFault {
	return writtenFault{
		Kind: f.Kind, Route: f.Route, Nth: f.Nth, Count: f.Count, Share: f.Share, Status: f.Status, Text: f.Text,
		Delay: writtenTime(f.Delay), Bytes: f.Bytes, Clean: f.Clean, Rows: f.Rows, CustomIDs: f.CustomIDs,
	}
}

// MarshalJSON writes the fault's fields in snake_case, its delay as a Go duration such as "5m0s", and without those that are zero.
func (f Fault) MarshalJSON() ([]byte, error) {
	out, err := json.Marshal(f.written())
	if err != nil {
		return nil, fmt.Errorf("write fault: %w", err)
	}
	return out, nil
}

// UnmarshalJSON reads what MarshalJSON writes into the fields that are named; the others stay. Unknown names are an error: a fault with a misspelt
// one would happen elsewhere than meant.
func (f *Fault) UnmarshalJSON(text []byte) error {
	read := f.written()
	if err := strictly(text, &read); err != nil {
		return fmt.Errorf("read fault: %w", err)
	}
	*f = Fault{
		Kind: read.Kind, Route: read.Route, Nth: read.Nth, Count: read.Count, Share: read.Share, Status: read.Status, Text: read.Text,
		Delay: time.Duration(read.Delay), Bytes: read.Bytes, Clean: read.Clean, Rows: read.Rows, CustomIDs: read.CustomIDs,
	}
	return nil
}

// ReadFaults reads a JSON array of faults, strictly: neither unknown names nor anything behind it. Whether they make sense is not looked at.
func ReadFaults(text []byte) ([]Fault, error) {
	var faults []Fault
	if err := strictly(text, &faults); err != nil {
		return nil, fmt.Errorf("read faults: %w", err)
	}
	return faults, nil
}

func strictly(text []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return err //nolint:wrapcheck // the caller says of what
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one value")
	}
	return nil
}
