package messages

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"

	"github.com/nats-io/nats.go"

	"github.com/batchbus/batchbus/internal/block"
	"github.com/batchbus/batchbus/pkg/events"
)

// Source is the hash that names an input on the wire: over where it came from (the parts) and the row as received, so that the same
// bytes from the same place have one source, however often they are delivered.
func Source(row block.Hash, line int, parts ...string) block.Hash {
	buf := make([]byte, 0, 192) // on the stack: this runs once a row
	for _, part := range parts {
		buf = append(binary.AppendUvarint(buf, uint64(len(part))), part...)
	}
	buf = append(binary.AppendUvarint(buf, uint64(line)), row[:]...)
	sum := sha256.Sum256(buf)
	var source block.Hash
	copy(source[:], sum[:])
	return source
}

// Result renders r, whose row came from source.
func Result(r *events.Result, source block.Hash) *nats.Msg {
	token := events.RowToken(r.CustomID)
	m := &nats.Msg{
		Subject: events.ResultSubject(r.Queue, r.Job, r.CustomID),
		Header:  make(nats.Header, 9),
		Data:    r.Append(make([]byte, 0, 768+len(r.Response))),
	}
	set(m.Header, events.HeaderQueue, r.Queue, events.HeaderJob, r.Job, events.HeaderRow, token,
		events.HeaderOutcome, string(r.Outcome), events.HeaderSource, source.String(),
		events.HeaderCEID, r.Queue+"."+r.Job+"."+token, events.HeaderCEType, events.CETypeResult,
		events.HeaderCESource, "batchbus/"+r.Queue+"/"+r.Job, events.HeaderCESpecVersion, events.CESpecVersion)
	return m
}

// ResultEnvelope is the body of r's message when r itself is too big for one and lies in an object: r without its response.
func ResultEnvelope(r *events.Result) []byte {
	bare := *r
	bare.Response = json.RawMessage(nil)
	return bare.Append(nil)
}

// DeadLetter renders d, whose Source must be set.
func DeadLetter(d *events.DeadLetter) *nats.Msg {
	m := &nats.Msg{
		Subject: events.DeadletterSubject(d.Queue, d.Job, d.Source),
		Header:  make(nats.Header, 8),
		Data:    d.Append(nil),
	}
	set(m.Header, events.HeaderQueue, d.Queue, events.HeaderJob, d.Job, events.HeaderSource, d.Source,
		events.HeaderCode, d.Code, events.HeaderCEID, d.Queue+"."+d.Job+"."+d.Source,
		events.HeaderCEType, events.CETypeDeadletter, events.HeaderCESource, "batchbus/"+d.Queue+"/"+d.Job,
		events.HeaderCESpecVersion, events.CESpecVersion)
	return m
}

// DeadLetterEnvelope is the body of d's message when d itself is too big for one and lies in an object: d without its payload.
func DeadLetterEnvelope(d *events.DeadLetter) []byte {
	bare := *d
	bare.Payload = nil
	return bare.Append(nil)
}

// set puts pairs of names and values into h as they stand: [nats.Header.Set] would do the same at the price of a lookup each.
func set(h nats.Header, pairs ...string) {
	for i := 0; i+1 < len(pairs); i += 2 {
		h[pairs[i]] = []string{pairs[i+1]}
	}
}
