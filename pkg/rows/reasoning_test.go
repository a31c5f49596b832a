package rows_test

import (
	"strings"
	"testing"

	"github.com/batchbus/batchbus/pkg/rows"
)

func TestReasoningControlsThatTheProviderMayTakePass(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ url, member string }{
		"each word on chat":                      {"/v1/chat/completions", `"reasoning_effort":"xhigh"`},
		"a word with an escape":                  {"/v1/chat/completions", `"reasoning_effort":"m\u0061x"`},
		"null for no effort":                     {"/v1/chat/completions", `"reasoning_effort":null`},
		"null for no thinking":                   {"/v1/chat/completions", `"thinking":null`},
		"the last of two counts":                 {"/v1/chat/completions", `"thinking":{},"thinking":null`},
		"an effort deeper in the body":           {"/v1/chat/completions", `"metadata":{"reasoning_effort":"huge","thinking":1}`},
		"a name inside a text":                   {"/v1/chat/completions", `"user":"\"thinking\":{}"`},
		"the nested effort of responses":         {"/v1/responses", `"reasoning":{"summary":"auto","effort":"none"}`},
		"reasoning of responses without effort":  {"/v1/responses", `"reasoning":{"summary":"auto"}`},
		"reasoning of responses that is a text":  {"/v1/responses", `"reasoning":"high"`},
		"what the contract does not say, passes": {"/v1/responses", `"reasoning_effort":"huge","thinking":{}`},
		"thinking is a member of messages":       {"/v1/messages", `"thinking":{"type":"enabled","budget_tokens":1024}`},
		"embeddings have no rule":                {"/v1/embeddings", `"reasoning_effort":"huge"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := `{"model":"m","max_tokens":99,` + c.member + `}`
			row, fault := rows.Parse([]byte(strings.Replace(head, "/v1/chat/completions", c.url, 1)+body+"}"), nil)
			if fault != nil || string(row.Body) != body {
				t.Errorf("%v, body %s", fault, row.Body)
			}
		})
	}
}

func TestEveryEffortIsTaken(t *testing.T) {
	t.Parallel()
	for word := range strings.FieldsSeq("none minimal low medium high xhigh max") {
		if _, fault := rows.Parse([]byte(open+`"reasoning_effort":"`+word+`"}}`), nil); fault != nil {
			t.Errorf("%s: %v", word, fault)
		}
	}
}
