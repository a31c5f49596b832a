package plan

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pgregory.net/rapid"

	"github.com/batchbus/batchbus/internal/block"
	"github.com/batchbus/batchbus/internal/manifest"
	"github.com/batchbus/batchbus/pkg/events"
)

const (
	queue = "default"
	job   = "nightly"
)

func hashOf(text string) (h block.Hash) {
	sum := sha256.Sum256([]byte(text))
	copy(h[:], sum[:])
	return h
}

// input is one published row; an index into a script's inputs may come again as a redelivery.
func input(n int, id string, body string, model string, refused bool) *block.Entry {
	e := &block.Entry{
		Source: hashOf("source " + strconv.Itoa(n)), ID: hashOf("id " + id), Row: hashOf("row " + id + body + model),
		CustomID: id, Sequence: uint64(n), Line: n,
	}
	if refused {
		e.Fault = &block.Fault{Code: "invalid_json", Message: "not JSON", Payload: []byte("{" + body)}
		return e
	}
	e.Group = events.GroupKey{Window: "24h", URL: "/v1/x", Model: model}
	e.Tail = []byte(`,"method":"POST","url":"/v1/x","body":{"model":"` + model + `","x":"` + body + `"}}`)
	e.Size = len(e.Tail)
	return e
}

// script is what ROWS gets: blocks of entries, nil being a seal.
type script struct {
	policy events.Policy
	blocks [][]*block.Entry
}

func drawScript(t *rapid.T) script {
	var inputs []*block.Entry
	draw := func(t *rapid.T) *block.Entry {
		if len(inputs) > 0 && rapid.IntRange(0, 4).Draw(t, "again") == 0 {
			return rapid.SampledFrom(inputs).Draw(t, "redelivered")
		}
		e := input(len(inputs)+1, rapid.SampledFrom(strings.Split("abcdefghijklmnop", "")).Draw(t, "id"),
			rapid.SampledFrom([]string{"", "1", "22222222222222222222"}).Draw(t, "body"),
			rapid.SampledFrom([]string{"m", "n", "o"}).Draw(t, "model"), rapid.IntRange(0, 5).Draw(t, "refused") == 0)
		inputs = append(inputs, e)
		return e
	}
	s := script{policy: events.DefaultPolicy()}
	s.policy.MaxRowsPerBatch = rapid.IntRange(1, 4).Draw(t, "max_rows")
	s.policy.MaxBytesPerBatch = rapid.Int64Range(80, 400).Draw(t, "max_bytes")
	s.policy.MaxRowsPerJob = rapid.IntRange(4, 20).Draw(t, "max_rows_per_job")
	n := rapid.IntRange(1, 8).Draw(t, "blocks")
	for range n {
		if rapid.IntRange(0, 6).Draw(t, "seal") == 0 {
			s.blocks = append(s.blocks, nil)
			continue
		}
		s.blocks = append(s.blocks, rapid.SliceOfN(rapid.Custom(draw), 1, 8).Draw(t, "entries"))
	}
	if !slices.ContainsFunc(s.blocks, func(b []*block.Entry) bool { return b == nil }) {
		s.blocks = append(s.blocks, nil)
	}
	return s
}

// fates is what must become of a script without a cancel, told in the plainest way: per source one word, and the batches in order.
func fates(s script) (fate map[block.Hash]string, batches map[string]bool, owners, rejected int) {
	fate, batches = make(map[block.Hash]string), make(map[string]bool)
	first := make(map[string]*block.Entry)
	open := make(map[string][]*block.Entry)
	bytes := make(map[string]int64)
	cut := func(model string) {
		if len(open[model]) > 0 {
			batches[sourcesOf(open[model])] = true
		}
		open[model], bytes[model] = nil, 0
	}
	sealed := false
	for _, entries := range s.blocks {
		if entries == nil {
			for model := range open {
				cut(model)
			}
			sealed = true
		}
		for _, e := range entries {
			if fate[e.Source] != "" {
				continue
			}
			owner := first[e.CustomID]
			switch {
			case sealed:
				fate[e.Source] = events.DLJobSealed
			case owner != nil && owner.Row == e.Row:
				fate[e.Source] = events.DLDuplicate
			case owner != nil:
				fate[e.Source] = events.DLConflict
			case owners == s.policy.MaxRowsPerJob:
				fate[e.Source] = events.DLJobFull
			default:
				first[e.CustomID] = e
				owners++
				if e.Fault != nil {
					rejected++
					fate[e.Source] = "rejected"
					continue
				}
				fate[e.Source] = "batch"
				model := e.Group.Model
				line := func() int64 {
					return int64(len(manifest.AppendLine(nil, len(open[model]), e, s.policy.OpaqueIDs)))
				}
				if bytes[model]+line() > s.policy.MaxBytesPerBatch {
					cut(model)
				}
				bytes[model] += line()
				open[model] = append(open[model], e)
				if len(open[model]) == s.policy.MaxRowsPerBatch || bytes[model] == s.policy.MaxBytesPerBatch {
					cut(model)
				}
			}
		}
	}
	return fate, batches, owners, rejected
}

