package doubleword_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/batchbus/batchbus/pkg/doubleword"
)

func TestRefusals(t *testing.T) {
	t.Parallel()
	const create, upload = "POST /batches", "POST /files"
	for _, c := range []struct {
		name   string
		route  string
		status int
		text   string
		want   doubleword.Refusal
		line   int
	}{
		{"a bad row", upload, 400, "Line 17: custom_id exceeds 64", doubleword.RefusedLine, 17},
		{"a row that is not JSON", upload, 400, "Invalid JSON on line 3: expected value", doubleword.RefusedLine, 3},
		{"a row seen at the create", create, 422, "Line 9 (custom_id 'x: Line 4: y'): reasoning budget", doubleword.RefusedLine, 9},
		{"a row in an error object", upload, 400, `{"error":{"message":"Line 12: bad"}}`, doubleword.RefusedLine, 12},
		{"a row after a prefix", upload, 400, "Bad request: Line 6: bad", doubleword.RefusedLine, 6},
		{"a row of a model type that does not fit", upload, 400, "Line 2: Model 'm' is not an embeddings model", doubleword.RefusedLine, 2},
		{"one row's body too large", upload, 413, "Line 2: body exceeds 10485760 bytes", doubleword.RefusedLine, 2},
		{"a model out of reach", upload, 403, "Line 4: Model 'm' has not been configured", doubleword.RefusedModel, 4},
		{"a model's window", create, 400, "Model 'm' does not support completion window '1h'. Allowed: 24h", doubleword.RefusedModel, 0},
		{"a model without batches", create, 400, "Model 'm' does not support batch processing", doubleword.RefusedModel, 0},
		{"a model that is gone", create, 400, "Model 'm' is no longer available", doubleword.RefusedModel, 0},
		{"a missing role", upload, 403, "Insufficient permissions to create files", doubleword.RefusedOther, 0},
		{"a text that only quotes a line", upload, 400, "purpose 'see Line 5: here' is bad", doubleword.RefusedOther, 0},
		{"line zero is no row", upload, 400, "Line 0: x", doubleword.RefusedOther, 0},
		{"a line number beyond int", upload, 400, "Line 99999999999999999999: x", doubleword.RefusedOther, 0},
		{"too many bytes", upload, 413, "File too large", doubleword.RefusedTooLarge, 0},
		{"too many rows", upload, 400, "File contains 50001 requests, which exceeds", doubleword.RefusedTooLarge, 0},
		{"no credit", create, 402, "balance", doubleword.RefusedCredit, 0},
		{"no upload slot", upload, 429, `{"message":"Too many file uploads in progress"}`, doubleword.RefusedUploadSlots, 0},
		{"an upload slot that never came", upload, 429, "Timed out waiting for upload slot", doubleword.RefusedUploadSlots, 0},
		{"no capacity", create, 429, `{"message":"Insufficient capacity for 1h completion window"}`, doubleword.RefusedCapacity, 0},
		{"an unverified account", create, 429, "Unverified accounts can submit at most 24000", doubleword.RefusedUnverifiedQuota, 0},
		{"another 429", create, 429, "slow down", doubleword.RefusedOther, 0},
		{"the key", create, 401, "Unauthorized", doubleword.RefusedKey, 0},
		{"a file that is gone", create, 404, "not found", doubleword.RefusedFileGone, 0},
		{"another 404", "GET /batches/{id}", 404, "not found", doubleword.RefusedOther, 0},
		{"a conflict", create, 409, `{"message":"dup"}`, doubleword.RefusedOther, 0},
		{"a timeout is none", create, 408, "Line 1: x", doubleword.NotRefused, 1},
		{"a server fault is none", create, 500, "Line 1: x", doubleword.NotRefused, 0},
		{"no answer is none", create, 0, "", doubleword.NotRefused, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			err := fmt.Errorf("wrapped: %w", &doubleword.Error{Route: c.route, Status: c.status, Text: c.text})
			if got := doubleword.RefusalOf(err); got != c.want {
				t.Errorf("RefusalOf = %s, want %s", got, c.want)
			}
			line, ok := doubleword.LineOf(err)
			if line != c.line || ok != (c.line > 0) {
				t.Errorf("LineOf = %d, %v, want %d", line, ok, c.line)
			}
		})
	}
	if doubleword.RefusalOf(io.EOF) != doubleword.NotRefused || doubleword.RefusalOf(nil) != doubleword.NotRefused {
		t.Error("a foreign error is a refusal")
	}
}

func TestLimitsAreLearntFromTheText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"File exceeds the maximum size of 104857600 bytes":         104857600,
		"104,857,601 bytes is over the limit of 104,857,600 bytes": 104857600,
		"limit is 200 MB.":      200_000_000,
		"limit is 100MiB":       100 << 20,
		"at most 1.5 GiB":       3 << 29,
		"Maximum: 104857600":    104857600,
		"413 Payload Too Large": 0,
		"retry after 60":        0,
		"":                      0,
	} {
		got, ok := doubleword.SizeLimitOf(&doubleword.Error{Status: 413, Text: text})
		if got != want || ok != (want > 0) {
			t.Errorf("SizeLimitOf(%q) = %d, %v, want %d", text, got, ok, want)
		}
	}
	if _, ok := doubleword.SizeLimitOf(&doubleword.Error{Status: 400, Text: "5 MB"}); ok {
		t.Error("a 400 tells no size limit")
	}
	for text, want := range map[string]int{
		"Unverified accounts can submit at most 24000 requests":  24000,
		"Unverified accounts can submit at most 24,000 requests": 24000,
		"Unverified accounts can submit less":                    0,
		"at most 7":                                              0,
	} {
		rows, ok := doubleword.UnverifiedQuotaOf(&doubleword.Error{Status: 429, Text: text})
		if rows != want || ok != (want > 0) {
			t.Errorf("UnverifiedQuotaOf(%q) = %d, %v, want %d", text, rows, ok, want)
		}
	}
	if rows, ok := doubleword.RowLimitOf(&doubleword.Error{Status: 400, Text: "File contains 50001 requests, max"}); rows != 50000 || !ok {
		t.Errorf("RowLimitOf = %d, %v", rows, ok)
	}
}

func TestClassOfAnyError(t *testing.T) {
	t.Parallel()
	dial := &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{"no error has no class", nil, "none"},
		{"its own", fmt.Errorf("x: %w", &doubleword.Error{Class: doubleword.Permanent}), "permanent"},
		{"a connection never made", fmt.Errorf("x: %w", dial), "retryable"},
		{"a proxy never reached", &net.OpError{Op: "proxyconnect", Err: io.EOF}, "retryable"},
		{"a name not found", &net.DNSError{Err: "no such host"}, "retryable"},
		{"a certificate refused", &tls.CertificateVerificationError{Err: io.EOF}, "retryable"},
		{"a connection lost", &net.OpError{Op: "read", Err: io.EOF}, "ambiguous"},
		{"a deadline of an unknown call", context.DeadlineExceeded, "ambiguous"},
		{"a bad id", doubleword.ErrBadID, "permanent"},
		{"an idle transfer", doubleword.ErrIdle, "retryable"},
	} {
		if got := doubleword.ClassOf(c.err).String(); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}
