package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// summaryFile is the summary beside the results, so that files found later say whose they are and whether a model ran.
const summaryFile = "summary.json"

// checkOut refuses a folder with the results of another job, or of a simulated run where this one is real and the other way round.
func checkOut(dir string, job string, simulated *bool) error {
	data, err := os.ReadFile(filepath.Join(dir, summaryFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look into output folder: %w", err)
	}
	var has summary
	if err := json.Unmarshal(data, &has); err != nil {
		return fmt.Errorf("look into output folder: %s in %s is not ours: choose another --out", summaryFile, dir)
	}
	if has.Job != job || has.Simulated != nil && simulated != nil && *has.Simulated != *simulated {
		return fmt.Errorf("folder %s holds the results of job %s%s: choose another --out", dir, has.Job, reality(has.Simulated))
	}
	return nil
}

// keepSummary writes the summary beside the results.
func keepSummary(dir string, s *summary) error {
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("encode summary: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, summaryFile), append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("write summary: %w", err)
	}
	return nil
}

// reality says in brackets whether a model ran, where that is known.
func reality(simulated *bool) string {
	switch {
	case simulated == nil:
		return ""
	case *simulated:
		return " (SIMULATED: no model ran)"
	default:
		return " (real provider)"
	}
}
