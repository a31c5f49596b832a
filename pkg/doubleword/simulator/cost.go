package simulator

import (
	"bytes"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// batchAnalytics is GET /v1/batches/{id}/analytics.
type batchAnalytics struct {
	TotalRequests         int     `json:"total_requests"`
	TotalPromptTokens     int     `json:"total_prompt_tokens"`
	TotalCompletionTokens int     `json:"total_completion_tokens"`
	TotalTokens           int     `json:"total_tokens"`
	AvgDurationMs         float64 `json:"avg_duration_ms"`
	TotalCost             string  `json:"total_cost"`
	TotalListCost         string  `json:"total_list_cost"`

	cost int64 // in 1e-12 of a dollar
}

type costShare struct {
	Model        string `json:"model"`
	RequestCount int    `json:"request_count"`
	InputTokens  int64  `json:"estimated_input_tokens"`
	OutputTokens int64  `json:"estimated_output_tokens"`
	Cost         string `json:"estimated_cost"`
}

type costReply struct {
	FileID        string      `json:"file_id"`
	TotalRequests int         `json:"total_requests"`
	InputTokens   int64       `json:"total_estimated_input_tokens"`
	OutputTokens  int64       `json:"total_estimated_output_tokens"`
	Cost          string      `json:"total_estimated_cost"`
	Models        []costShare `json:"models"`
}

// costEstimate answers GET /v1/files/{id}/cost-estimate: body bytes over four in, 1.1 times that out, and one token
// a row out for embeddings (contract, 3.5).
func (s *Simulator) costEstimate(w http.ResponseWriter, r *http.Request, _ call) error {
	if err := s.authorize(r); err != nil {
		return err
	}
	id, err := s.pathID(r, "file")
	if err != nil {
		return err
	}
	s.mu.Lock()
	f, ok := s.state.liveFile(id)
	s.mu.Unlock()
	if !ok {
		return notFound("File", id)
	}
	return replyJSON(w, http.StatusOK, s.cfg.estimate(f.fileOpened))
}

func (c Config) estimate(f fileOpened) costReply {
	out, total := costReply{FileID: f.ID, TotalRequests: f.Rows, Models: []costShare{}}, int64(0)
	for model, share := range f.Models {
		in := share.BodyBytes / 4
		gen := in * 11 / 10
		if share.Embedding > 0 {
			gen = int64(share.Rows)
		}
		amount := c.priceOf(model).of(in, gen)
		total += amount
		out.InputTokens += in
		out.OutputTokens += gen
		out.Models = append(out.Models, costShare{
			Model: model, RequestCount: share.Rows, InputTokens: in, OutputTokens: gen, Cost: dollars(amount),
		})
	}
	slices.SortFunc(out.Models, func(a, b costShare) int { return strings.Compare(a.Model, b.Model) })
	out.Cost = dollars(total)
	return out
}

func (s *Simulator) batchAnalytics(w http.ResponseWriter, r *http.Request, _ call) error {
	if err := s.authorize(r); err != nil {
		return err
	}
	id, err := s.pathID(r, "batch")
	if err != nil {
		return err
	}
	s.mu.Lock()
	b, ok := s.state.liveBatch(id)
	s.mu.Unlock()
	if !ok {
		return notFound("Batch", id)
	}
	sums, err := s.analytics(b)
	if err != nil {
		return err
	}
	return replyJSON(w, http.StatusOK, sums)
}

// analytics sums the usage of the answers themselves, so the numbers agree with the output file.
func (s *Simulator) analytics(b *batch) (*batchAnalytics, error) {
	s.mu.Lock()
	from, odd, rows, failed := b.input.rows, maps.Clone(b.odd), slices.Clip(b.completed), len(b.failed)
	if f, ok := s.batchFault(FaultAnalyticsLag, b); ok && time.Since(b.lastRowAt) < f.Delay {
		rows, failed = rows[:min(len(rows), f.Rows)], 0
	}
	s.mu.Unlock()
	out := &batchAnalytics{TotalRequests: len(rows) + failed}
	if len(rows) > 0 && from != nil {
		if err := s.sumUsage(b.Seed, from, rows, odd, out); err != nil {
			return nil, err
		}
	}
	out.TotalTokens = out.TotalPromptTokens + out.TotalCompletionTokens
	out.TotalCost = dollars(out.cost)
	out.TotalListCost = out.TotalCost
	return out, nil
}

func (s *Simulator) sumUsage(seed uint64, from *rowIndex, rows []uint32, odd map[uint32]oddities, out *batchAnalytics) error {
	source, err := from.open()
	if err != nil {
		return err
	}
	defer source.close()
	var buf []byte
	for _, n := range rows {
		line, err := source.line(n)
		if err != nil {
			return err
		}
		r := parseRow(line)
		buf = s.appendAnswer(buf[:0], seed, r, odd[n])
		usage := lastUsage(buf)
		prompt, completion := usedTokens(usage, "prompt_tokens", "input_tokens"), usedTokens(usage, "completion_tokens", "output_tokens")
		out.TotalPromptTokens += int(prompt)
		out.TotalCompletionTokens += int(completion)
		out.cost += s.cfg.priceOf(string(unquote(lookup(r.body, "model")))).of(prompt, completion)
	}
	return nil
}

// usedTokens is the number that a usage names by one of the keys.
func usedTokens(usage []byte, keys ...string) (sum int64) {
	for _, key := range keys {
		f, _ := number(lookup(usage, key))
		sum += int64(f)
	}
	return sum
}

// lastUsage finds the usage object, which sorts last in every shape.
func lastUsage(answer []byte) []byte {
	if i := bytes.LastIndex(answer, []byte(`"usage":`)); i >= 0 {
		return answer[i+len(`"usage":`) : len(answer)-1]
	}
	return nil
}
