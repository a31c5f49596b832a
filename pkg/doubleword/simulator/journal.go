package simulator

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// journal is the append-only file of events. Every event is one write call before the reply that reveals it, so a
// killed process loses nothing a client saw. It is not synced: the promise covers process death, not power loss.
type journal struct {
	file   *os.File
	broken error
}

// openJournal replays path into apply, cuts a torn last line off, and opens the file for appending.
func openJournal(path string, apply func(event) error) (*journal, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open journal: %w", err)
	}
	whole, err := replay(f, apply)
	if err == nil {
		err = f.Truncate(whole)
	}
	if err == nil {
		_, err = f.Seek(whole, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("replay journal: %w", err), f.Close())
	}
	return &journal{file: f}, nil
}

// replay returns the length of the complete lines.
func replay(r io.Reader, apply func(event) error) (int64, error) {
	lines, whole := bufio.NewReaderSize(r, 1<<16), int64(0)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return whole, nil
		}
		if err != nil {
			return whole, fmt.Errorf("read line at %d: %w", whole, err)
		}
		var ev event
		if err := json.Unmarshal(bytes.TrimSpace(line), &ev); err != nil {
			return whole, fmt.Errorf("decode line at %d: %w", whole, err)
		}
		if err := apply(ev); err != nil {
			return whole, err
		}
		whole += int64(len(line))
	}
}

// append writes one event. An error may leave a torn line, so nothing is appended after one; recovery drops it.
func (j *journal) append(ev event) error {
	if j == nil {
		return nil
	}
	line, err := json.Marshal(ev)
	if err != nil {
		return fmt.Errorf("encode event: %w", err)
	}
	if j.broken != nil {
		return j.broken
	}
	if _, err := j.file.Write(append(line, '\n')); err != nil {
		j.broken = fmt.Errorf("append to journal: %w", err)
	}
	return j.broken
}

func (j *journal) close() error {
	if j == nil {
		return nil
	}
	if err := j.file.Close(); err != nil {
		return fmt.Errorf("close journal: %w", err)
	}
	return nil
}
