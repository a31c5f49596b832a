package rows_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/batchbus/batchbus/pkg/rows"
)

const (
	head = `{"custom_id":"a","method":"POST","url":"/v1/chat/completions","body":`
	open = head + `{"model":"m","max_tokens":99,`
)

// nested returns a body whose deepest array is at level depth of the row.
func nested(depth int) string {
	return open + `"x":` + strings.Repeat("[", depth-2) + strings.Repeat("]", depth-2) + "}}"
}

func TestParseAcceptsRowsAndKeepsTheirBytes(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"numbers that a float64 would change":      `{"model":"m","max_tokens":99,"seed":9007199254740993,"a":1.0,"b":1E5,"c":-0,"d":0e400,"e":1e-400}`,
		"the greatest double":                      `{"model":"m","max_tokens":99,"a":1.7976931348623157e308}`,
		"characters that json.Marshal escapes":     `{"model":"m","max_tokens":99,"t":"a<b>&c"}`,
		"raw line separators inside strings":       "{\"model\":\"m\",\"max_tokens\":99,\"t\":\"\u2028\u2029\u0085\ufeff\"}",
		"escapes, also of separators":              `{"model":"m","max_tokens":99,"t":"\u2028\u000c\u001c\/\"\\"}`,
		"a surrogate pair":                         `{"model":"m","max_tokens":99,"t":"\ud83d\ude00"}`,
		"white space, nulls and key order":         "{ \"z\" : null ,\t\"model\":\"m\",\r\"max_tokens\":99, \"a\":[ ] }",
		"five megabytes of base64":                 `{"model":"m","max_tokens":99,"i":"` + strings.Repeat("aGk/", 5<<18) + `"}`,
		"an escaped name of model":                 `{"mod\u0065l":"m","max_tokens":99}`,
		"brackets, quotes and names inside a text": `{"model":"m","max_tokens":99,"t":"}],\"model\":\"x\",\"stream\":true\\"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			row, fault := rows.Parse([]byte(head+" "+body+"\t} \t"), nil)
			if fault != nil {
				t.Fatalf("refused: %v", fault)
			}
			if string(row.Body) != body {
				t.Errorf("body changed: %.200q", row.Body)
			}
			if row.CustomID != "a" || row.URL != "/v1/chat/completions" || row.Model != "m" || row.Warnings != nil {
				t.Errorf("row is %q %q %q %v", row.CustomID, row.URL, row.Model, row.Warnings)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	withID := `{"custom_id":"a","method":"POST",`
	for name, c := range map[string]struct {
		line, code string
		column     int
		id         string
	}{
		"P80 a lone high surrogate":             {open + `"t":"\ud83d"}}`, rows.CodeLoneSurrogate, len(open) + 6, "a"},
		"a lone surrogate of the second row":    {open + `"t":"\uda12"}}`, rows.CodeLoneSurrogate, len(open) + 6, "a"},
		"a control character in custom_id":      {"{\"custom_id\":\"a\x01\"}", rows.CodeInvalidJSON, 16, ""},
		"an invalid byte in custom_id":          {"{\"custom_id\":\"a\xff\"}", rows.CodeInvalidUTF8, 16, ""},
		"an id too long in a broken row":        {`{"custom_id":"` + strings.Repeat("x", 1025) + `",}`, rows.CodeInvalidJSON, 1042, ""},
		"a lone low surrogate":                  {open + `"t":"x\uDE00"}}`, rows.CodeLoneSurrogate, len(open) + 7, "a"},
		"a high surrogate before another":       {open + `"t":"\ud83d\u0041"}}`, rows.CodeLoneSurrogate, len(open) + 6, "a"},
		"a surrogate in custom_id":              {`{"custom_id":"\ud800","method":"POST"}`, rows.CodeLoneSurrogate, 15, ""},
		"P85 an invalid byte in a string":       {open + "\"t\":\"\xff\"}}", rows.CodeInvalidUTF8, len(open) + 6, "a"},
		"an invalid byte between tokens":        {open + "\xff}}", rows.CodeInvalidUTF8, len(open) + 1, "a"},
		"an overlong encoding":                  {open + "\"t\":\"\xc0\xaf\"}}", rows.CodeInvalidUTF8, len(open) + 6, "a"},
		"P77 a mark before the row":             {"\ufeff" + open + `"n":1}}`, rows.CodeBOMInside, 1, "a"},
		"a mark behind the row":                 {open + "\"n\":1}}\ufeff", rows.CodeBOMInside, len(open) + 8, "a"},
		"UTF-16 with its mark":                  {"\xff\xfe{\x00\"\x00", rows.CodeUTF16, 1, ""},
		"UTF-16 of a later line":                {"\x00{\x00\"\x00", rows.CodeUTF16, 1, ""},
		"P78 typographic quotes":                {`{“custom_id”:“a”}`, rows.CodeInvalidJSON, 2, ""},
		"P79 NaN":                               {open + `"t":NaN}}`, rows.CodeInvalidJSON, len(open) + 5, "a"},
		"-Infinity":                             {open + `"t":-Infinity}}`, rows.CodeInvalidJSON, len(open) + 6, "a"},
		"a trailing comma":                      {open + `"t":1,}}`, rows.CodeInvalidJSON, len(open) + 7, "a"},
		"a raw control character":               {open + "\"t\":\"\x01\"}}", rows.CodeInvalidJSON, len(open) + 6, "a"},
		"P86 a no-break space before the row":   {"\u00a0" + open + `"n":1}}`, rows.CodeInvalidJSON, 1, "a"},
		"a form feed behind the row":            {open + "\"n\":1}}\f", rows.CodeInvalidJSON, len(open) + 8, "a"},
		"junk behind the row":                   {open + `"n":1}}x`, rows.CodeInvalidJSON, len(open) + 8, "a"},
		"a bracket too many":                    {open + `"n":1}}}`, rows.CodeInvalidJSON, len(open) + 8, "a"},
		"two rows on one line":                  {`{"custom_id":"a"}{"custom_id":"b"}`, rows.CodeInvalidJSON, 18, ""},
		"a row that is cut short":               {open + `"t":"abc`, rows.CodeInvalidJSON, len(open) + 9, "a"},
		"an id behind the fault":                {`{"n":NaN,"custom_id":"late"}`, rows.CodeInvalidJSON, 6, "late"},
		"an id behind a fault that shifts text": {`{"n":"x,"custom_id":"late"}`, rows.CodeInvalidJSON, 10, ""},
		"an id behind the fault of a cut line":  {`{"n":NaN,"custom_id":"late","x":[1`, rows.CodeInvalidJSON, 6, ""},
		"an id deeper than the envelope":        {`{"n":NaN,"body":{"custom_id":"other"}}`, rows.CodeInvalidJSON, 6, ""},
		"an id inside a text":                   {`{"n":NaN,"t":"{\"custom_id\":\"other\"}"}`, rows.CodeInvalidJSON, 6, ""},
		"P88 the first line of a pretty object": {`{`, rows.CodeMultilineObject, 2, ""},
		"a middle line of a pretty object":      {`  "custom_id": "a",`, rows.CodeMultilineObject, 14, ""},
		"the last line of a pretty object":      {`}`, rows.CodeMultilineObject, 1, ""},
		"a line feed between tokens":            {open + "\n\"n\":1}}", rows.CodeMultilineObject, len(open) + 1, "a"},
		"1e400":                                 {open + `"t":1e400}}`, rows.CodeNumberOutOfRange, len(open) + 5, "a"},
		"400 digits":                            {open + `"t":-` + strings.Repeat("9", 400) + `}}`, rows.CodeNumberOutOfRange, len(open) + 5, "a"},
		"P87 level 128":                         {nested(128), rows.CodeTooDeep, len(open) + 5 + 125, "a"},
		"depth 20000":                           {nested(20000), rows.CodeTooDeep, len(open) + 5 + 125, "a"},
		"a member of the envelope twice":        {withID + `"method":"POST"}`, rows.CodeDuplicateKey, len(withID) + 1, "a"},
		"an escaped duplicate":                  {withID + `"m\u0065thod":"POST"}`, rows.CodeDuplicateKey, len(withID) + 1, "a"},
		"two ids":                               {`{"custom_id":"a","custom_id":"b"}`, rows.CodeDuplicateKey, 18, ""},
		"the same id twice":                     {`{"custom_id":"a","custom_id":"a"}`, rows.CodeDuplicateKey, 18, "a"},
		"an array":                              {`[` + open + `"n":1}}]`, rows.CodeNotAnObject, 1, ""},
		"a string":                              {` "x"`, rows.CodeNotAnObject, 2, ""},
		"a blank line":                          {`  `, rows.CodeInvalidJSON, 3, ""},
		"no custom_id":                          {`{"x":1}`, rows.CodeMissingCustomID, 0, ""},
		"a numeric custom_id":                   {`{"custom_id":1}`, rows.CodeCustomIDNotString, 14, ""},
		"a custom_id over 1 KiB":                {`{"custom_id":"` + strings.Repeat("x", 1025) + `"}`, rows.CodeCustomIDTooLong, 14, ""},
		"a custom_id of 1,025 bytes in letters": {`{"custom_id":"` + strings.Repeat("ß", 512) + `\u0078"}`, rows.CodeCustomIDTooLong, 14, ""},
		"no method":                             {`{"custom_id":"a","url":"/v1/messages","body":{}}`, rows.CodeMissingMethod, 0, "a"},
		"GET":                                   {`{"custom_id":"a","method":"GET"}`, rows.CodeMethodNotPost, 27, "a"},
		"a letter that folds to S":              {`{"custom_id":"a","method":"POſT"}`, rows.CodeMethodNotPost, 27, "a"},
		"a url with a host":                     {withID + `"url":"https://h/v1/messages"}`, rows.CodeURLNotAllowed, len(withID) + 7, "a"},
		"a url that is a number":                {withID + `"url":1}`, rows.CodeURLNotAllowed, len(withID) + 7, "a"},
		"no body":                               {withID + `"url":"/v1/messages"}`, rows.CodeMissingBody, 0, "a"},
		"a body that is text":                   {head + `"{}"}`, rows.CodeBodyNotObject, len(head) + 1, "a"},
		"a body that is null":                   {head + `null}`, rows.CodeBodyNotObject, len(head) + 1, "a"},
		"no model":                              {head + `{"n":1}}`, rows.CodeMissingModel, len(head) + 1, "a"},
		"a null model":                          {head + `{"model":null}}`, rows.CodeMissingModel, len(head) + 1, "a"},
		"a model deeper in the body":            {head + `{"x":{"model":"m"}}}`, rows.CodeMissingModel, len(head) + 1, "a"},
		"a model that is an array":              {head + `{"model":["m"]}}`, rows.CodeModelNotString, len(head) + 10, "a"},
		"a model over 256 bytes":                {head + `{"model":"` + strings.Repeat("m", 257) + `"}}`, rows.CodeModelTooLong, len(head) + 10, "a"},
		"a stream":                              {open + `"stream": true}}`, rows.CodeStreamTrue, len(open) + 11, "a"},
		"thinking on a chat row":                {open + `"thinking":{}}}`, rows.CodeReasoningNotAllowed, len(open) + 12, "a"},
		"the first of two controls":             {open + `"reasoning":{},"chat_template_kwargs":{}}}`, rows.CodeReasoningNotAllowed, len(open) + 13, "a"},
		"a thinking budget on a chat row":       {open + `"thinking_token_budget":9}}`, rows.CodeReasoningNotAllowed, len(open) + 25, "a"},
		"an effort of no word":                  {open + `"reasoning_effort":"Low"}}`, rows.CodeUnknownEffort, len(open) + 20, "a"},
		"an effort that is a number":            {open + `"reasoning_effort":3}}`, rows.CodeUnknownEffort, len(open) + 20, "a"},
		"an effort on a completions row":        {withID + `"url":"/v1/completions","body":{"model":"m","reasoning_effort":"low"}}`, rows.CodeReasoningNotAllowed, len(withID) + 64, "a"},
		"an effort of no word on responses":     {withID + `"url":"/v1/responses","body":{"model":"m","reasoning":{"effort":"huge"}}}`, rows.CodeUnknownEffort, len(withID) + 65, "a"},
		"an id in camel case":                   {`{"customId":"a"}`, rows.CodeMisnamedField, 2, ""},
		"an id in other case":                   {`{"Custom_ID":"a"}`, rows.CodeMisnamedField, 2, ""},
		"a url called endpoint":                 {withID + `"endpoint":"/v1/messages"}`, rows.CodeMisnamedField, len(withID) + 1, "a"},
		"a method in upper case":                {`{"custom_id":"a","METHOD":"POST"}`, rows.CodeMisnamedField, 18, "a"},
		"Anthropic":                             {`{"custom_id":"a","params":{}}`, rows.CodeOtherVendor, 2, "a"},
		"Vertex":                                {`{"request":{"contents":[]}}`, rows.CodeOtherVendor, 2, ""},
		"Gemini":                                {`{"key":"k","request":{"contents":[]}}`, rows.CodeOtherVendor, 2, ""},
		"Bedrock":                               {`{"recordId":"a","modelInput":{}}`, rows.CodeOtherVendor, 2, ""},
		"Mistral":                               {`{"custom_id":"a","body":{}}`, rows.CodeOtherVendor, 2, "a"},
		"xAI":                                   {`{"batch_request_id":"a","batch_request":{}}`, rows.CodeOtherVendor, 2, ""},
		"a request without its envelope":        {`{"model":"m","messages":[]}`, rows.CodeOtherVendor, 2, ""},
		"a prompt beside its id":                {`{"custom_id":"a","prompt":"x"}`, rows.CodeOtherVendor, 2, "a"},
		"a result":                              {`{"custom_id":"a","response":{},"error":null}`, rows.CodeOtherVendor, 2, "a"},
		"a model in other case":                 {head + `{"n":1,"Model":"m"}}`, rows.CodeMisnamedField, len(head) + 8, "a"},
		"an empty model beside a deployment":    {head + `{"model":"","deployment":"m"}}`, rows.CodeMissingModel, len(head) + 1, "a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, fault := rows.Parse([]byte(c.line), nil)
			if fault == nil {
				t.Fatal("accepted")
			}
			if fault.Code != c.code || fault.Column != c.column || fault.Message == "" {
				t.Errorf("fault is %v, want %s at column %d", fault, c.code, c.column)
			}
			if fault.CustomID != c.id || fault.HasCustomID != (c.id != "") {
				t.Errorf("custom_id is %q (%v), want %q", fault.CustomID, fault.HasCustomID, c.id)
			}
		})
	}
}

