package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
)

// fault is a [simulator.Fault] as it is written: its delay a Go duration as text.
type fault struct {
	Kind      simulator.FaultKind `json:"kind"`
	Route     string              `json:"route"`
	Nth       int                 `json:"nth"`
	Count     int                 `json:"count"`
	Share     float64             `json:"share"`
	Status    int                 `json:"status"`
	Text      string              `json:"text"`
	Delay     duration            `json:"delay"`
	Bytes     int64               `json:"bytes"`
	Clean     bool                `json:"clean"`
	Rows      int                 `json:"rows"`
	CustomIDs []string            `json:"custom_ids"`
}

type duration time.Duration

// UnmarshalText reads what [time.ParseDuration] reads.
func (d *duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	*d = duration(parsed)
	return err //nolint:wrapcheck // the decoder says where
}

func (f *fault) meant() simulator.Fault {
	return simulator.Fault{
		Kind: f.Kind, Route: f.Route, Nth: f.Nth, Count: f.Count, Share: f.Share, Status: f.Status, Text: f.Text,
		Delay: time.Duration(f.Delay), Bytes: f.Bytes, Clean: f.Clean, Rows: f.Rows, CustomIDs: f.CustomIDs,
	}
}

// faults are those of the file and of the single flags.
func (o options) faults() ([]simulator.Fault, error) {
	all, err := readFaults(o.Faults)
	if err != nil {
		return nil, err
	}
	for _, text := range o.Fault {
		f, err := parseFault(text)
		if err != nil {
			return nil, fmt.Errorf("parse --fault %q: %w", text, err)
		}
		all = append(all, f)
	}
	return all, nil
}

// readFaults reads a JSON array of faults; no name is none.
func readFaults(name string) ([]simulator.Fault, error) {
	if name == "" {
		return nil, nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read --faults: %w", err)
	}
	var read []fault
	if err := strictly(text, &read); err != nil {
		return nil, fmt.Errorf("parse --faults %s: %w", name, err)
	}
	faults := make([]simulator.Fault, 0, len(read))
	for _, f := range read {
		faults = append(faults, f.meant())
	}
	return faults, nil
}

// strictly refuses unknown fields: a fault with a misspelt one would happen elsewhere than meant.
func strictly(text []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return err //nolint:wrapcheck // the caller names the flag
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one value")
	}
	return nil
}

// parseFault reads one fault: a JSON object, or kind:key=value,key=value, several custom_ids with "|" between them.
func parseFault(text string) (simulator.Fault, error) {
	var f fault
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		err := strictly([]byte(text), &f)
		return f.meant(), err
	}
	kind, rest, _ := strings.Cut(text, ":")
	f.Kind = simulator.FaultKind(kind)
	for field := range strings.SplitSeq(rest, ",") {
		if rest == "" {
			break
		}
		key, value, ok := strings.Cut(field, "=")
		if !ok {
			return simulator.Fault{}, fmt.Errorf("%q is not key=value", field)
		}
		if err := f.set(key, value); err != nil {
			return simulator.Fault{}, fmt.Errorf("read %s: %w", key, err)
		}
	}
	return f.meant(), nil
}

// set reads one value as the JSON of its field would.
func (f *fault) set(key, value string) error {
	var text any
	switch key {
	case "route", "text", "delay":
		text = value
	case "custom_ids":
		text = strings.Split(value, "|")
	default:
		text = json.RawMessage(value)
	}
	object, err := json.Marshal(map[string]any{key: text})
	if err != nil {
		return fmt.Errorf("encode value: %w", err)
	}
	return strictly(object, f)
}
