package gateway

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/rows"
)

// stream answers with the events that the provider would have sent, had it been asked for a stream. An answer in a shape that is not known goes
// out as one event, as it is.
func (x *exchange) stream(response []byte) {
	response = oneLine(bytes.Clone(response))
	o, err := readObject(response)
	e := emitter{out: x.out, whole: o, usage: x.q.usage}
	switch {
	case err != nil:
		x.out.event("", response)
	case x.q.url == urlChat:
		e.chat()
	case x.q.url == urlCompletions:
		e.completions()
	case x.q.url == urlResponses:
		e.responses()
	default:
		e.messages()
	}
}

// emitter turns one answer into events. What it copies of the answer, it copies byte for byte.
type emitter struct {
	out      *answer
	whole    object
	usage    bool
	sequence int
}

// pair is a member to be written; value is JSON, and one that is nil leaves the member out.
type pair struct {
	name  string
	value []byte
}

// build writes members in order.
func build(pairs ...pair) []byte {
	out := []byte{'{'}
	for _, p := range pairs {
		if p.value == nil {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(events.AppendString(out, p.name), ':'), p.value...)
	}
	return append(out, '}')
}

func text(s string) []byte { return events.AppendString(nil, s) }

func number(n int) []byte { return strconv.AppendInt(nil, int64(n), 10) }

// list is a JSON array of what is given.
func list(values ...[]byte) []byte {
	return append(append([]byte{'['}, bytes.Join(values, []byte{','})...), ']')
}

// elements are those of a JSON array; none of anything else.
func elements(array []byte) (all [][]byte) {
	dec := jsontext.NewDecoder(bytes.NewReader(array), jsontext.AllowDuplicateNames(true))
	if begin, err := dec.ReadToken(); err != nil || begin.Kind() != '[' {
		return nil
	}
	for dec.PeekKind() != ']' {
		value, err := dec.ReadValue()
		if err != nil {
			return nil // it is part of an answer that was read before
		}
		end := int(dec.InputOffset())
		all = append(all, array[end-len(value):end])
	}
	return all
}

// objects are the elements of an array that are objects.
func objects(array []byte) (all []object) {
	for _, text := range elements(array) {
		if o, err := readObject(text); err == nil {
			all = append(all, o)
		}
	}
	return all
}

// others are the members of an object but those of the names.
func (o *object) others(names ...string) (all []pair) {
	for _, m := range o.members {
		if !slices.Contains(names, m.name) {
			all = append(all, pair{m.name, m.value})
		}
	}
	return all
}

// with is an object's bytes with a member set to a value.
func with(o []byte, name, value string) []byte {
	out, err := rows.Splice(o, []string{name}, []byte(value))
	if err != nil {
		return o // it was read as an object before
	}
	return out
}

// orNull is null for a member that is not there.
func orNull(value []byte) []byte {
	if value == nil {
		return []byte("null")
	}
	return value
}

// filled tells whether a member is there and is neither null nor empty text.
func filled(value []byte) bool {
	return len(value) > 0 && string(value) != "null" && string(value) != `""`
}
