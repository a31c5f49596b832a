package main

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
)

// fault is one entry of the file of --faults: a [simulator.Fault], its delay a Go duration as text.
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
	CustomIDs []string            `json:"custom_ids"`
}

type duration time.Duration

// UnmarshalText reads what [time.ParseDuration] reads.
func (d *duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	*d = duration(parsed)
	return err //nolint:wrapcheck // the decoder says where
}

// readFaults reads a JSON array of faults; no name is none.
func readFaults(name string) ([]simulator.Fault, error) {
	if name == "" {
		return nil, nil
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("open --faults: %w", err)
	}
	defer file.Close()
	decoder := json.NewDecoder(file)
	decoder.DisallowUnknownFields() // a fault with a misspelt field would happen elsewhere than meant
	var read []fault
	if err := decoder.Decode(&read); err != nil {
		return nil, fmt.Errorf("parse --faults %s: %w", name, err)
	}
	faults := make([]simulator.Fault, 0, len(read))
	for _, f := range read {
		faults = append(faults, simulator.Fault{
			Kind: f.Kind, Route: f.Route, Nth: f.Nth, Count: f.Count, Share: f.Share, Status: f.Status, Text: f.Text,
			Delay: time.Duration(f.Delay), Bytes: f.Bytes, Clean: f.Clean, CustomIDs: f.CustomIDs,
		})
	}
	return faults, nil
}
