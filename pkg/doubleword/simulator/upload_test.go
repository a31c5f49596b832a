package simulator_test

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"testing"

	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
)

func envelope(id, method, url, body string) string {
	return `{"custom_id":"` + id + `","method":"` + method + `","url":"` + url + `","body":` + body + `}`
}

func chatBody(extra string) string {
	return `{"model":"m","messages":[{"role":"user","content":"x"}]` + extra + `}`
}

func TestARowThatBreaksARuleRefusesTheWholeUpload(t *testing.T) {
	t.Parallel()
	const chat = "/v1/chat/completions"
	good := strings.TrimSpace(chatRow("good", ""))
	cases := map[string]struct {
		row    string
		status int
		text   string
	}{
		"no JSON":                     {`nonsense`, 400, "Invalid JSON on line 2: expected ident at line 1 column 2"},
		"a torn object":               {`{"custom_id":"a"`, 400, "Invalid JSON on line 2: EOF while parsing"},
		"an array":                    {`[1]`, 400, "Invalid JSON on line 2: invalid type: sequence"},
		"two values":                  {good + good, 400, "Invalid JSON on line 2: trailing characters"},
		"no custom_id":                {`{"method":"POST","url":"` + chat + `","body":{}}`, 400, "missing field `custom_id`"},
		"no body":                     {`{"custom_id":"a","method":"POST","url":"` + chat + `"}`, 400, "missing field `body`"},
		"a number as custom_id":       {`{"custom_id":5,"method":"POST","url":"` + chat + `","body":{}}`, 400, "invalid type: integer `5`, expected a string"},
		"an envelope key twice":       {`{"custom_id":"a","custom_id":"b"}`, 400, "duplicate field `custom_id`"},
		"a lone surrogate":            {envelope("a", "POST", chat, chatBody(`,"user":"\ud800"`)), 400, "Invalid JSON on line 2: lone leading surrogate"},
		"a number out of range":       {envelope("a", "POST", chat, chatBody(`,"x":1e400`)), 400, "Invalid JSON on line 2: number out of range"},
		"nesting of 128 levels":       {envelope("a", "POST", chat, chatBody(`,"x":`+strings.Repeat("[", 126)+strings.Repeat("]", 126))), 400, "recursion limit exceeded"},
		"a byte order mark":           {"\ufeff" + good, 400, "Invalid JSON on line 2: expected value"},
		"invalid UTF-8":               {envelope("a\xff", "POST", chat, chatBody("")), 400, "Invalid UTF-8 near line 2"},
		"65 bytes of custom_id":       {envelope(strings.Repeat("é", 32)+"x", "POST", chat, chatBody("")), 400, "Line 2: custom_id exceeds"},
		"a control character in it":   {envelope(`a\u0001`, "POST", chat, chatBody("")), 400, "Line 2: custom_id contains invalid characters, only printable ASCII"},
		"DEL in it":                   {envelope("a\x7f", "POST", chat, chatBody("")), 400, "Line 2: custom_id contains"},
		"a GET":                       {envelope("a", "GET", chat, chatBody("")), 400, "Line 2: Unsupported HTTP method 'GET'"},
		"a trailing slash":            {envelope("a", "POST", chat+"/", chatBody("")), 400, "Line 2: Unsupported URL"},
		"a body that is no object":    {envelope("a", "POST", chat, `"text"`), 400, "Line 2: Missing 'model' field"},
		"a model that is no string":   {envelope("a", "POST", chat, `{"model":1}`), 400, "Line 2: Missing 'model' field"},
		"an unknown model":            {envelope("a", "POST", chat, `{"model":"unknown/x"}`), 403, "Line 2: Model 'unknown/x' has not been configured"},
		"an embeddings model on chat": {envelope("a", "POST", chat, `{"model":"some-Embedding"}`), 400, "Line 2: Model 'some-Embedding' is of type EMBEDDINGS"},
		"a reranker":                  {envelope("a", "POST", "/v1/embeddings", `{"model":"reranker"}`), 400, "of type RERANKER"},
		"thinking on chat":            {envelope("a", "POST", chat, chatBody(`,"thinking":{}`)), 400, "Line 2: 'thinking' is not supported"},
		"an unknown effort":           {envelope("a", "POST", chat, chatBody(`,"reasoning_effort":"huge"`)), 400, "Line 2: reasoning effort"},
		"a body over the cap":         {envelope("a", "POST", chat, chatBody(`,"user":"`+strings.Repeat("x", 4096)+`"`)), 400, "Line 2: Request body is"},
		"two faults at once":          {envelope(strings.Repeat("x", 65), "GET", "/nowhere", `{}`), 400, "custom_id exceeds"},
	}
	for name, tc := range cases {
		t.Run(name+" is refused", func(t *testing.T) {
			t.Parallel()
			p := start(t, simulator.Config{MaxRowBytes: 4096})
			a := p.uploadFields(field{"file", "f.jsonl", "\n  \r\n" + good + "\n\n" + tc.row + "\n" + good + "\n"})
			if a.status != tc.status || !strings.Contains(a.body, tc.text) {
				t.Errorf("got %d %q", a.status, a.body)
			}
			if got := a.header.Get("Content-Type"); got != "text/plain; charset=utf-8" {
				t.Errorf("content type %q", got)
			}
			if n := len(p.sim.Ledger().Uploads); n != 0 {
				t.Errorf("%d uploads were stored", n)
			}
		})
	}
}

