package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/batchbus/batchbus/internal/app"
	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/pkg/events"
)

func TestCostAndBillAreShownWhereTotalsAre(t *testing.T) {
	t.Parallel()
	totals := events.Totals{Rows: 1, Succeeded: 1, Cost: events.MoneyUnit / 8, Currency: "USD", Billed: events.MoneyUnit / 4}
	const words = "cost 0.125 USD by the price table; the provider billed 0.25"
	var out bytes.Buffer
	if err := describeJob(&out, &events.JobStatus{Totals: &totals}); err != nil || !strings.Contains(out.String(), words) {
		t.Errorf("status: %s, %v", out.String(), err)
	}
	v := view{
		job:     jobs.Job{Job: events.Job{Totals: &totals}},
		batches: []events.Batch{{N: "1", Billed: new(events.MoneyUnit / 4)}},
	}
	counted := totals
	counted.Billed = 0 // results do not say it
	s := summaryOf(&v, counted, 0, time.Now())
	var told, printed bytes.Buffer
	if err := s.report(app.Env{Stdout: &printed, Stderr: &told}, true); err != nil || !strings.Contains(told.String(), words) {
		t.Errorf("summary: %s, %v", told.String(), err)
	}
	for _, want := range []string{`"cost": "0.125"`, `"currency": "USD"`, `"billed": "0.25"`} {
		if !strings.Contains(printed.String(), want) {
			t.Errorf("the summary lacks %s: %s", want, printed.String())
		}
	}
	if got := costWords(0, "", 0); got != "" {
		t.Errorf("without a price: %q", got)
	}
}

func TestWhatAJobMayUseIsMoneyOrTokens(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]events.Allowance{
		"12.50": {Money: 12_500_000_000_000}, "5000000-tokens": {Tokens: 5_000_000}, "0": {}, "0.000000000001": {Money: 1},
	} {
		if got, err := allowance(text); err != nil || *got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"much", "-1", "1e3", "-5-tokens", "x-tokens", "5 tokens", "99999999999999999999-tokens"} {
		if got, err := allowance(text); err == nil {
			t.Errorf("%q is taken as %+v", text, got)
		}
	}
}

func TestWhatNobodyPaidIsSaidToBeSimulatedWhereverItIsSeen(t *testing.T) {
	t.Parallel()
	totals := events.Totals{Rows: 1, Succeeded: 1, Cost: events.MoneyUnit, Currency: "USD", Basis: simulatedBasis, Billed: events.MoneyUnit}
	if words := strings.Join(jobWords(&events.JobStatus{Totals: &totals}), " "); !strings.Contains(words, "SIMULATED") {
		t.Errorf("status: %s", words)
	}
	if s := summaryOf(&view{job: jobs.Job{Job: events.Job{Totals: &totals}}}, totals, 0, time.Now()); s.Simulated == nil || !*s.Simulated {
		t.Error("the summary does not say it")
	}
	totals.Basis = "price_table"
	if words := strings.Join(jobWords(&events.JobStatus{Totals: &totals}), " "); strings.Contains(words, "SIMULATED") {
		t.Errorf("status: %s", words)
	}
}

func TestAWaitForARowThatEndsInVainDoesNotPromiseAJob(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeoutCause(t.Context(), 0, fmt.Errorf("%w after 0s", errTimeout))
	defer cancel()
	_, err := ended(ctx, app.Env{}, 0, causeOf(ctx, ctx.Err()), rowNotThere)
	if text := fmt.Sprint(err); strings.Contains(text, "goes on") || !strings.Contains(text, "No result of that row") || strings.Count(text, "after 0s") != 1 {
		t.Error(text)
	}
}
