package doubleword_test

import (
	"testing"

	"github.com/batchbus/batchbus/pkg/doubleword"
)

func TestAnalyticsAreReadLiberally(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]doubleword.Analytics{
		`{"total_requests":3,"total_prompt_tokens":"7","total_completion_tokens":5,"total_tokens":12,"total_cost":"0.0001230","total_list_cost":0.5,"currency":"EUR"}`: {
			Requests: 3, PromptTokens: 7, CompletionTokens: 5, TotalTokens: 12, Cost: "0.0001230", ListCost: "0.5", Currency: "EUR",
		},
		`{"total_requests":0,"total_prompt_tokens":0,"total_completion_tokens":0,"total_tokens":0,"total_cost":null}`: {},
	} {
		client := newClient(t, newServer(t, answer(200, "application/json", body)), nil)
		if got, err := client.Analytics(t.Context(), "b"); err != nil || got != want {
			t.Errorf("%s: %+v, %v", body, got, err)
		}
	}
	for _, body := range []string{`{}`, `[]`, `<html>`, ``} {
		client := newClient(t, newServer(t, answer(200, "application/json", body)), nil)
		if got, err := client.Analytics(t.Context(), "b"); err == nil {
			t.Errorf("%q: %+v", body, got)
		}
	}
}
