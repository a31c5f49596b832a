package simulator

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"time"
)

// fileObject is a file as clients read it (contract, 2.5).
type fileObject struct {
	ID        string `json:"id"`
	Object    string `json:"object"`
	Bytes     int64  `json:"bytes"`
	CreatedAt int64  `json:"created_at"`
	Filename  string `json:"filename"`
	Purpose   string `json:"purpose"`
	ExpiresAt *int64 `json:"expires_at,omitempty"`
	// The creator and context fields come with GET and list, not with POST.
	CreatedByEmail string `json:"created_by_email,omitempty"`
	ContextName    string `json:"context_name,omitempty"`
	ContextType    string `json:"context_type,omitempty"`
}

const creatorEmail = "user@simulator.invalid"

func (f *file) object() fileObject {
	o := fileObject{ID: f.ID, Object: "file", Bytes: f.Bytes, CreatedAt: f.createdAt.Unix(), Filename: f.Filename, Purpose: f.Purpose}
	if f.role == inputFile {
		o.Purpose = "batch"
		o.ExpiresAt = unixTime(f.ExpiresAt)
		return o
	}
	// An estimate: what a line adds to its row is not known before it is rendered.
	const lineOverhead = 400
	if in := f.batch.input; in.Rows > 0 {
		o.Bytes = int64(len(f.lines())) * (in.Bytes/int64(in.Rows) + lineOverhead)
	}
	return o
}

func (f *file) described() fileObject {
	o := f.object()
	o.CreatedByEmail, o.ContextName, o.ContextType = creatorEmail, "Simulator", "personal"
	return o
}

func unixTime(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	n := t.Unix()
	return &n
}

func (s *Simulator) getFile(w http.ResponseWriter, r *http.Request, _ call) error {
	if err := s.authorize(r); err != nil {
		return err
	}
	id, err := s.pathID(r, "file")
	if err != nil {
		return err
	}
	s.mu.Lock()
	f, ok := s.state.liveFile(id)
	var object fileObject
	if ok {
		object = f.described()
	}
	s.mu.Unlock()
	if !ok {
		return notFound("File", id)
	}
	return replyJSON(w, http.StatusOK, object)
}

// deleteFile deletes softly: an input file's unfinished batches are cancelled, all its batches lose the link, and
// rows that ran stay readable in the output files.
func (s *Simulator) deleteFile(w http.ResponseWriter, r *http.Request, _ call) error {
	if err := s.authorize(r); err != nil {
		return err
	}
	id, err := s.pathID(r, "file")
	if err != nil {
		return err
	}
	if err := s.commitFileDeletion(id); err != nil {
		return err
	}
	return replyJSON(w, http.StatusOK, map[string]any{"id": id, "object": "file", "deleted": true})
}

func (s *Simulator) commitFileDeletion(id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, ok := s.state.liveFile(id)
	if !ok {
		return notFound("File", id)
	}
	if err := s.commit(event{Kind: evFileDeleted, At: time.Now(), ID: id}); err != nil {
		return err
	}
	return s.dropRows(f)
}

// dropRows removes the rows of a deleted file that no batch reads any more. The caller holds s.mu.
func (s *Simulator) dropRows(f *file) error {
	if f.rows == nil || s.state.needed(f, time.Now()) {
		return nil
	}
	name := f.rows.name
	f.rows = nil
	if err := s.spools.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove rows: %w", err)
	}
	return nil
}

func (s *Simulator) listModels(w http.ResponseWriter, r *http.Request, _ call) error {
	if err := s.authorize(r); err != nil {
		return err
	}
	type model struct {
		ID      string `json:"id"`
		Object  string `json:"object"`
		Created int64  `json:"created"`
		OwnedBy string `json:"owned_by"`
	}
	names := s.cfg.Models
	if len(names) == 0 {
		names = []string{"Qwen/Qwen3-VL-30B-A3B-Instruct-FP8", "Qwen/Qwen3-Embedding-8B", "openai/gpt-oss-20b"}
	}
	models := make([]model, len(names))
	for i, name := range names {
		models[i] = model{ID: name, Object: "model", Created: answerEpoch, OwnedBy: "simulator"}
	}
	return replyJSON(w, http.StatusOK, map[string]any{"object": "list", "data": models})
}
