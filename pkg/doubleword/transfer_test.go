package doubleword_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/batchbus/batchbus/pkg/doubleword"
)

const fileAnswer = `{"id":"f","object":"file","bytes":12045,"created_at":1703187200,"filename":"rows.jsonl","purpose":"batch","expires_at":null}`

func TestUploadFileStreamsAForm(t *testing.T) {
	t.Parallel()
	const lines, line = 20000, `{"custom_id":"x","body":{"text":"<a>&é"}}` + "\n"
	server := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		form, err := r.MultipartReader()
		if err != nil {
			t.Error(err)
			return
		}
		purpose, _ := form.NextPart()
		value, _ := io.ReadAll(purpose)
		file, err := form.NextPart()
		if err != nil {
			t.Error(err)
			return
		}
		got, _ := io.ReadAll(file)
		if purpose.FormName() != "purpose" || string(value) != "batch" || file.FormName() != "file" || file.FileName() != `rows "1".jsonl` {
			t.Errorf("parts %s=%s, %s %s", purpose.FormName(), value, file.FormName(), file.FileName())
		}
		if string(got) != strings.Repeat(line, lines) {
			t.Errorf("file of %d bytes differs", len(got))
		}
		answer(201, "application/json", fileAnswer)(w, r)
	})
	file, err := newClient(t, server, nil).UploadFile(t.Context(), `rows "1".jsonl`, func(w io.Writer) error {
		for range lines {
			if _, err := io.WriteString(w, line); err != nil {
				return err
			}
		}
		return nil
	})
	want := doubleword.File{ID: "f", Filename: "rows.jsonl", Purpose: "batch", Bytes: 12045, CreatedAt: time.Unix(1703187200, 0).UTC()}
	if err != nil || file != want {
		t.Errorf("%+v, %v", file, err)
	}
}

func TestUploadFileIsBrokenOffWhenTheWriterFails(t *testing.T) {
	t.Parallel()
	errSource := errors.New("source broke")
	read := make(chan error, 1)
	server := newServer(t, func(_ http.ResponseWriter, r *http.Request) {
		_, err := io.Copy(io.Discard, r.Body)
		read <- err
	})
	_, err := newClient(t, server, nil).UploadFile(t.Context(), "n", func(w io.Writer) error {
		_, _ = w.Write(make([]byte, 1<<20))
		return errSource
	})
	if !errors.Is(err, errSource) || doubleword.ClassOf(err) != doubleword.Retryable {
		t.Errorf("error = %v", err)
	}
	if err := <-read; err == nil {
		t.Error("the server saw a whole form")
	}
}

// endless writes until its writer fails.
func endless(w io.Writer) error {
	for {
		if _, err := w.Write(make([]byte, 32<<10)); err != nil {
			return fmt.Errorf("my writer: %w", err)
		}
	}
}

func TestAnEarlyRefusalIsReturnedAndNotTheBrokenPipe(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]int64{"before any byte": 0, "after some bytes": 1 << 20} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := newServer(t, func(w http.ResponseWriter, r *http.Request) {
				if before > 0 {
					// A server that stops reading in the middle resets the connection, and TCP then may drop its answer.
					_ = http.NewResponseController(w).EnableFullDuplex()
				}
				_, _ = io.CopyN(io.Discard, r.Body, before)
				const text = "File exceeds 104857600 bytes"
				w.Header().Set("Content-Length", strconv.Itoa(len(text)))
				answer(413, "text/plain", text)(w, r)
				if before > 0 {
					_ = http.NewResponseController(w).Flush()
					_, _ = io.Copy(io.Discard, r.Body)
				}
			})
			_, err := newClient(t, server, nil).UploadFile(t.Context(), "n", endless)
			if e := asError(t, err); e.Status != 413 || doubleword.RefusalOf(err) != doubleword.RefusedTooLarge {
				t.Errorf("error = %v", err)
			}
			if limit, ok := doubleword.SizeLimitOf(err); limit != 104857600 || !ok {
				t.Errorf("limit %d", limit)
			}
		})
	}
}

func TestASuccessBeforeTheFileIsWholeIsNone(t *testing.T) {
	t.Parallel()
	server := newServer(t, answer(201, "application/json", fileAnswer))
	file, err := newClient(t, server, nil).UploadFile(t.Context(), "n", endless)
	if err == nil || file.ID != "" || doubleword.ClassOf(err) != doubleword.Retryable {
		t.Errorf("%+v, %v", file, err)
	}
}

