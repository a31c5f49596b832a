package queues

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/batchbus/batchbus/pkg/events"
)

// Overlay returns the policy with the fields of a JSON object in the place of its own; those of an object within one by one, lists as a whole.
// An empty text changes nothing. A field that is unknown is an error, since it would silently not be obeyed. The values are not checked,
// see [Check].
func Overlay(p events.Policy, fields []byte) (events.Policy, error) {
	if len(bytes.TrimSpace(fields)) == 0 {
		return p, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(fields))
	decoder.DisallowUnknownFields()
	out := clone(p)
	if err := decoder.Decode(&out); err != nil {
		return p, fmt.Errorf("read policy: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return p, errors.New("read policy: more than one JSON value")
	}
	return out, nil
}

// read is [Overlay] for a record that is there: what it does not know is a later version's.
func read(p events.Policy, record []byte) (events.Policy, error) {
	out := clone(p)
	if err := json.Unmarshal(record, &out); err != nil {
		return p, fmt.Errorf("read record: %w", err)
	}
	return out, nil
}

// clone shares no list with p: decoding writes into the lists that it finds.
func clone(p events.Policy) events.Policy {
	p.Windows = append([]string{}, p.Windows...)
	p.URLs = append([]string{}, p.URLs...)
	p.Retry.On = append([]string{}, p.Retry.On...)
	p.Models, p.Set = slices.Clone(p.Models), slices.Clone(p.Set)
	return p
}

// record is what of p differs from base, as a JSON object.
func record(p, base events.Policy) ([]byte, error) {
	wanted, err := fieldsOf(p)
	if err != nil {
		return nil, err
	}
	have, err := fieldsOf(base)
	if err != nil {
		return nil, err
	}
	return json.Marshal(differing(wanted, have)) //nolint:wrapcheck // it cannot fail on what was decoded just now
}

func fieldsOf(p events.Policy) (fields map[string]json.RawMessage, err error) {
	p = clone(p) // an empty list is [], not null
	text, err := json.Marshal(p)
	if err == nil {
		err = json.Unmarshal(text, &fields)
	}
	if err != nil {
		return nil, fmt.Errorf("encode policy: %w", err)
	}
	return fields, nil
}

// differing are the members of wanted that base does not have, or has otherwise; of objects in both, theirs.
func differing(wanted, base map[string]json.RawMessage) map[string]json.RawMessage {
	out := make(map[string]json.RawMessage)
	for name, value := range wanted {
		var inner, innerBase map[string]json.RawMessage
		switch {
		case bytes.Equal(value, base[name]):
			continue
		case json.Unmarshal(value, &inner) == nil && json.Unmarshal(base[name], &innerBase) == nil && inner != nil && innerBase != nil:
			if part, err := json.Marshal(differing(inner, innerBase)); err == nil {
				value = part
			}
		}
		out[name] = value
	}
	return out
}