func TestWhatTheProviderAcceptsIsAccepted(t *testing.T) {
	t.Parallel()
	const chat = "/v1/chat/completions"
	for name, rows := range map[string]string{
		"an empty custom_id":                  envelope("", "POST", chat, chatBody("")),
		"64 bytes of custom_id":               envelope(strings.Repeat("é", 32), "POST", chat, chatBody("")),
		"a tab in it":                         envelope(`a\t`, "POST", chat, chatBody("")),
		"a method in lower case":              envelope("a", "post", chat, chatBody("")),
		"equal custom_ids":                    envelope("a", "POST", chat, chatBody("")) + "\n" + envelope("a", "POST", chat, chatBody("")),
		"equal keys in a body":                envelope("a", "POST", chat, chatBody(`,"user":"1","user":"2"`)),
		"nesting of 127 levels":               envelope("a", "POST", chat, chatBody(`,"x":`+strings.Repeat("[", 125)+strings.Repeat("]", 125))),
		"extra envelope keys":                 `{"extra":{"a":[1]},` + envelope("a", "POST", chat, chatBody(""))[1:],
		"a temperature of 3":                  envelope("a", "POST", chat, chatBody(`,"temperature":3`)),
		"a torn character at the end":         envelope("a", "POST", chat, chatBody("")) + "\n\xe2\x82",
		"CR LF":                               envelope("a", "POST", chat, chatBody("")) + "\r\n",
		"embeddings and chat in one":          envelope("a", "POST", chat, chatBody("")) + "\n" + envelope("b", "POST", "/v1/embeddings", `{"model":"embed","input":"x"}`),
		"an embedding without any model type": envelope("a", "POST", "/v1/embeddings", `{"model":"m","input":"x"}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, simulator.Config{})
			if a := p.uploadFields(field{"file", "f.jsonl", rows}); a.status != http.StatusCreated {
				t.Errorf("got %d %q", a.status, a.body)
			}
		})
	}
}

func TestTheFormHasItsOwnRules(t *testing.T) {
	t.Parallel()
	row := chatRow("a", "")
	cases := map[string]struct {
		cfg    simulator.Config
		fields []field
		status int
		text   string
	}{
		"purpose after the file counts":            {fields: []field{{"file", "f", row}, {"purpose", "", "batch_output"}}, status: 400, text: "purpose"},
		"an empty purpose is refused":              {fields: []field{{"purpose", "", ""}, {"file", "f", row}}, status: 400, text: "purpose"},
		"the purpose's case is free":               {fields: []field{{"purpose", "", "BATCH"}, {"file", "f", row}}, status: 201, text: `"purpose":"batch"`},
		"a file is needed":                         {fields: []field{{"purpose", "", "batch"}}, status: 400, text: "No file field found"},
		"a row is needed":                          {fields: []field{{"file", "f", "\n \n"}}, status: 400, text: "no valid request templates"},
		"unknown fields are skipped":               {fields: []field{{"color", "", "red"}, {"file", "f", row}}, status: 201, text: `"object":"file"`},
		"a name is made when none came":            {fields: []field{{"file", "", row}}, status: 201, text: `"filename":"upload-`},
		"a path as name stays whole":               {fields: []field{{"file", "bus/q/job/1/", row}}, status: 201, text: `"filename":"bus/q/job/1/"`},
		"the row cap names cap plus one":           {cfg: simulator.Config{MaxRows: 2}, fields: []field{{"file", "f", row + row + "bad\n" + row}}, status: 400, text: "File contains 3 requests"},
		"the byte cap is named":                    {cfg: simulator.Config{MaxFileBytes: 100}, fields: []field{{"file", "f", row}}, status: 413, text: "100 bytes"},
		"a far too long request is refused unread": {cfg: simulator.Config{MaxFileBytes: 100}, fields: []field{{"file", "f", strings.Repeat(row, 100)}}, status: 413, text: "100 bytes"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, tc.cfg)
			if a := p.uploadFields(tc.fields...); a.status != tc.status || !strings.Contains(a.body, tc.text) {
				t.Errorf("got %d %q", a.status, a.body)
			}
		})
	}
}

func TestStoredInputReadsBackSortedAndNormalised(t *testing.T) {
	t.Parallel()
	p := start(t, simulator.Config{})
	row := `{ "body" : {"z":1.50,"model":"m","priority":9,"a":{"d":1e2,"c":[true,null,"\u00e9\/"]},"z":2,"big":18446744073709551615,"bigger":1e20,"service_tier":"x"}, "custom_id":"a","extra":1,"url":"/v1/chat/completions","method":"post"}`
	file := p.upload(row)
	want := `{"custom_id":"a","method":"post","url":"/v1/chat/completions","body":{"a":{"c":[true,null,"é/"],"d":100.0},"big":18446744073709551615,"bigger":1e20,"model":"m","z":2}}` + "\n"
	a := p.content(file, "")
	if a.body != want {
		t.Errorf("got  %swant %s", a.body, want)
	}
	if a.header.Get("X-Incomplete") != "false" || a.header.Values("X-Last-Line") != nil {
		t.Errorf("headers %v", a.header)
	}
	sum := sha256.Sum256([]byte(row))
	if got := p.sim.Ledger().Uploads[0]; got.SHA256 != hex.EncodeToString(sum[:]) || got.Bytes != int64(len(row)) {
		t.Errorf("ledger %+v", got)
	}
}
