package queues

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/rows"
)

// Limits of what a policy may say.
const (
	MaxPolicyBytes = 64 << 10 // design.md section 4
	MaxAttempts    = 10       // each is paid
	maxListLength  = 64       // windows and urls
	maxURLBytes    = 256
	maxPriority    = 100
	// maxJobRows bounds the planner's index, at 64 bytes a row (design.md section 1, G5).
	maxJobRows = 10_000_000
	maxSeconds = 365 * 24 * 3600
)

var windowShape = regexp.MustCompile(`^[1-9][0-9]{0,3}[smhd]$`)

// Check returns every fault of a policy at once, one a line, each with the name of its field; nil when there is none.
func Check(p *events.Policy) error {
	faults := slices.Concat(checkWindows(p), checkURLs(p), checkModels(p), checkSettings(p), checkRetry(&p.Retry), checkRanges(p), checkBudget(&p.Budget))
	if !events.IsToken(p.Key) {
		faults = append(faults, fmt.Errorf("key: %.80q is no name of a key: 1 to %d characters of A-Z a-z 0-9 _ -", p.Key, events.MaxNameBytes))
	}
	if text, err := json.Marshal(p); err != nil || len(text) > MaxPolicyBytes {
		faults = append(faults, fmt.Errorf("the policy has more than %d bytes", MaxPolicyBytes))
	}
	return errors.Join(faults...)
}

// checkWindows looks at the shape of windows only: which ones there are is the provider's to say.
func checkWindows(p *events.Policy) (faults []error) {
	faults = checkList("windows", p.Windows, func(window string) string {
		if !windowShape.MatchString(window) {
			return "is no window such as 24h or 1h"
		}
		return ""
	})
	if !slices.Contains(p.Windows, p.Window) {
		faults = append(faults, fmt.Errorf("window: %.20q is not one of windows, %.200v", p.Window, p.Windows))
	}
	return faults
}

func checkURLs(p *events.Policy) []error {
	return checkList("urls", p.URLs, func(url string) string {
		if !strings.HasPrefix(url, "/") || len(url) > maxURLBytes || strings.ContainsFunc(url, notInPath) {
			return "is no path such as /v1/chat/completions"
		}
		return ""
	})
}

