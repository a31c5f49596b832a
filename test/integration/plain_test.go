package integration_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
)

// This file uses nothing of ours beyond the running stack: subjects, headers and fields stand here as the documentation writes them.

func TestAUserWithNothingButNATSIsServed(t *testing.T) {
	t.Parallel()
	nc := newWorld(t, simulator.Config{}).start().nats
	results := subscribe(t, nc, "batchbus.results.default.by-hand.>")

	for i := range 3 {
		row := fmt.Sprintf(`{"custom_id":"case-%d","method":"POST","url":"/v1/chat/completions",`+
			`"body":{"model":"m","messages":[{"role":"user","content":"hello"}]}}`, i)
		if err := nc.Publish("batchbus.requests.default.by-hand", []byte(row)); err != nil {
			t.Fatal(err)
		}
	}
	seal := nats.NewMsg("batchbus.requests.default.by-hand")
	seal.Header.Set("Batchbus-Seal", "true")
	seal.Header.Set("Batchbus-Expected-Rows", "4")
	seal.Data = []byte(`{"custom_id":"Zoë's last one","method":"POST","url":"/v1/embeddings","body":{"model":"embed","input":"text","dimensions":8}}`)
	if err := nc.PublishMsg(seal); err != nil {
		t.Fatal(err)
	}

	got := map[string]string{}
	for range 4 {
		m := results()
		var event struct {
			CustomID string `json:"custom_id"`
			Outcome  string `json:"outcome"`
			Response struct {
				Object string `json:"object"`
			} `json:"response"`
		}
		if err := json.Unmarshal(m.Data, &event); err != nil {
			t.Fatal(err)
		}
		if event.Outcome != "succeeded" || m.Header.Get("Batchbus-Outcome") != event.Outcome || event.Response.Object == "" {
			t.Errorf("%s", m.Data)
		}
		got[event.CustomID] = m.Subject
	}
	want := map[string]string{
		"case-0": "batchbus.results.default.by-hand.case-0",
		"case-1": "batchbus.results.default.by-hand.case-1",
		"case-2": "batchbus.results.default.by-hand.case-2",
		// printf %s "Zoë's last one" | sha256sum
		"Zoë's last one": "batchbus.results.default.by-hand.~37b4e1c4e2f45ee8af10afc7e665f13fd6d0c2ce1fab7ea8fd40efc164d67528",
	}
	for id, subject := range want {
		if got[id] != subject {
			t.Errorf("%s came on %q, want %q", id, got[id], subject)
		}
	}
}

func TestOneObjectOverSeveralLinesIsOneRow(t *testing.T) {
	t.Parallel()
	nc := newWorld(t, simulator.Config{}).start().nats
	results := subscribe(t, nc, "batchbus.results.default.pretty.case")
	m := nats.NewMsg("batchbus.requests.default.pretty")
	m.Header.Set("Batchbus-Seal", "true")
	m.Data = []byte("{\n  \"custom_id\": \"case\",\n  \"method\": \"POST\",\n  \"url\": \"/v1/chat/completions\",\n" +
		"  \"body\": {\n    \"model\": \"m\",\n    \"messages\": [{\"role\": \"user\", \"content\": \"a  b\"}]\n  }\n}\n")
	if err := nc.PublishMsg(m); err != nil {
		t.Fatal(err)
	}
	if m := results(); m.Header.Get("Batchbus-Outcome") != "succeeded" {
		t.Errorf("%s", m.Data)
	}
}

func TestASubjectThatIsNeitherQueueNorJobIsADeadLetter(t *testing.T) {
	t.Parallel()
	nc := newWorld(t, simulator.Config{}).start().nats
	letters := subscribe(t, nc, "batchbus.deadletters.>")
	const row = `{"custom_id":"x","method":"POST","url":"/v1/chat/completions","body":{"model":"m","messages":[]}}`
	for _, subject := range []string{"batchbus.requests.default.a.b", "batchbus.requests.default.auto-1", "batchbus.requests.de!fault.job"} {
		if err := nc.Publish(subject, []byte(row)); err != nil {
			t.Fatal(err)
		}
		m := letters()
		var letter struct {
			Code    string `json:"code"`
			Subject string `json:"subject"`
			Hint    string `json:"hint"`
			Payload string `json:"payload"`
		}
		if err := json.Unmarshal(m.Data, &letter); err != nil {
			t.Fatal(err)
		}
		if letter.Code != "bad_subject" || letter.Subject != subject || letter.Payload != row || letter.Hint == "" ||
			m.Header.Get("Batchbus-Code") != "bad_subject" {
			t.Errorf("%s: %s", subject, m.Data)
		}
	}
}

// subscribe returns a function that waits for the next message.
func subscribe(t *testing.T, nc *nats.Conn, subject string) func() *nats.Msg {
	t.Helper()
	subscription, err := nc.SubscribeSync(subject)
	if err != nil {
		t.Fatal(err)
	}
	return func() *nats.Msg {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		m, err := subscription.NextMsgWithContext(ctx)
		if err != nil {
			t.Fatalf("%s: %v", subject, err)
		}
		return m
	}
}
