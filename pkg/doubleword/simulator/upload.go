package simulator

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	// multipartOverhead is what a request may be larger than its file (contract, 2.2).
	multipartOverhead = 10 << 10
	defaultFileTTL    = 30 * 24 * time.Hour
)

// upload is one POST /v1/files while its parts arrive.
type upload struct {
	limits   Config
	rules    rules
	spool    *spoolWriter
	reader   rowReader
	line     []byte
	digest   hash.Hash
	sawFile  bool
	filename string
	purpose  *string
	ttl      time.Duration
	bytes    int64
	rows     int
	models   map[string]modelShare
}

func (s *Simulator) uploadFile(w http.ResponseWriter, r *http.Request, c call) error {
	if err := s.authorize(r); err != nil {
		return err
	}
	if f, ok := s.faultAt(FaultUploadRefused, c); ok {
		return f.refusal()
	}
	if r.ContentLength > s.cfg.MaxFileBytes+multipartOverhead {
		return tooLarge(s.cfg.MaxFileBytes)
	}
	parts, err := r.MultipartReader()
	if err != nil {
		return badRequest("Invalid `boundary` for `multipart/form-data` request")
	}
	spool, err := createSpool(s.spoolDir())
	if err != nil {
		return err
	}
	u := &upload{
		limits: s.cfg, rules: rules{models: s.cfg.Models, maxRowBytes: s.cfg.MaxRowBytes},
		spool: spool, digest: sha256.New(), ttl: defaultFileTTL, models: map[string]modelShare{},
	}
	err = u.readParts(parts)
	if err == nil {
		err = u.complete()
	}
	if err != nil {
		spool.discard()
		return err
	}
	return s.storeUpload(w, u, c)
}

func tooLarge(limit int64) error {
	return refuse(http.StatusRequestEntityTooLarge, "File size exceeds the maximum allowed size of %d bytes", limit)
}

// readParts takes the fields in any order; what follows the file still counts.
func (u *upload) readParts(parts *multipart.Reader) error {
	for {
		part, err := parts.NextRawPart()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return badRequest("Error parsing `multipart/form-data` request")
		}
		if err := u.readPart(part); err != nil {
			return err
		}
	}
}

func (u *upload) readPart(part *multipart.Part) error {
	name := part.FormName()
	if name == "file" {
		return u.readFile(part)
	}
	text, err := io.ReadAll(io.LimitReader(part, multipartOverhead))
	if err != nil {
		return badRequest("Error parsing `multipart/form-data` request")
	}
	value := string(text)
	switch name {
	case "purpose":
		u.purpose = &value
		if !strings.EqualFold(value, "batch") {
			return badRequest("Invalid purpose '%s'. Only 'batch' is supported", value)
		}
	case "expires_after[seconds]":
		if n, err := strconv.ParseInt(value, 10, 64); err == nil {
			u.ttl = time.Duration(n) * time.Second
		}
	}
	return nil
}

// readFile checks and stores the rows as they arrive; the first bad row ends everything.
func (u *upload) readFile(part *multipart.Part) error {
	u.sawFile, u.filename = true, rawFilename(part)
	counted := &countedReader{src: part, upload: u}
	lines := &lineReader{src: bufio.NewReaderSize(counted, 1<<16), limit: 6*u.limits.MaxRowBytes + 1<<16, rows: u.rows}
	for {
		line, err := lines.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return clientFault(err)
		}
		u.rows = lines.rows
		if err := u.addRow(line); err != nil {
			return err
		}
	}
}

// rawFilename is the name as sent; Part.FileName would cut a path down to its last element.
func rawFilename(part *multipart.Part) string {
	_, params, err := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
	if err != nil {
		return ""
	}
	return params["filename"]
}

// clientFault: a body that breaks off is the client's, not the server's.
func clientFault(err error) error {
	if _, refused := errors.AsType[*refusal](err); refused {
		return err
	}
	return badRequest("Error parsing `multipart/form-data` request")
}

func (u *upload) addRow(line []byte) error {
	if u.limits.MaxRows >= 0 && u.rows > u.limits.MaxRows {
		return badRequest("File contains %d requests, which exceeds the maximum of %d requests per file", u.rows, u.limits.MaxRows)
	}
	env, err := u.reader.read(line)
	if err != nil {
		return badRequest("Invalid JSON on line %d: %v", u.rows, err)
	}
	model, err := u.rules.check(u.rows, env)
	if err != nil {
		return err
	}
	share := u.models[model]
	share.Rows++
	share.BodyBytes += int64(len(env.body))
	if string(env.url) == "/v1/embeddings" {
		share.Embedding++
	}
	u.models[model] = share
	u.line = env.appendLine(u.line[:0])
	return u.spool.add(u.line)
}

// complete holds the checks that need the whole request.
func (u *upload) complete() error {
	switch {
	case !u.sawFile:
		return badRequest("No file field found in multipart request")
	case u.rows == 0:
		return badRequest("File contains no valid request templates")
	}
	return nil
}

// opened is what the upload becomes.
func (u *upload) opened(id string, now time.Time) *fileOpened {
	f := &fileOpened{
		ID: id, Filename: u.filename, Bytes: u.bytes, SHA256: hex.EncodeToString(u.digest.Sum(nil)),
		Rows: u.rows, Models: u.models, ExpiresAt: now.Add(u.ttl),
	}
	if f.Filename == "" {
		f.Filename = "upload-" + id
	}
	if u.purpose != nil {
		f.Purpose = *u.purpose
	}
	return f
}

// storeUpload makes the upload exist: rows on disk, then the journal, then the reply.
func (s *Simulator) storeUpload(w http.ResponseWriter, u *upload, c call) error {
	object, err := s.commitUpload(u, c)
	if err != nil {
		return err
	}
	return replyJSON(w, s.cfg.Dialect.made(), object)
}

func (s *Simulator) commitUpload(u *upload, c call) (fileObject, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	opened := u.opened(s.callersID("file", now, c), now)
	rows, err := u.spool.keep(s.spools, spoolName(opened.ID))
	if err != nil {
		return fileObject{}, err
	}
	if err := s.commit(event{Kind: evUploaded, At: now, File: opened}); err != nil {
		return fileObject{}, err
	}
	f := s.state.files[opened.ID]
	f.rows = rows
	return f.object(), nil
}

// countedReader digests the file part and enforces the byte limit, which counts this part alone.
type countedReader struct {
	src    io.Reader
	upload *upload
}

func (c *countedReader) Read(p []byte) (int, error) {
	n, err := c.src.Read(p)
	c.upload.bytes += int64(n)
	c.upload.digest.Write(p[:n])
	if c.upload.bytes > c.upload.limits.MaxFileBytes {
		return n, tooLarge(c.upload.limits.MaxFileBytes)
	}
	return n, err //nolint:wrapcheck // io.Reader promises a bare io.EOF
}