func TestParseReadsCustomIDsOfAnyKind(t *testing.T) {
	t.Parallel()
	for written, want := range map[string]string{
		`caf\u00e9`: "café", "café": "café", `a\"b\\`: `a"b\`, `a.*>\u0020`: "a.*> ", `\u0000\u001f`: "\x00\x1f",
		`12~x`: "12~x", `\ud83d\ude00`: "😀", strings.Repeat("é", 512): strings.Repeat("é", 512),
	} {
		line := `{"custom_id":"` + written + strings.TrimPrefix(head, `{"custom_id":"a`) + `{"model":"m"}}`
		row, fault := rows.Parse([]byte(line), nil)
		if fault != nil || row.CustomID != want {
			t.Errorf("%s: got %q, %v", written, row.CustomID, fault)
		}
	}
}

func TestParseIsLenientWhereTheProviderIs(t *testing.T) {
	t.Parallel()
	for name, line := range map[string]string{
		"a method in lower case":                    strings.Replace(head, "POST", "post", 1) + `{"model":"m"}}`,
		"escaped slashes in url":                    strings.ReplaceAll(head, "/", `\/`) + `{"model":"m"}}`,
		"extra members, deep and out of range":      strings.Replace(head, `"body"`, `"x":[1e999,`+strings.Repeat("[", 200)+strings.Repeat("]", 200)+`],"Custom_ID":1,"body"`, 1) + `{"model":"m"}}`,
		"stream false":                              head + `{"model":"m","stream":false}}`,
		"a stream wish overruled by the last":       head + `{"model":"m","stream":true,"stream":false}}`,
		"level 127":                                 nested(127),
		"duplicates inside an extra member":         strings.Replace(head, `"body"`, `"x":{"a":1,"a":2},"body"`, 1) + `{"model":"m"}}`,
		"members in another order with white space": ` { "body" : {"model":"m"} , "url":"/v1/messages","method":"POST","custom_id":"a" } `,
	} {
		if row, fault := rows.Parse([]byte(line), nil); fault != nil || row.CustomID != "a" {
			t.Errorf("%s: %q %v", name, row.CustomID, fault)
		}
	}
}

func TestParseSizeLimit(t *testing.T) {
	t.Parallel()
	line := open + `"t":"` + strings.Repeat("x", 100) + `"}}`
	rules := rows.DefaultRules()
	rules.MaxRowBytes = len(line)
	if _, fault := rows.Parse([]byte(line), &rules); fault != nil {
		t.Errorf("a row of exactly the limit is refused: %v", fault)
	}
	rules.MaxRowBytes--
	_, fault := rows.Parse([]byte(line), &rules)
	numbers := fmt.Sprintf("%d bytes, the limit is %d", len(line), len(line)-1)
	if fault == nil || fault.Code != rows.CodeRowTooLarge || !strings.Contains(fault.Message, numbers) || fault.CustomID != "a" {
		t.Errorf("one byte more: %+v", fault)
	}
	big := rows.TooLarge([]byte(line[:60]), 1<<40, &rules)
	if big.CustomID != "a" || !strings.Contains(big.Message, "1099511627776") {
		t.Errorf("the head of a huge row: %+v", big)
	}
	rules.Model = strings.Repeat("m", 200)
	short := head + `{}}`
	rules.MaxRowBytes = len(short)
	if _, fault := rows.Parse([]byte(short), &rules); fault == nil || fault.Code != rows.CodeRowTooLarge {
		t.Errorf("a body outgrown by its model: %v", fault)
	}
}

func TestFaultsDoNotShowTheBody(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{`"\ud83dSECRET"`, `"\uSECRET"`, `SECRET`, `"SECRET`, `{"SECRET":1,}`, `1eSECRET`, `"` + "\x01" + `SECRET"`, `tSECRET`} {
		_, fault := rows.Parse([]byte(open+`"SECRET":`+bad+"}}"), nil)
		if fault == nil || strings.Contains(fault.Error()+fault.Hint, "SECRET") || strings.Contains(fault.Error(), "ECRE") {
			t.Errorf("%s: %+v", bad, fault)
		}
	}
}

