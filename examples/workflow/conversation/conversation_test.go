package conversation_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/batchbus/batchbus/examples/workflow/conversation"
	"github.com/batchbus/batchbus/pkg/rows"
)

const (
	row = `{ "custom_id":"a","method":"POST","url":"/v1/chat/completions","body":{"model":"m", "seed":9007199254740993, "messages":[ {"role":"user","content":"h\u00e9 <b>"} ],"note":1e400}}`
	// said has what a decoder and an encoder would change: spaces, escapes, a big number, the order of members.
	said = `{"content": null, "z":"\u003c\/", "role":"assistant", "n":12345678901234567890, "tool_calls":[{"id":"c\u0031","type":"function","function":{"name":"f","arguments":"{\"x\": 1}"}},{"id":"c2","type":"function","function":{"name":"g","arguments":{"y":2}}}]}`
)

func answered(message string) []byte {
	return []byte(`{"id":"x","choices":[{"finish_reason":"tool_calls","index":0,"message":` + message + `}]}`)
}

func TestTheNextRowHoldsWhatWasSaidByteForByte(t *testing.T) {
	t.Parallel()
	answer, err := conversation.Read(answered(said))
	if err != nil || string(answer.Message) != said {
		t.Fatalf("read %s, %v", answer.Message, err)
	}
	if len(answer.Calls) != 2 || answer.Calls[0].Name != "f" || answer.Calls[0].Arguments != `{"x": 1}` || answer.Calls[1].Arguments != `{"y":2}` {
		t.Errorf("calls %+v", answer.Calls)
	}
	next, err := conversation.Next([]byte(row), &answer, []string{"1 \"quoted\"\n", "<2>"})
	if err != nil {
		t.Fatal(err)
	}
	results := `,{"role":"tool","tool_call_id":"c\u0031","content":"1 \"quoted\"\n"},{"role":"tool","tool_call_id":"c2","content":"<2>"}]`
	want := strings.Replace(row, `} ]`, `},`+said+results, 1)
	if string(next) != want {
		t.Errorf("got\n%s\nwant\n%s", next, want)
	}
	if _, fault := rows.Parse([]byte(strings.Replace(string(next), ",\"note\":1e400", "", 1)), nil); fault != nil {
		t.Errorf("it is no row: %v", fault)
	}
	again, err := conversation.Next([]byte(row), &answer, []string{"1 \"quoted\"\n", "<2>"})
	if err != nil || string(again) != string(next) {
		t.Error("the same row was made anew, and differs")
	}
}

func TestAForcedChoiceOfAToolHoldsForOneStage(t *testing.T) {
	t.Parallel()
	answer, err := conversation.Read(answered(said))
	if err != nil {
		t.Fatal(err)
	}
	for choice, kept := range map[string]bool{
		`"required"`: false, `{"type":"function","function":{"name":"f"}}`: false, `"auto"`: true, `"none"`: true, `null`: true,
	} {
		next, err := conversation.Next([]byte(strings.Replace(row, `"model"`, `"tool_choice":`+choice+`,"model"`, 1)), &answer, []string{"1", "2"})
		if err != nil || strings.Contains(string(next), "tool_choice\":") != kept {
			t.Errorf("tool_choice %s: %s, %v", choice, next, err)
		}
	}
}

func TestToolsAreOfferedWhereARowHasNone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ body, want string }{
		"none":             {`{"model":"m","messages":[]}`, `{"tools":[1],"model":"m","messages":[]}`},
		"null":             {`{"tools": null,"model":"m","messages":[]}`, `{"tools": [1],"model":"m","messages":[]}`},
		"of its own":       {`{"tools": [ 2 ],"messages":[]}`, `{"tools": [ 2 ],"messages":[]}`},
		"of its own, none": {`{"tools":[],"messages":[]}`, `{"tools":[],"messages":[]}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := conversation.Offer([]byte(`{"custom_id":"a","body":`+c.body+`}`), []byte("[1]"))
			if want := `{"custom_id":"a","body":` + c.want + `}`; err != nil || string(got) != want {
				t.Errorf("got %s, %v", got, err)
			}
		})
	}
}

func TestARowWithoutMessagesIsNotContinued(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{`{"body":{}}`, `{"body":{"messages":"hi"}}`, `{"body":{"Messages":[]}}`, `{"body":7}`, `[`, ``} {
		if _, err := conversation.Next([]byte(bad), &conversation.Answer{}, nil); !errors.Is(err, conversation.ErrRow) {
			t.Errorf("%s: %v", bad, err)
		}
		if _, err := conversation.Offer([]byte(bad), []byte("[]")); !errors.Is(err, conversation.ErrRow) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func TestWhatIsNoAnswerIsToldFromOne(t *testing.T) {
	t.Parallel()
	stop := func(reason, message string) string {
		return `{"choices":[{"finish_reason":"` + reason + `","message":` + message + `}]}`
	}
	for name, c := range map[string]struct {
		response string
		ok       bool
	}{
		"words":                        {stop("stop", `{"role":"assistant","content":"yes"}`), true},
		"words beside an empty list":   {stop("stop", `{"role":"assistant","content":"yes","tool_calls":[]}`), true},
		"words beside null":            {stop("stop", `{"role":"assistant","content":"yes","tool_calls":null}`), true},
		"calls that end with stop":     {stop("stop", said), true},
		"nothing said":                 {stop("stop", `{"role":"assistant","content":""}`), false},
		"null":                         {stop("stop", `{"role":"assistant","content":null}`), false},
		"a refusal":                    {stop("stop", `{"role":"assistant","content":null,"refusal":"no"}`), false},
		"filtered words":               {stop("content_filter", `{"role":"assistant","content":"ye"}`), false},
		"cut-off words":                {stop("length", `{"role":"assistant","content":"ye"}`), false},
		"calls announced and not made": {stop("tool_calls", `{"role":"assistant","content":null}`), false},
		"a call without an id":         {stop("tool_calls", `{"tool_calls":[{"function":{"name":"f","arguments":"{}"}}]}`), false},
		"no choice":                    {`{"choices":[]}`, false},
		"no completion":                {`{"object":"list","data":[]}`, false},
		"a message that is none":       {stop("stop", `"yes"`), false},
		"nothing":                      {``, false},
		"half of one":                  {`{"choices":[{"finish_reason"`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer, err := conversation.Read([]byte(c.response))
			if (err == nil) != c.ok || (err != nil && !errors.Is(err, conversation.ErrAnswer)) {
				t.Errorf("got %+v, %v", answer, err)
			}
		})
	}
}
