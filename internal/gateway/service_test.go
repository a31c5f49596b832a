package gateway_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"github.com/batchbus/batchbus/internal/gateway"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
	"github.com/batchbus/batchbus/pkg/rows"
)

func rowHash(line []byte) [16]byte { return rows.HashRow(line) }

const url = "/v1/chat/completions"

func TestACallIsARowAndTheRowsResultIsTheAnswer(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	base, _ := r.replica(nil)
	body := `{ "model" : "m", "big": 12345678901234567890, "é\u00e9":"<&>", "x":1.0 }`
	got := r.call(t.Context(), base+url, body, "X-Batchbus-Window", "1h")
	m := r.taken()
	if want := `{"custom_id":"` + idOf(t, m) + `","method":"POST","url":"` + url + `","body":` + body + `}`; string(m.Data) != want {
		t.Errorf("%s, want %s", m.Data, want)
	}
	if m.Subject != "batchbus.requests.default" || !events.IsRolling(m.Header.Get(events.HeaderJob)) || m.Header.Get(events.HeaderWindow) != "1h" {
		t.Errorf("%s %v", m.Subject, m.Header)
	}
	answer := `{"id":1E5,  "text":"\u00e9<&>  é"}`
	r.end(m, func(e *events.Result) { e.Response, e.StatusCode = []byte(answer), http.StatusCreated })
	reply := <-got
	if reply.err != nil || reply.status != http.StatusCreated || reply.body != answer {
		t.Errorf("%+v", reply)
	}
	for name, want := range map[string]string{
		"X-Batchbus-Queue": "default", "X-Batchbus-Job": m.Header.Get(events.HeaderJob), "X-Batchbus-Custom-Id": idOf(t, m),
		"X-Batchbus-Outcome": "succeeded", "X-Batchbus-Attached": "false",
	} {
		if reply.header.Get(name) != want {
			t.Errorf("%s is %q, want %q", name, reply.header.Get(name), want)
		}
	}
}

func TestABodyOnSeveralLinesIsOneRow(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	base, _ := r.replica(nil)
	got := r.call(t.Context(), base+url, "{\n \"model\":\"m\",\n \"stream\" : true, \"stream_options\":{},\n \"x\":1\n}\n")
	m := r.taken()
	if _, body, _ := strings.Cut(string(m.Data), `"body":`); body != `{  "model":"m",  "x":1 }}` {
		t.Errorf("%q", body)
	}
	r.end(m, nil)
	if reply := <-got; !strings.HasSuffix(reply.body, "data: [DONE]\n\n") || !strings.HasPrefix(reply.header.Get("Content-Type"), "text/event-stream") {
		t.Errorf("%+v", reply)
	}
}

func TestARowThatCameTooLateForItsJobGoesToALaterOne(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int{"small": 10, "large": 100_000} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			base, _ := r.replica(nil)
			body := `{"model":"m","input":"` + strings.Repeat("x", size) + `"}`
			got := r.call(t.Context(), base+"/v1/embeddings", body)
			first := r.taken()
			r.after(first) // so that a later job has another name
			r.dead(first, events.DLJobSealed)
			if size > 50_000 { // its body is not in memory any more
				reply := <-got
				if reply.status != http.StatusServiceUnavailable || reply.header.Get("X-Should-Retry") != "true" {
					t.Fatalf("%+v", reply)
				}
				got = r.call(t.Context(), base+"/v1/embeddings", body, "X-Stainless-Retry-Count", "1")
			}
			second := r.taken()
			if idOf(t, second) != idOf(t, first) || second.Header.Get(events.HeaderJob) <= first.Header.Get(events.HeaderJob) ||
				second.Header.Get(nats.MsgIdHdr) == first.Header.Get(nats.MsgIdHdr) || string(second.Data) != string(first.Data) {
				t.Errorf("%v\n%v", first.Header, second.Header)
			}
			r.end(second, nil)
			if reply := <-got; reply.status != http.StatusOK || reply.header.Get("X-Batchbus-Job") != second.Header.Get(events.HeaderJob) {
				t.Errorf("%+v", reply)
			}
			r.nothing()
		})
	}
}

// after waits until the span of a row's job is over.
func (r *rig) after(m *nats.Msg) {
	r.t.Helper()
	span, _ := events.ParseRolling(m.Header.Get(events.HeaderJob))
	for !time.Now().After(span.End) {
		pause(r.t, r.t.Context())
	}
}