// notInPath tells what may not stand in a row's url, which is a path without a query.
func notInPath(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`?#"\`, r) }

// checkList wants at least one entry, each once, and each without a fault.
func checkList(field string, list []string, fault func(string) string) (faults []error) {
	if len(list) == 0 || len(list) > maxListLength {
		return []error{fmt.Errorf("%s: %d entries, and there must be 1 to %d", field, len(list), maxListLength)}
	}
	for i, entry := range list {
		if what := fault(entry); what != "" {
			faults = append(faults, fmt.Errorf("%s: %.80q %s", field, entry, what))
		} else if slices.Contains(list[:i], entry) {
			faults = append(faults, fmt.Errorf("%s: %q stands there twice", field, entry))
		}
	}
	return faults
}

func checkModels(p *events.Policy) (faults []error) {
	for _, model := range []struct{ field, name string }{{"default_model", p.DefaultModel}, {"model", p.Model}} {
		switch {
		case len(model.name) > rows.DefaultMaxModelBytes:
			faults = append(faults, fmt.Errorf("%s: more than %d bytes", model.field, rows.DefaultMaxModelBytes))
		case !utf8.ValidString(model.name):
			faults = append(faults, fmt.Errorf("%s: it is no UTF-8", model.field))
		}
	}
	return append(faults, checkAllowedModels(p)...)
}

// checkAllowedModels wants a model that the policy gives rows to be one that it allows.
func checkAllowedModels(p *events.Policy) (faults []error) {
	if len(p.Models) == 0 {
		return nil
	}
	faults = checkList("models", p.Models, func(model string) string {
		if model == "" || len(model) > rows.DefaultMaxModelBytes || !utf8.ValidString(model) {
			return "is no name of a model"
		}
		return ""
	})
	for _, model := range []struct{ field, name string }{{"default_model", p.DefaultModel}, {"model", p.Model}} {
		if model.name != "" && !slices.Contains(p.Models, model.name) {
			faults = append(faults, fmt.Errorf("%s: %.80q is not one of models", model.field, model.name))
		}
	}
	return faults
}

// checkSettings wants each setting to be one, of a place of its own, and all of them together to leave a row good.
func checkSettings(p *events.Policy) (faults []error) {
	if len(p.Set) > maxListLength {
		return []error{fmt.Errorf("set: %d entries, and there may be %d", len(p.Set), maxListLength)}
	}
	places := make(map[string]bool)
	for _, text := range p.Set {
		s, err := rows.ParseSetting(text)
		place := strings.Join(s.Path, "\x00")
		switch {
		case err != nil:
			faults = append(faults, fmt.Errorf("set: %w", err))
		case places[place]:
			faults = append(faults, fmt.Errorf("set: %s stands there twice", s.Name))
		}
		places[place] = true
	}
	if settings, err := settingsOf(p); err == nil && faults == nil {
		if err := rows.CheckSettings(settings); err != nil {
			faults = append(faults, fmt.Errorf("set: %w", err))
		}
	}
	return faults
}

func checkRetry(r *events.Retry) (faults []error) {
	words := []string{events.RetryFailed, events.RetryMissingResult, events.RetryExpired, events.RetryCancelled}
	for i, word := range r.On {
		if !slices.Contains(words, word) {
			faults = append(faults, fmt.Errorf("retry.on: %.80q is not one of %s", word, strings.Join(words, ", ")))
		} else if slices.Contains(r.On[:i], word) {
			faults = append(faults, fmt.Errorf("retry.on: %q stands there twice", word))
		}
	}
	return append(faults, checkRange("retry.max_attempts", int64(r.MaxAttempts), 1, MaxAttempts)...)
}

func checkRanges(p *events.Policy) []error {
	faults := slices.Concat(
		checkRange("max_row_bytes", int64(p.MaxRowBytes), 1, events.DefaultMaxRowBytes),
		checkRange("max_rows_per_batch", int64(p.MaxRowsPerBatch), 1, events.DefaultMaxRowsPerBatch),
		checkRange("max_bytes_per_batch", p.MaxBytesPerBatch, 1, events.DefaultMaxBytesPerBatch),
		checkRange("max_rows_per_job", int64(p.MaxRowsPerJob), 1, maxJobRows),
		checkRange("linger_seconds", int64(p.LingerSeconds), 1, int64(MaxLinger/time.Second)),
		checkRange("rolling_rows_per_batch", int64(p.RollingRowsPerBatch), 0, events.DefaultMaxRowsPerBatch),
		checkRange("rolling_bytes_per_batch", p.RollingBytesPerBatch, 0, events.DefaultMaxBytesPerBatch),
		checkRange("priority", int64(p.Priority), -maxPriority, maxPriority),
		checkRange("keep_rows_seconds", int64(p.KeepRowsSeconds), 0, maxSeconds),
		checkRange("cancel_grace_seconds", int64(p.CancelGraceSeconds), 0, maxSeconds),
	)
	if p.MaxBytesPerBatch > 0 && int64(p.MaxRowBytes) > p.MaxBytesPerBatch {
		faults = append(faults, fmt.Errorf("max_row_bytes: %d is more than max_bytes_per_batch, %d: a row could be too big for any batch",
			p.MaxRowBytes, p.MaxBytesPerBatch))
	}
	if p.RollingBytesPerBatch > 0 && int64(p.MaxRowBytes) > p.RollingBytesPerBatch {
		faults = append(faults, fmt.Errorf("max_row_bytes: %d is more than rolling_bytes_per_batch, %d: a row could be too big for any batch",
			p.MaxRowBytes, p.RollingBytesPerBatch))
	}
	return faults
}

func checkRange(field string, value, least, most int64) []error {
	if value < least || value > most {
		return []error{fmt.Errorf("%s: %d is not between %d and %d", field, value, least, most)}
	}
	return nil
}
