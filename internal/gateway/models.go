package gateway

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/events"
)

// modelsTTL is how long the provider's list of models is remembered.
const modelsTTL = time.Minute

// models remembers the provider's list. It is safe for concurrent use.
type models struct {
	source Models

	mu    sync.Mutex
	until time.Time
	known []doubleword.Model
}

// all are the models of the provider; none when nobody can be asked.
func (m *models) all(ctx context.Context) ([]doubleword.Model, error) {
	if m.source == nil {
		return nil, nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if time.Now().Before(m.until) {
		return m.known, nil
	}
	all, err := m.source.Models(ctx)
	if err != nil {
		return nil, err
	}
	m.known, m.until = all, time.Now().Add(modelsTTL)
	return all, nil
}

// list answers with the models that calls of the caller's queue may name, or with one of them.
func (x *exchange) list(string) *fault {
	who, f := x.s.authenticate(x.r)
	if f != nil {
		return f
	}
	policy, err := x.s.policies.of(x.r.Context(), who.queue)
	if err != nil {
		return unavailable("the policy of queue " + who.queue + " cannot be read")
	}
	all, err := x.s.models.all(x.r.Context())
	if err != nil {
		x.s.log.Warn().Err(err).Msg("models are not listed")
		return unavailable("the provider does not list its models now")
	}
	shown := allowed(all, &policy.Policy)
	wanted := x.r.PathValue("model")
	if wanted == "" {
		x.out.json(http.StatusOK, modelList(shown))
		return nil
	}
	for _, m := range shown {
		if m.ID == wanted {
			x.out.json(http.StatusOK, modelOf(m))
			return nil
		}
	}
	return &fault{status: http.StatusNotFound, code: "model_not_found", param: "model", final: true, message: "the queue has no such model"}
}

// allowed are the provider's models that a policy allows, and those that it names though the provider does not list them.
func allowed(all []doubleword.Model, policy *events.Policy) (shown []doubleword.Model) {
	named := policy.Models
	if len(named) == 0 {
		named = slices.DeleteFunc([]string{policy.Model, policy.DefaultModel}, func(name string) bool { return name == "" })
	}
	for _, m := range all {
		if len(policy.Models) == 0 || slices.Contains(policy.Models, m.ID) {
			shown = append(shown, m)
		}
	}
	for _, name := range named {
		if !slices.ContainsFunc(shown, func(m doubleword.Model) bool { return m.ID == name }) {
			shown = append(shown, doubleword.Model{ID: name})
		}
	}
	return shown
}

func modelList(all []doubleword.Model) []byte {
	out := []byte(`{"object":"list","data":[`)
	for i, m := range all {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, modelOf(m)...)
	}
	return append(out, `]}`...)
}

func modelOf(m doubleword.Model) []byte {
	created := max(m.CreatedAt.Unix(), 0)
	owner := m.OwnedBy
	if owner == "" {
		owner = "batchbus"
	}
	return build(pair{"id", text(m.ID)}, pair{"object", text("model")}, pair{"created", strconv.AppendInt(nil, created, 10)}, pair{"owned_by", text(owner)})
}
