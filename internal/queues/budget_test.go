package queues_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/batchbus/batchbus/internal/queues"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore/jetstoretest"
)

func TestLimitsOfMoneyAndTokensAreSetFromTextAndStoredExactly(t *testing.T) {
	t.Parallel()
	fields := make(map[string]any)
	for _, set := range [][2]string{{"budget.day_money", "12.50"}, {"budget.job_tokens", "1000000"}, {"budget.queue_money", "0.000000000001"}} {
		if err := queues.Set(fields, set[0], set[1]); err != nil {
			t.Fatal(err)
		}
	}
	text, err := json.Marshal(fields)
	want := `{"budget":{"day_money":"12.5","job_tokens":1000000,"queue_money":"0.000000000001"}}`
	if err != nil || string(text) != want {
		t.Fatalf("%s, %v", text, err)
	}
	f := jetstoretest.Start(t)
	s := queues.New(f.Store, 0)
	put(t, s, "night", string(text))
	for _, amount := range []string{`"day_money":"12.5"`, `"job_tokens":1000000`, `"queue_money":"0.000000000001"`} {
		if got := stored(t, f, "night"); !strings.Contains(got, amount) {
			t.Errorf("stored %s without %s", got, amount)
		}
	}
	p, err := s.Policy(t.Context(), "night")
	if limits := (events.Limits{DayMoney: 12_500_000_000_000, JobTokens: 1_000_000, QueueMoney: 1}); err != nil || p.Budget != limits {
		t.Errorf("%+v, %v", p.Budget, err)
	}
	if err := queues.Unset(fields, "budget.day_money"); err != nil || reflect.ValueOf(fields["budget"]).Len() != 2 {
		t.Errorf("unset: %v, %v", fields, err)
	}
	put(t, s, "night", `{"budget":{"day_money":3}}`) // a number will do
	if got := stored(t, f, "night"); got != `{"budget":{"day_money":"3"}}` {
		t.Errorf("stored %s", got)
	}
}

func TestALimitThatIsNoneIsRefused(t *testing.T) {
	t.Parallel()
	s := queues.New(jetstoretest.Start(t).Store, 0)
	for fields, want := range map[string]string{
		`{"budget":{"day_money":"-1","job_tokens":-5}}`: "budget.job_tokens: it is negative\nbudget.day_money: it is negative",
		`{"budget":{"day_money":"1e3"}}`:                "is no decimal amount",
		`{"budget":{"day_money":true}}`:                 "is no decimal amount",
		`{"budget":{"week_money":"1"}}`:                 "week_money",
	} {
		if _, err := s.Put(t.Context(), "night", []byte(fields), nil); !errors.Is(err, queues.ErrFaults) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", fields, err, want)
		}
	}
	if err := queues.Set(map[string]any{}, "budget.day_money", "much"); err == nil {
		t.Error("much is taken for money")
	}
}

func TestAJobHasLimitsOfItsOwnOnly(t *testing.T) {
	t.Parallel()
	queue := events.Limits{JobMoney: 1, DayMoney: 5}
	for _, c := range []struct {
		job  events.Limits
		good bool
	}{
		{queue, true},
		{events.Limits{JobMoney: 9, JobTokens: 9, DayMoney: 5}, true},
		{events.Limits{DayMoney: 6}, false},
		{events.Limits{}, false},
	} {
		if err := queues.CheckJobBudget(&queue, &c.job); (err == nil) != c.good {
			t.Errorf("%+v: %v", c.job, err)
		}
	}
}