func TestAnUploadThatStandsStillEnds(t *testing.T) {
	t.Parallel()
	// With a body unread the server does not see that its client is gone.
	done := make(chan struct{})
	server := newServer(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.CopyN(io.Discard, r.Body, 1000)
		<-done
	})
	client := newClient(t, server, func(c *doubleword.Config) { c.IdleTimeout = 500 * time.Millisecond })
	_, err := client.UploadFile(t.Context(), "n", endless)
	close(done)
	if !errors.Is(err, doubleword.ErrIdle) || doubleword.ClassOf(err) != doubleword.Retryable {
		t.Errorf("error = %v", err)
	}
}

func TestAnUploadIsSentOnceAndItsLossIsRetryable(t *testing.T) {
	t.Parallel()
	handler, n := counted(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.CopyN(io.Discard, r.Body, 100<<10)
		panic(http.ErrAbortHandler)
	})
	client := newClient(t, newServer(t, handler), func(c *doubleword.Config) { c.RetryTimeout = 30 * time.Second })
	_, err := client.UploadFile(t.Context(), "n", endless)
	if doubleword.ClassOf(err) != doubleword.Retryable || n.Load() != 1 {
		t.Errorf("%d requests: %v", n.Load(), err)
	}
}

func TestAnUploadEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	server := newServer(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.CopyN(io.Discard, r.Body, 1000)
		cancel()
		<-done
	})
	_, err := newClient(t, server, nil).UploadFile(ctx, "n", endless)
	close(done)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v", err)
	}
}

func TestContentStreamsUnchangedBytes(t *testing.T) {
	t.Parallel()
	body := []byte("{\"a\":\"<>&\u2028\u0085\"}\n\xff\x00\r\n")
	queries := make(chan string, 2)
	server := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		queries <- r.URL.Path + "?" + r.URL.RawQuery
		w.Header().Set("X-Incomplete", "true")
		w.Header().Set("X-Last-Line", "42")
		_, _ = w.Write(body)
	})
	client := newClient(t, server, nil)
	content, err := client.Content(t.Context(), "f", doubleword.ContentQuery{Skip: 40, Limit: 2})
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(content.Body)
	if err != nil || !bytes.Equal(got, body) || content.Body.Close() != nil {
		t.Errorf("%q, %v", got, err)
	}
	if !content.Incomplete || !content.HasIncomplete || content.LastLine != 42 || !content.HasLastLine {
		t.Errorf("%+v", content)
	}
	results, err := client.Results(t.Context(), "b", doubleword.ContentQuery{})
	if err != nil {
		t.Fatal(err)
	}
	_ = results.Body.Close()
	for _, want := range []string{"/v1/files/f/content?limit=2&offset=40&skip=40", "/v1/batches/b/results?"} {
		if query := <-queries; query != want {
			t.Errorf("query %s, want %s", query, want)
		}
	}
}

func TestContentHeadersThatAreAbsentOrOddAreNotInvented(t *testing.T) {
	t.Parallel()
	for _, header := range []string{"", "maybe", "-1"} {
		server := newServer(t, func(w http.ResponseWriter, _ *http.Request) {
			if header != "" {
				w.Header().Set("X-Incomplete", header)
				w.Header().Set("X-Last-Line", header)
			}
		})
		content, err := newClient(t, server, nil).Content(t.Context(), "f", doubleword.ContentQuery{})
		if err != nil {
			t.Fatal(err)
		}
		_ = content.Body.Close()
		if content.HasIncomplete || content.HasLastLine {
			t.Errorf("%q: %+v", header, content)
		}
	}
}

func TestContentThatBreaksOffIsAnErrorAndNotTheEnd(t *testing.T) {
	t.Parallel()
	server := newServer(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "one\ntw")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	content, err := newClient(t, server, nil).Content(t.Context(), "f", doubleword.ContentQuery{})
	if err != nil {
		t.Fatal(err)
	}
	defer content.Body.Close()
	scanner := doubleword.NewScanner(content.Body, 0)
	for scanner.Scan() {
		if string(scanner.Bytes()) != "one" {
			t.Errorf("line %q", scanner.Bytes())
		}
	}
	if doubleword.ClassOf(scanner.Err()) != doubleword.Retryable || scanner.Complete() != 1 || !scanner.Partial() {
		t.Errorf("%d lines, partial %v, error %v", scanner.Complete(), scanner.Partial(), scanner.Err())
	}
}
