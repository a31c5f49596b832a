package simulator

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"
)

// maxJSONBody is the framework's limit for JSON bodies.
const maxJSONBody = 2 << 20

// createRequest is the body of POST /v1/batches; unknown fields are ignored.
type createRequest struct {
	InputFileID      *string           `json:"input_file_id"`
	Endpoint         *string           `json:"endpoint"`
	CompletionWindow *string           `json:"completion_window"`
	Metadata         map[string]string `json:"metadata"`
}

// decodeBody reads a JSON body with the framework's four ways to refuse one.
func decodeBody(r *http.Request, v any) error {
	mediaType, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || (mediaType != "application/json" && !strings.HasSuffix(mediaType, "+json")) {
		return refuse(http.StatusUnsupportedMediaType, "Expected request with `Content-Type: application/json`")
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxJSONBody+1))
	if err != nil {
		return badRequest("Failed to buffer the request body: %v", err)
	}
	if len(body) > maxJSONBody {
		return refuse(http.StatusRequestEntityTooLarge, "Failed to buffer the request body: length limit exceeded")
	}
	err = json.Unmarshal(body, v)
	if wrongType, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return unprocessable("%s: invalid type: %s, expected %s", wrongType.Field, wrongType.Value, wrongType.Type)
	}
	if err != nil {
		return badRequest("Failed to parse the request body as JSON: %v at line 1 column %d", err, len(bytes.TrimSpace(body)))
	}
	return nil
}

func unprocessable(format string, args ...any) error {
	return refuse(http.StatusUnprocessableEntity, "Failed to deserialize the JSON body into the target type: "+format, args...)
}

func (q createRequest) missing() error {
	for name, value := range map[string]*string{
		"input_file_id": q.InputFileID, "endpoint": q.Endpoint, "completion_window": q.CompletionWindow,
	} {
		if value == nil {
			return unprocessable("missing field `%s`", name)
		}
	}
	return nil
}

// createBatch checks in the provider's order (contract, 4) and answers before any row exists.
func (s *Simulator) createBatch(w http.ResponseWriter, r *http.Request, c call) error {
	if err := s.authorize(r); err != nil {
		return err
	}
	var q createRequest
	if err := decodeBody(r, &q); err != nil {
		return err
	}
	if err := q.missing(); err != nil {
		return err
	}
	fileID, err := s.checkCreate(q)
	if err != nil {
		return err
	}
	if f, ok := s.faultAt(FaultCreateRefused, c); ok {
		return f.refusal()
	}
	if f, ok := s.faultAt(FaultCreateLate, c); ok {
		if done, err := s.delayCreate(f, q, fileID, c); done {
			return err
		}
	}
	object, err := s.commitCreate(q, fileID, c)
	if err != nil {
		return err
	}
	if f, ok := s.faultAt(FaultCreateReplyLost, c); ok {
		if f.Status != 0 {
			return f.refusal()
		}
		panic(http.ErrAbortHandler) // the server's own way to drop a connection
	}
	return replyJSON(w, s.cfg.Dialect.made(), object)
}

// delayCreate waits, whether or not the client does; or creates behind a refusal that is given at once.
func (s *Simulator) delayCreate(f Fault, q createRequest, fileID string, c call) (done bool, err error) {
	if f.Status == 0 {
		return !s.wait(f.Delay), errClosed
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.later(f.Delay, func() { _, _ = s.commitCreate(q, fileID, c) }) // nobody waits for the answer
	return true, f.refusal()
}

func (s *Simulator) checkCreate(q createRequest) (string, error) {
	if !slices.Contains(s.cfg.Windows, *q.CompletionWindow) {
		return "", badRequest("Unsupported completion_window '%s'. Allowed: %s", *q.CompletionWindow, strings.Join(s.cfg.Windows, ", "))
	}
	if !slices.Contains(endpoints(), *q.Endpoint) {
		return "", badRequest("Unsupported endpoint '%s'. Allowed: %s", *q.Endpoint, strings.Join(endpoints(), ", "))
	}
	s.mu.Lock()
	id, ok := s.state.ownID(*q.InputFileID)
	s.mu.Unlock()
	if !ok {
		return "", badRequest("Invalid input_file_id format: '%s' is not a UUID", *q.InputFileID)
	}
	return id, nil
}

func (s *Simulator) commitCreate(q createRequest, fileID string, c call) (batchObject, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, ok := s.state.liveFile(fileID)
	if !ok {
		return batchObject{}, notFound("File", fileID)
	}
	known := rules{models: s.cfg.Models}
	for model := range f.Models {
		if !known.knows(model) {
			return batchObject{}, badRequest("Model '%s' is no longer available", model)
		}
	}
	now := time.Now()
	opened := s.openedBatch(q, f, now, c)
	if err := s.commit(event{Kind: evCreated, At: now, Batch: opened}); err != nil {
		return batchObject{}, err
	}
	b := s.state.batches[opened.ID]
	object := s.shown(b, b.object(now))
	s.start(b)
	return object, nil
}

// openedBatch is the create as the journal keeps it. The caller holds s.mu.
func (s *Simulator) openedBatch(q createRequest, f *file, now time.Time, c call) *batchOpened {
	window, _ := time.ParseDuration(*q.CompletionWindow) // Config.check has parsed it
	metadata := map[string]string{}
	for key, value := range q.Metadata {
		if !reserved(key) {
			metadata[key] = value
		}
	}
	return &batchOpened{
		ID: s.callersID("batch", now, c), OutputID: s.callersID("output", now, c), ErrorID: s.callersID("error", now, c),
		FileID: f.ID, Endpoint: *q.Endpoint, Window: *q.CompletionWindow, Metadata: metadata, Rows: f.Rows,
		ExpiresAt: now.Add(window), Seed: s.cfg.Seed, FailureRate: s.cfg.FailureRate,
	}
}
