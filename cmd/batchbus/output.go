package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/batchbus/batchbus/pkg/client"
	"github.com/batchbus/batchbus/pkg/events"
)

// format renders one result or dead letter as a line, without its newline.
type format struct {
	result     func(dst []byte, r *client.Result) []byte
	deadLetter func(dst []byte, d *client.DeadLetter) []byte
}

func formatOf(name string) (format, error) {
	switch name {
	case "event":
		return format{result: eventResult, deadLetter: eventDeadLetter}, nil
	case "openai":
		return format{result: openAIResult, deadLetter: openAIDeadLetter}, nil
	case "flat":
		return format{result: flatResult, deadLetter: openAIDeadLetter}, nil
	default:
		return format{}, fmt.Errorf("%q is not event, openai or flat", name)
	}
}

// eventResult is our result event as it stands on the bus.
func eventResult(dst []byte, r *client.Result) []byte { return append(dst, r.Raw...) }

// eventDeadLetter is our dead letter with an outcome in front, so that one field tells every line of the errors file apart.
func eventDeadLetter(dst []byte, d *client.DeadLetter) []byte {
	return append(append(dst, `{"outcome":"dead_letter",`...), d.Raw[1:]...)
}

// openAIResult is the line of an output file of an OpenAI-shaped batch.
func openAIResult(dst []byte, r *client.Result) []byte {
	dst = nullable(append(dst, `{"id":`...), r.ProviderRequestID)
	dst = events.AppendString(append(dst, `,"custom_id":`...), r.CustomID)
	if r.Response == nil {
		dst = append(dst, `,"response":null,"error":`...)
		return append(appendError(dst, r.Error, r.Outcome), '}')
	}
	dst = fmt.Appendf(dst, `,"response":{"status_code":%d,"request_id":`, r.StatusCode)
	dst = nullable(dst, r.ProviderRequestID)
	dst = append(append(dst, `,"body":`...), r.Response...)
	dst = append(dst, `},"error":`...)
	return append(appendError(dst, r.Error, r.Outcome), '}')
}

// flatResult is the shape of jsonl-format.txt, "response_body" beside the ids.
func flatResult(dst []byte, r *client.Result) []byte {
	if r.Response == nil {
		return openAIResult(dst, r)
	}
	dst = nullable(append(dst, `{"id":`...), r.ProviderRequestID)
	dst = events.AppendString(append(dst, `,"custom_id":`...), r.CustomID)
	dst = append(append(dst, `,"response_body":`...), r.Response...)
	return append(dst, '}')
}

func openAIDeadLetter(dst []byte, d *client.DeadLetter) []byte {
	dst = nullable(append(dst, `{"id":null,"custom_id":`...), d.CustomID)
	dst = append(dst, `,"response":null,"error":`...)
	dst = appendError(dst, &events.Error{Code: d.Code, Message: d.Message}, "dead_letter")
	return fmt.Appendf(dst, `,"outcome":"dead_letter","line":%d}`, d.Line)
}

func appendError(dst []byte, e *events.Error, outcome events.Outcome) []byte {
	if e == nil {
		if outcome == events.Succeeded {
			return append(dst, "null"...)
		}
		e = &events.Error{Code: string(outcome), Message: "the row ended as " + string(outcome)}
	}
	dst = events.AppendString(append(dst, `{"code":`...), e.Code)
	dst = events.AppendString(append(dst, `,"message":`...), e.Message)
	return append(dst, '}')
}

func nullable(dst []byte, s string) []byte {
	if s == "" {
		return append(dst, "null"...)
	}
	return events.AppendString(dst, s)
}

// outFile is a results file that grows under a ".partial" name and takes its own at the end.
type outFile struct {
	path string
	file *os.File
	buf  *bufio.Writer
	line []byte
}

// openOut makes the folder (0700 when it is new) and a fresh partial file (0600).
func openOut(dir, name string) (*outFile, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make output folder: %w", err)
	}
	path := filepath.Join(dir, name)
	file, err := os.OpenFile(path+".partial", os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open output: %w", err)
	}
	return &outFile{path: path, file: file, buf: bufio.NewWriterSize(file, 1<<18)}, nil
}

func (o *outFile) write(line []byte) error {
	line = append(line, '\n')
	o.line = line
	if _, err := o.buf.Write(o.line); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	return nil
}

// flush makes what was written so far visible to others.
func (o *outFile) flush() error {
	if err := o.buf.Flush(); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	return nil
}

// keep leaves what is there under the partial name.
func (o *outFile) keep() error {
	if err := errors.Join(o.buf.Flush(), o.file.Close()); err != nil {
		return fmt.Errorf("close output: %w", err)
	}
	return nil
}

// finish gives the file its name.
func (o *outFile) finish() error {
	if err := o.keep(); err != nil {
		return err
	}
	if err := os.Rename(o.path+".partial", o.path); err != nil {
		return fmt.Errorf("name output: %w", err)
	}
	return nil
}
