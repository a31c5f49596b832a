package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
)

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
	faults, err := simulator.ReadFaults(text)
	if err != nil {
		return nil, fmt.Errorf("parse --faults %s: %w", name, err)
	}
	return faults, nil
}

// parseFault reads one fault: a JSON object, or kind:key=value,key=value, several custom_ids with "|" between them.
func parseFault(text string) (simulator.Fault, error) {
	var f simulator.Fault
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		err := json.Unmarshal([]byte(text), &f)
		return f, err //nolint:wrapcheck // the caller names the flag
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
		if err := set(&f, key, value); err != nil {
			return simulator.Fault{}, fmt.Errorf("read %s: %w", key, err)
		}
	}
	return f, nil
}

// set reads one value as the JSON of its field would.
func set(f *simulator.Fault, key, value string) error {
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
	return json.Unmarshal(object, f) //nolint:wrapcheck // the caller names the key
}
