package rows_test

import (
	"testing"

	"github.com/batchbus/batchbus/pkg/rows"
)

func TestWarnings(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		url, body string
		codes     string
		column    int
	}{
		"an integer beyond 64 bits":              {"/v1/embeddings", `{"model":"m","s":18446744073709551616}`, rows.WarnIntegerOutOfRange, 18},
		"the greatest and the least that fit":    {"/v1/embeddings", `{"model":"m","s":[18446744073709551615,-9223372036854775808]}`, "", 0},
		"a negative beyond 64 bits":              {"/v1/embeddings", `{"model":"m","s":-9223372036854775809}`, rows.WarnIntegerOutOfRange, 18},
		"a duplicate key":                        {"/v1/embeddings", `{"model":"m","s":{"a":1,"a":2}}`, rows.WarnDuplicateBodyKey, 25},
		"embeddings have no tokens to bound":     {"/v1/embeddings", `{"model":"m"}`, "", 0},
		"chat without a bound":                   {"/v1/chat/completions", `{"model":"m"}`, rows.WarnMissingMaxTokens, 0},
		"chat with a null bound":                 {"/v1/chat/completions", `{"model":"m","max_tokens":null}`, rows.WarnMissingMaxTokens, 0},
		"chat with the newer name":               {"/v1/chat/completions", `{"model":"m","max_completion_tokens":16}`, "", 0},
		"chat with a tiny bound":                 {"/v1/chat/completions", `{"model":"m","max_tokens":15}`, rows.WarnTinyMaxTokens, 27},
		"responses with a bound":                 {"/v1/responses", `{"model":"m","max_output_tokens":16}`, "", 0},
		"responses do not know max_tokens":       {"/v1/responses", `{"model":"m","max_tokens":16}`, rows.WarnMissingMaxTokens, 0},
		"messages with a tiny bound":             {"/v1/messages", `{"model":"m","max_tokens":1}`, rows.WarnTinyMaxTokens, 27},
		"a bound deeper in the body is no bound": {"/v1/completions", `{"model":"m","x":{"max_tokens":99}}`, rows.WarnMissingMaxTokens, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := `{"custom_id":"a","method":"POST","url":"` + c.url + `","body":`
			row, fault := rows.Parse([]byte(before+c.body+"}"), nil)
			if fault != nil || string(row.Body) != c.body {
				t.Fatalf("%v %s", fault, row.Body)
			}
			codes, column := "", 0
			for _, w := range row.Warnings {
				codes, column = codes+w.Code, w.Column
			}
			if column > 0 {
				column -= len(before)
			}
			if codes != c.codes || column != c.column {
				t.Errorf("warnings %q at column %d of the body, want %q at %d", codes, column, c.codes, c.column)
			}
		})
	}
}