func TestARefusedRowIsAnErrorThatNamesItsReason(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	base, _ := r.replica(nil)
	got := r.call(t.Context(), base+url, chat)
	r.dead(r.taken(), events.DLObjectMissing)
	if reply := <-got; reply.status != http.StatusServiceUnavailable || !strings.Contains(reply.body, `"code":"object_missing"`) || reply.header.Get("X-Should-Retry") != "false" {
		t.Errorf("%+v", reply)
	}
	got = r.call(t.Context(), base+url, chat) // the first was answered: this is another call
	r.end(r.taken(), func(e *events.Result) {
		e.Outcome, e.Response, e.StatusCode = events.Failed, nil, 429
		e.Error = &events.Error{Code: "rate_limit", Message: "slow down", StatusCode: 429}
	})
	if reply := <-got; reply.status != http.StatusTooManyRequests || reply.body != `{"error":{"message":"slow down","type":"rate_limit_error","param":null,"code":"rate_limit"}}` {
		t.Errorf("%+v", reply)
	}
}

func TestAnIdempotencyKeyIsOneRowForItsCaller(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	one, _ := r.replica(nil)
	two, _ := r.replica(nil)
	key := []string{"Idempotency-Key", "k"}
	first := r.call(t.Context(), one+url, chat, key...)
	m := r.taken()
	second := r.call(t.Context(), two+url, chat, key...)
	if reply := r.now(two+url, `{"model":"m"}`, key...); reply.status != http.StatusUnprocessableEntity {
		t.Errorf("%+v", reply)
	}
	other := r.call(t.Context(), two+url, chat, "Idempotency-Key", "k", "Authorization", "Bearer sk-two")
	n := r.taken()
	r.end(m, nil)
	r.end(n, nil)
	for name, got := range map[string]<-chan reply{"first": first, "second": second, "other": other} {
		reply := <-got
		if want := strconv.FormatBool(name == "second"); reply.status != http.StatusOK || reply.header.Get("X-Batchbus-Attached") != want {
			t.Errorf("%s: %+v", name, reply)
		}
	}
	if reply := r.now(one+url, chat, key...); reply.status != http.StatusOK || reply.header.Get("X-Batchbus-Custom-Id") != idOf(t, m) {
		t.Errorf("%+v", reply)
	}
	r.nothing()
}

func TestACallIsFetchedByItsHandleByItsCallerAlone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	base, _ := r.replica(nil)
	handed := r.now(base+url, chat, "Prefer", "respond-async")
	where := base + handed.header.Get("Location")
	m := r.taken()
	if handed.status != http.StatusAccepted || !strings.Contains(handed.body, `"custom_id":"`+idOf(t, m)+`"`) {
		t.Errorf("%+v", handed)
	}
	if reply := r.now(where, ""); reply.status != http.StatusAccepted || reply.body != handed.body {
		t.Errorf("%+v", reply)
	}
	for where, headers := range map[string][]string{where: {"Authorization", "Bearer sk-two"}, where + "x": nil, base + "/v1/batchbus/calls/*": nil} {
		if reply := r.now(where, "", headers...); reply.status != http.StatusNotFound {
			t.Errorf("%s: %+v", where, reply)
		}
	}
	waiting := r.call(t.Context(), where, "", "Prefer", "wait=60")
	big := `{"x":"` + strings.Repeat("é", 5<<20) + `"}`
	r.end(m, func(e *events.Result) { e.Response = []byte(big) }) // an object
	for _, reply := range []reply{<-waiting, r.now(where, "")} {
		if reply.status != http.StatusOK || reply.body != big {
			t.Errorf("%d, %d bytes", reply.status, len(reply.body))
		}
	}
	r.call(t.Context(), base+url, chat)
	if next := r.taken(); idOf(t, next) == idOf(t, m) {
		t.Error("a call that was given a handle was taken for one that was left")
	}
}

func TestAGatewayThatStopsTellsItsCallersToComeAgainAndTheyAttach(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	base, stop := r.replica(nil)
	got := r.call(t.Context(), base+url, chat)
	m := r.taken()
	stop()
	if reply := <-got; reply.status != http.StatusServiceUnavailable || reply.header.Get("X-Should-Retry") != "true" || reply.header.Get("Retry-After") == "" {
		t.Errorf("%+v", reply)
	}
	base, _ = r.replica(nil)
	got = r.call(t.Context(), base+url, chat) // no word of a retry: the first was left by its gateway
	other := r.call(t.Context(), base+url, chat)
	next := r.taken()
	r.end(m, nil)
	r.end(next, nil)
	if a, b := <-got, <-other; (a.header.Get("X-Batchbus-Attached") == "true") == (b.header.Get("X-Batchbus-Attached") == "true") || a.status+b.status != 400 {
		t.Errorf("%+v\n%+v", a, b)
	}
	r.nothing()
}

