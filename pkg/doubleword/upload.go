package doubleword

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
)

var (
	errUploadOver = errors.New("upload is over")
	errCutShort   = errors.New("answer came before the file was sent whole")
)

// UploadFile streams what write writes as an input file called name, and holds none of it beyond one small buffer. write runs in
// another goroutine, once; UploadFile returns only after it returned, so it should return soon when its writer fails or ctx ends. When
// write fails, the request is broken off so that the provider keeps nothing, and its error is among the causes.
//
// When the provider refuses early (413 before the body is read), its answer is returned, not the broken pipe; unless it also resets the
// connection, by which TCP may drop the answer: then the error is a lost connection, Retryable. After any error the file
// may exist, which costs nothing: upload again, and delete or ignore a file of the same name. It is not repeated inside.
func (c *Client) UploadFile(ctx context.Context, name string, write func(io.Writer) error) (File, error) {
	k := call{method: http.MethodPost, pattern: "/files"}
	place, err := c.begin(ctx, k)
	if err != nil {
		return File{}, err
	}
	defer place.end()
	ctx, dog, stop := newWatchdog(ctx, c.config.IdleTimeout)
	defer stop()
	source, form := newUpload(dog, name)
	// Expect lets the provider refuse before the file is on its way, while the answer can still be read.
	k.body, k.header = source, http.Header{"Content-Type": {form.contentType()}, "Expect": {"100-continue"}}
	written := make(chan error, 1)
	go func() { written <- form.fill(write) }()
	w, err := c.upload(ctx, k)
	// Ends a writer that waits for a reader that is gone.
	_ = source.Close()
	failed := <-written
	return uploadOutcome(k, w, err, failed, form.cut)
}

func (c *Client) upload(ctx context.Context, k call) (wireFile, error) {
	resp, err := c.send(ctx, k) //nolint:bodyclose // decode closes it
	if err != nil {
		return wireFile{}, err
	}
	return decode[wireFile](c, k, resp)
}

// uploadOutcome decides which of two errors came first: cut says that the writer failed only because the transfer was over.
func uploadOutcome(k call, w wireFile, sent, written error, cut bool) (File, error) {
	var e *Error
	answered := errors.As(sent, &e) && e.Status != 0
	switch {
	case sent == nil && written == nil:
		return w.file(), nil
	case sent == nil && cut:
		return File{}, &Error{Route: k.route(), Class: Retryable, cause: errCutShort}
	case answered, written == nil, cut:
		return File{}, sent
	}
	return File{}, &Error{Route: k.route(), Class: Retryable, cause: fmt.Errorf("write file: %w", written)}
}

// uploadSource is the request body; it tells the watchdog about every byte that leaves.
type uploadSource struct {
	*io.PipeReader
	dog *watchdog
}

func (s *uploadSource) Read(p []byte) (int, error) {
	n, err := s.PipeReader.Read(p)
	s.dog.touch()
	return n, err //nolint:wrapcheck // net/http must see io.EOF as it is
}

func (s *uploadSource) Close() error {
	return s.CloseWithError(errUploadOver) //nolint:wrapcheck // never fails
}

// uploadForm writes the multipart form, and notes when the reading end was gone before it.
type uploadForm struct {
	pipe  *io.PipeWriter
	parts *multipart.Writer
	out   *bufio.Writer
	name  string
	cut   bool // valid after fill returned
}

func newUpload(dog *watchdog, name string) (*uploadSource, *uploadForm) {
	r, w := io.Pipe()
	form := &uploadForm{pipe: w, name: name}
	// Rows are small; without a buffer each would be a chunk of its own.
	form.out = bufio.NewWriterSize(form, 64<<10)
	form.parts = multipart.NewWriter(form.out)
	return &uploadSource{PipeReader: r, dog: dog}, form
}

func (f *uploadForm) contentType() string { return f.parts.FormDataContentType() }

// Write hands bytes to the transport.
func (f *uploadForm) Write(p []byte) (int, error) {
	n, err := f.pipe.Write(p)
	if err != nil {
		f.cut = true
		return n, fmt.Errorf("send file: %w", err)
	}
	return n, nil
}

// fill writes the whole form; on an error the reading end fails too, which breaks the request off.
func (f *uploadForm) fill(write func(io.Writer) error) error {
	err := f.writeParts(write)
	_ = f.pipe.CloseWithError(err)
	return err
}

func (f *uploadForm) writeParts(write func(io.Writer) error) error {
	if err := f.parts.WriteField("purpose", "batch"); err != nil {
		return fmt.Errorf("write purpose: %w", err)
	}
	part, err := f.parts.CreateFormFile("file", f.name)
	if err != nil {
		return fmt.Errorf("write part header: %w", err)
	}
	if err := write(part); err != nil {
		return err
	}
	if err := f.parts.Close(); err != nil {
		return fmt.Errorf("end form: %w", err)
	}
	if err := f.out.Flush(); err != nil {
		return fmt.Errorf("end form: %w", err)
	}
	return nil
}
