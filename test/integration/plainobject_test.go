package integration_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
)

// digestOf is a digest as the documentation writes it.
func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return "SHA-256=" + base64.URLEncoding.EncodeToString(sum[:])
}

func TestAUserWithNothingButNATSSendsAndReadsWhatNoMessageHolds(t *testing.T) {
	t.Parallel()
	nc := newWorld(t, simulator.Config{}).start().nats
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := js.ObjectStore(t.Context(), "batchbus_objects")
	if err != nil {
		t.Fatal(err)
	}
	results := subscribe(t, nc, "batchbus.results.default.big.>")

	// A row of 9 MiB, whose answer has more than as much.
	inputs := strings.TrimSuffix(strings.Repeat(`"`+strings.Repeat("x", 9<<20/27)+`",`, 27), ",")
	row := []byte(`{"custom_id":"big","method":"POST","url":"/v1/embeddings","body":{"model":"embed","input":[` + inputs +
		`],"dimensions":65536,"encoding_format":"base64"}}`)
	if most := nc.MaxPayload(); int64(len(row)) < most {
		t.Fatalf("the row of %d bytes fits a message of %d", len(row), most)
	}
	if _, err := objects.PutBytes(t.Context(), "my-rows-1", row); err != nil {
		t.Fatal(err)
	}
	m := nats.NewMsg("batchbus.requests.default.big")
	m.Header.Set("Batchbus-Object", "my-rows-1")
	m.Header.Set("Batchbus-Digest", digestOf(row))
	m.Header.Set("Batchbus-Size", strconv.Itoa(len(row)))
	seal := nats.NewMsg("batchbus.requests.default.big")
	seal.Header.Set("Batchbus-Seal", "true")
	for _, m := range []*nats.Msg{m, seal} {
		if err := nc.PublishMsg(m); err != nil {
			t.Fatal(err)
		}
	}

	event := results()
	var envelope map[string]any
	if err := json.Unmarshal(event.Data, &envelope); err != nil || envelope["custom_id"] != "big" || envelope["outcome"] != "succeeded" || envelope["response"] != nil {
		t.Fatalf("event %.200s, %v", event.Data, err)
	}
	whole, err := objects.GetBytes(t.Context(), event.Header.Get("Batchbus-Object"))
	if err != nil {
		t.Fatal(err)
	}
	var result struct {
		CustomID string `json:"custom_id"`
		Response struct {
			Data []json.RawMessage `json:"data"`
		} `json:"response"`
	}
	if err := json.Unmarshal(whole, &result); err != nil || result.CustomID != "big" || len(result.Response.Data) != 27 {
		t.Errorf("%d bytes with %d vectors, %v", len(whole), len(result.Response.Data), err)
	}
	if got, want := event.Header.Get("Batchbus-Digest")+" "+event.Header.Get("Batchbus-Size"), fmt.Sprint(digestOf(whole), " ", len(whole)); got != want {
		t.Errorf("the headers say %s, the object is %s", got, want)
	}
}