func TestLimitsAndKeysAreKept(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	callers, err := gateway.ParseCallers([]byte(`{"sk-one":"night","sha256:` + strings.Repeat("ab", 32) + `":"q"}`))
	if err != nil {
		t.Fatal(err)
	}
	base, _ := r.replica(func(c *gateway.Config) { c.Callers, c.MaxCalls = callers, 3 })
	if reply := r.now(base+url, chat, "Authorization", "Bearer sk-two"); reply.status != http.StatusUnauthorized || strings.Contains(reply.body, "sk-two") {
		t.Errorf("%+v", reply)
	}
	if reply := r.now(base+url, `{"model":"m","x":"`+strings.Repeat("x", 10<<20)+`"}`); reply.status != http.StatusRequestEntityTooLarge {
		t.Errorf("%+v", reply)
	}
	for body, code := range map[string]string{
		`{"model":"m",}`: "invalid_json", `[]`: "not_an_object", `{"x":1}`: "missing_model", `{"model":"m"} {}`: "invalid_json",
		`{"model":"m","user":"\ud83d"}`: "lone_surrogate", "{\"model\":\"m\nx\"}": "invalid_json", ` `: "invalid_json",
	} {
		if reply := r.now(base+url, body); reply.status != http.StatusBadRequest || !strings.Contains(reply.body, `"code":"`+code+`"`) {
			t.Errorf("%s: %+v", body, reply)
		}
	}
	r.nothing()
	ctx, leave := context.WithCancel(t.Context())
	var open []<-chan reply
	for range 3 {
		open = append(open, r.call(ctx, base+url, chat, "Authorization", "", "X-Api-Key", "sk-one"))
		if m := r.taken(); m.Subject != "batchbus.requests.night" {
			t.Errorf("%s", m.Subject)
		}
	}
	if reply := r.now(base+url, chat); reply.status != http.StatusTooManyRequests || reply.header.Get("Retry-After") == "" {
		t.Errorf("%+v", reply)
	}
	leave()
	for _, one := range open {
		<-one
	}
}

func TestAnOpenAnswerShowsSignsOfLife(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	base, _ := r.replica(func(c *gateway.Config) { c.KeepAlive = 100 * time.Millisecond })
	spaced := r.call(t.Context(), base+url, chat, "X-Batchbus-Keep-Alive", "1")
	m := r.taken()
	streamed := r.call(t.Context(), base+url, strings.Replace(chat, "{", `{"stream":true,`, 1))
	n := r.taken()
	beats := time.NewTimer(500 * time.Millisecond)
	<-beats.C
	r.end(m, nil)
	r.end(n, func(e *events.Result) {
		e.Outcome, e.Response, e.Error = events.Expired, nil, &events.Error{Code: "window_expired", Message: "too late"}
	})
	if reply := <-spaced; !strings.HasPrefix(reply.body, "  ") || !strings.HasSuffix(reply.body, `{"id":"x","choices":[]}`) {
		t.Errorf("%+v", reply)
	}
	if reply := <-streamed; !strings.HasPrefix(reply.body, ": waiting\n\n") || !strings.Contains(reply.body, "event: error\ndata: {\"error\":{\"message\":\"too late\"") {
		t.Errorf("%+v", reply)
	}
}

// silence is a bus that does not answer.
type silence struct{}

func (silence) Policy(ctx context.Context, _ string) (events.Policy, error) {
	<-ctx.Done()
	return events.Policy{}, ctx.Err()
}

func TestABusThatDoesNotAnswerIsToldOfInTime(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	base, _ := r.replica(func(c *gateway.Config) { c.Policies, c.PublishTimeout = silence{}, 50*time.Millisecond })
	for _, body := range []string{chat, ""} {
		where := base + url
		if body == "" {
			where = base + "/v1/models"
		}
		if reply := r.now(where, body); reply.status != http.StatusServiceUnavailable || reply.header.Get("X-Should-Retry") != "true" {
			t.Errorf("%+v", reply)
		}
	}
}

func TestNeitherKeyNorBodyIsInRecordsAndLog(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var log bytes.Buffer
	base, stop := r.replica(func(c *gateway.Config) { c.Log = zerolog.New(&log) })
	got := r.call(t.Context(), base+url, strings.Replace(chat, "Hello", "Private", 1), "Idempotency-Key", "secret-key")
	m := r.taken()
	r.end(m, nil)
	<-got
	r.now(base+url, "{", "Idempotency-Key", "secret-key")
	stop()
	seen := []byte(log.String() + fmt.Sprint(m.Header))
	records := 0
	for m, err := range r.Store.Read(t.Context(), jetstore.StreamCalls, ">", 0) {
		if err != nil {
			t.Fatal(err)
		}
		records++
		seen = fmt.Appendf(seen, "%s %v %s\n", m.Subject, m.Header, m.Data)
	}
	for _, secret := range []string{"sk-one", "secret-key", "Private"} {
		if records != 1 || bytes.Contains(seen, []byte(secret)) {
			t.Errorf("%d records, and %s in %s", records, secret, seen)
		}
	}
}
