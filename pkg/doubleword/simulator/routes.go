package simulator

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// handler answers one call, or returns what replyError shall say.
type handler func(w http.ResponseWriter, r *http.Request, c call) error

// routes lists every route; its pattern is the key of Ledger.Calls and of Fault.Route.
func (s *Simulator) routes() *http.ServeMux {
	mux := http.NewServeMux()
	for pattern, h := range map[string]handler{
		"POST /v1/files":                       s.uploadFile,
		"GET /v1/files":                        s.listFiles,
		"GET /v1/files/{id}":                   s.getFile,
		"DELETE /v1/files/{id}":                s.deleteFile,
		"GET /v1/files/{id}/content":           s.fileContent,
		"GET /v1/files/{id}/cost-estimate":     s.costEstimate,
		"POST /v1/batches":                     s.createBatch,
		"GET /v1/batches":                      s.listBatches,
		"GET /v1/batches/{id}":                 s.getBatch,
		"DELETE /v1/batches/{id}":              s.deleteBatch,
		"POST /v1/batches/{id}/cancel":         s.cancelBatch,
		"POST /v1/batches/{id}/retry":          s.retryBatch,
		"POST /v1/batches/{id}/retry-requests": s.retryRequests,
		"GET /v1/batches/{id}/results":         s.batchResults,
		"GET /v1/batches/{id}/analytics":       s.batchAnalytics,
		"GET /v1/models":                       s.listModels,
	} {
		mux.HandleFunc(pattern, s.recorded(pattern, h))
	}
	s.ownRoutes(mux)
	return mux
}

// recorded counts the call in the ledger before anything happens, and lets status faults go first.
func (s *Simulator) recorded(pattern string, h handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c, err := s.record(pattern)
		if err == nil {
			err = s.refusedAtOnce(r, c)
		}
		out := s.edited(w, c)
		if err == nil {
			err = h(out, r, c)
		}
		if err != nil {
			s.replyError(out, err)
		}
		out.finish()
	}
}

// refusedAtOnce holds the faults that keep a call from its handler.
func (s *Simulator) refusedAtOnce(r *http.Request, c call) error {
	if s.cfg.Dialect.lacks(c.route) {
		return refuse(http.StatusNotFound, "Invalid URL (%s %s)", r.Method, r.URL.Path)
	}
	if f, ok := s.faultAt(FaultStatus, c); ok {
		return f.refusal()
	}
	if f, ok := s.faultAt(FaultNotFound, c); ok && (f.Route != "" || looksUp(c.route)) {
		return s.hidden(r, f)
	}
	return nil
}

// looksUp tells whether a route reads one thing by its id.
func looksUp(route string) bool {
	return strings.HasPrefix(route, "GET ") && strings.Contains(route, "{id}")
}

// hidden answers that a thing is not there: always, or while it is younger than the fault's delay.
func (s *Simulator) hidden(r *http.Request, f Fault) error {
	noun := "Batch"
	if strings.HasPrefix(r.URL.Path, "/v1/files") {
		noun = "File"
	}
	id := r.PathValue("id")
	if f.Delay > 0 && time.Since(s.madeAt(id)) >= f.Delay {
		return nil
	}
	return notFound(noun, id)
}

// madeAt is when a file or batch was made, zero for what never was.
func (s *Simulator) madeAt(id string) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, _ = s.state.ownID(id)
	if b, ok := s.state.batches[id]; ok {
		return b.createdAt
	}
	if f, ok := s.state.files[id]; ok {
		return f.createdAt
	}
	return time.Time{}
}

// authorize wants "Bearer", one space and a known key, untrimmed. Every failure reads the same.
func (s *Simulator) authorize(r *http.Request) error {
	key, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok || key == "" || (len(s.cfg.Keys) > 0 && !slices.Contains(s.cfg.Keys, key)) {
		return refuse(http.StatusUnauthorized, "%s", standardText(http.StatusUnauthorized))
	}
	return nil
}

// replyJSON writes a small value; file content never goes through here.
func replyJSON(w http.ResponseWriter, status int, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode reply: %w", err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client has gone when this fails
	return nil
}

// pathID reads the {id} of the path, a bare UUID, or what was made with a prefix.
func (s *Simulator) pathID(r *http.Request, noun string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, ok := s.state.ownID(r.PathValue("id"))
	if !ok && s.cfg.Dialect == DialectOpenAI {
		return "", refuse(http.StatusNotFound, "No such %s object: %s", strings.ToLower(noun), r.PathValue("id"))
	}
	if !ok {
		return "", badRequest("Invalid %s ID format: '%s' is not a UUID", noun, r.PathValue("id"))
	}
	return id, nil
}

func notFound(noun, id string) error {
	return refuse(http.StatusNotFound, "%s with ID %s not found", noun, id)
}
