package submit

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/rows"
)

func TestOneRowIsAtFaultOnlyWhileAPlainOneIsTaken(t *testing.T) {
	t.Parallel()
	odd, limited := refused(422, "odd"), refused(429, "later")
	for name, c := range map[string]struct{ control, row, want error }{
		"the row alone is refused":             {nil, odd, nil},
		"the account is refused":               {odd, odd, errNoneTaken},
		"the model is refused, with its line":  {refused(403, "Line 1: Model 'm' has not been configured"), odd, errNoneTaken},
		"the control is refused by its line":   {refused(400, "Line 1: odd"), odd, errNoneTaken},
		"the row is taken now":                 {nil, nil, errAllTaken},
		"the control cannot be uploaded":       {limited, odd, limited},
		"the row cannot be uploaded once more": {nil, limited, limited},
	} {
		asked := 0
		refusal, err := onlyRow(func() error { return c.control }, func() error { asked++; return c.row })
		if c.want == nil && (err != nil || !errors.Is(refusal, odd)) || c.want != nil && (!errors.Is(err, c.want) || refusal != nil) {
			t.Errorf("%s: refusal %v, error %v", name, refusal, err)
		}
		if c.control != nil && asked > 0 {
			t.Errorf("%s: the row is uploaded although the control was not taken", name)
		}
	}
}

func TestAControlIsAPlainRowOfTheSameUrlAndModel(t *testing.T) {
	t.Parallel()
	for _, url := range rows.DefaultRules().URLs {
		line, ok := controlLine(events.GroupKey{Window: "1h", URL: url, Model: `Org/m"<7>`})
		row, fault := rows.Parse(line[:len(line)-1], nil)
		if !ok || line[len(line)-1] != '\n' || fault != nil || row.URL != url || row.Model != `Org/m"<7>` || len(row.Warnings) > 0 || !json.Valid(row.Body) {
			t.Errorf("%s: %s, %v, %v", url, line, fault, row.Warnings)
		}
	}
	if line, ok := controlLine(events.GroupKey{URL: "/v1/rerank", Model: "m"}); ok {
		t.Errorf("a url that nothing is known of: %s", line)
	}
}
