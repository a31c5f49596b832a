package contract_test

import (
	"bytes"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"regexp"
	"testing"

	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/pkg/rows"
)

// accountRefusal are refusals that depend on the account, its models and what they can do: nothing that a row's text tells.
const accountRefusal = `has not been configured|is of type|is not supported on /v1`

// upload sends a file of one line to the simulator, whose parser is as strict as the provider's and not ours.
func upload(t *testing.T, provider http.Handler, line []byte) (status int, text string) {
	t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	if err := form.WriteField("purpose", "batch"); err != nil {
		t.Fatal(err)
	}
	file, err := form.CreateFormFile("file", "rows.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.Write(line); err != nil {
		t.Fatal(err)
	}
	if err := form.Close(); err != nil {
		t.Fatal(err)
	}
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/files", &body)
	request.Header.Set("Content-Type", form.FormDataContentType())
	request.Header.Set("Authorization", "Bearer contract")
	recorded := httptest.NewRecorder()
	provider.ServeHTTP(recorded, request)
	return recorded.Code, recorded.Body.String()
}

func newSimulator(tb testing.TB) http.Handler {
	tb.Helper()
	provider, err := simulator.New(simulator.Config{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := provider.Close(); err != nil {
			tb.Error(err)
		}
	})
	return provider
}

// FuzzUpload: the provider rolls a whole file back for one row, so it must take the line of every row that pkg/rows accepts.
func FuzzUpload(f *testing.F) {
	for _, reason := range rows.Reasons() {
		f.Add([]byte(reason.Example), 0)
	}
	f.Add([]byte(` { "body" : {"mod\u0065l":"m","x":[1E5,-0,1.0,"\ud83d\ude00"]} , "url":"\/v1\/messages","method":"post","custom_id":"\u0000~é", "x":[1e999] } `), 49_999)
	f.Add([]byte(`{"custom_id":"a","method":"POST","url":"/v1/chat/completions","body":{"model":"m","reasoning_effort":"huge","reasoning_effort":"l\u006fw"}}`), 0)
	f.Add([]byte(`{"custom_id":"a","method":"POST","url":"/v1/responses","body":{"model":"m","reasoning":{"effort":null,"effort":"max"}}}`), 0)
	provider, allowed := newSimulator(f), regexp.MustCompile(accountRefusal)
	f.Fuzz(func(t *testing.T, line []byte, place int) {
		row, fault := rows.Parse(line, nil)
		if fault != nil || place < 0 {
			return
		}
		wire := rows.AppendLine(nil, rows.WireID(place, row.CustomID), row.AppendTail(nil))
		if status, text := upload(t, provider, wire); status != http.StatusCreated && !allowed.MatchString(text) {
			t.Fatalf("pkg/rows takes %q, the provider says %d %s", line, status, text)
		}
	})
}

func TestTheProviderRefusesWhatItsParserRefuses(t *testing.T) {
	t.Parallel()
	provider := newSimulator(t)
	refused := 0
	for _, reason := range rows.Reasons() {
		if reason.Warning {
			continue
		}
		if status, _ := upload(t, provider, []byte(reason.Example+"\n")); status != http.StatusCreated {
			refused++
		}
	}
	if refused < 20 { // not all: a stream, say, is taken and regretted later
		t.Errorf("the simulator refuses %d of the examples: FuzzUpload proves little", refused)
	}
}