func TestReasonsCoverEveryCodeAndTheirExamplesRun(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, reason := range rows.Reasons() {
		if seen[reason.Code] || reason.Meaning == "" {
			t.Errorf("%s: twice, or without meaning", reason.Code)
		}
		seen[reason.Code] = true
		if reason.Example == "" {
			continue
		}
		row, fault := rows.Parse([]byte(reason.Example), reason.Rules())
		got := []string{}
		if fault != nil {
			got = append(got, fault.Code)
		}
		for _, w := range row.Warnings {
			got = append(got, w.Code)
		}
		if len(got) != 1 || got[0] != reason.Code || reason.Warning != (fault == nil) {
			t.Errorf("%s: the example gets %v", reason.Code, got)
		}
	}
	for _, code := range declaredCodes(t) {
		if !seen[code] {
			t.Errorf("%s is not among the reasons", code)
		}
	}
}

func TestParseExplainsCommonMistakes(t *testing.T) {
	t.Parallel()
	for bad, want := range map[string]string{
		`“x”`: "typographic", `'x'`: "single quote", `NaN`: "NaN", `-Infinity`: "NaN", `True`: "Python", `None`: "Python",
		`1,`: "comma before", "\"\t\"": "control character", "\u00a01": "space", `"\x"`: "backslash", `01`: "after object value",
	} {
		_, fault := rows.Parse([]byte(open+`"t":`+bad+"}}"), nil)
		if fault == nil || fault.Code != rows.CodeInvalidJSON || !strings.Contains(fault.Message, want) || fault.Hint == "" {
			t.Errorf("%s: %v", bad, fault)
		}
	}
	for line, want := range map[string]string{"\x1f\x8b\b\x00x": "compressed", "PK\x03\x04x": "compressed", open + `"t":1}},`: "comma follows"} {
		if _, fault := rows.Parse([]byte(line), nil); fault == nil || fault.Code != rows.CodeInvalidJSON || !strings.Contains(fault.Message, want) || fault.Hint == "" {
			t.Errorf("%q: %v", line, fault)
		}
	}
	for _, line := range []string{"this is no JSON", "custom_id,method,url,body", "\tError: timeout"} {
		if _, fault := rows.Parse([]byte(line), nil); fault == nil || !strings.Contains(fault.Message, "text, not JSON") || !strings.Contains(fault.Hint, "custom_id") {
			t.Errorf("%s: %v", line, fault)
		}
	}
}