func sourcesOf(entries []*block.Entry) string {
	var b strings.Builder
	for _, e := range entries {
		b.WriteString(e.Source.String() + " ")
	}
	return b.String()
}

// found reads from the bus what became of each source, and fails when it became two things.
func found(t *rapid.T, b *memoryBus) (fate map[block.Hash]string, batches map[string]bool) {
	fate, batches = make(map[block.Hash]string), make(map[string]bool)
	put := func(source, what string) {
		var h block.Hash
		_, err := fmt.Sscanf(source, "%x", (*hexHash)(&h))
		if err != nil {
			t.Fatal(err)
		}
		if before := fate[h]; before != "" {
			t.Fatalf("%s is %s and %s", source, before, what)
		}
		fate[h] = what
	}
	for subject, m := range b.stream {
		switch {
		case strings.HasPrefix(subject, events.PrefixResults) && m.Header.Get(events.HeaderOutcome) != string(events.Succeeded):
			put(m.Header.Get(events.HeaderSource), m.Header.Get(events.HeaderOutcome))
		case strings.HasPrefix(subject, events.PrefixDeadletters):
			put(m.Header.Get(events.HeaderSource), m.Header.Get(events.HeaderCode))
		}
	}
	states, rows, err := b.batches(queue, job)
	if err != nil {
		t.Fatal(err)
	}
	for _, state := range states {
		var sources strings.Builder
		for _, row := range rows[state.N] {
			put(row.Source.String(), "batch")
			sources.WriteString(row.Source.String() + " ")
		}
		if len(rows[state.N]) != state.Rows {
			t.Fatalf("batch %s says %d rows and has %d", state.N, state.Rows, len(rows[state.N]))
		}
		checkBatch(t, b, &state, rows[state.N])
		batches[sources.String()] = true
	}
	return fate, batches
}

type hexHash block.Hash

// Scan reads a hash in hex.
func (h *hexHash) Scan(state fmt.ScanState, _ rune) error {
	token, err := state.Token(true, nil)
	if err != nil {
		return err
	}
	_, err = fmt.Sscanf(string(token), "%x", new([]byte))
	for i := range h {
		value, parseErr := strconv.ParseUint(string(token[2*i:2*i+2]), 16, 8)
		err = errors.Join(err, parseErr)
		h[i] = byte(value)
	}
	return err
}

// checkBatch writes the batch's file and compares it with what its state says.
func checkBatch(t *rapid.T, b *memoryBus, state *events.Batch, rows []manifest.Entry) {
	var file []byte
	digest := manifest.NewDigest(state.GroupKey)
	for row, err := range manifest.Rows(context.Background(), b, queue, job, rows) {
		if err != nil {
			t.Fatalf("batch %s: %v", state.N, err)
		}
		file = manifest.AppendLine(file, row.Place, row.Entry, state.OpaqueIDs)
		digest.Add(row.CustomID, row.Row)
		if row.Group != state.GroupKey {
			t.Fatalf("batch %s mixes groups", state.N)
		}
	}
	if int64(len(file)) != state.Bytes || digest.Sum() != state.Digest {
		t.Fatalf("batch %s: %d bytes, says %d", state.N, len(file), state.Bytes)
	}
}
