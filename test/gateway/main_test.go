// Package gateway_test runs programs that use OpenAI's own SDK against `batchbus gateway`, beside a real nats-server, the services and the
// provider's simulator as processes. It judges by what the SDK returns and by the simulator's ledger.
package gateway_test

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/batchbus/batchbus/test/rig"
)

func TestMain(m *testing.M) { os.Exit(rig.Run(m)) }

// house is a deployment with gateways.
type house struct {
	*rig.Deployment
	t        *testing.T
	gateways []*rig.Process
	urls     []string // of the gateways, with /v1
}

func build(t *testing.T, replicas int, flags ...string) *house {
	t.Helper()
	h := &house{Deployment: rig.Deploy(t, rig.Shape{Services: []string{"--poll-floor=500ms", "--poll-ceiling=500ms"}}), t: t}
	for range replicas {
		address, admin := rig.FreeAddress(t), rig.FreeAddress(t)
		args := []string{"gateway", "--nats=" + h.Direct.NATS, "--listen=" + address, "--admin=" + admin, "--provider-url=" + h.Direct.Provider + "/v1"}
		p := rig.Launch(t, "batchbus", []string{"DOUBLEWORD_API_KEY=" + rig.APIKey}, slices.Concat(args, flags)...)
		p.Admin = admin
		h.gateways, h.urls = append(h.gateways, p), append(h.urls, "http://"+address+"/v1")
	}
	for i := range h.gateways {
		h.await(i)
	}
	return h
}

// await waits until a gateway is ready.
func (h *house) await(i int) {
	h.t.Helper()
	rig.Eventually(h.t, "the gateway is ready", func() bool {
		if h.gateways[i].Ended() {
			h.t.Fatalf("the gateway has %s", h.gateways[i].End())
		}
		return rig.Ready(h.t, h.gateways[i].Admin)
	})
}

// sdk is a client of one of the gateways. Its timeouts are the caller's.
func (h *house) sdk(i int, options ...option.RequestOption) openai.Client {
	all := []option.RequestOption{option.WithBaseURL(h.urls[i]), option.WithAPIKey("sk-caller"), option.WithMaxRetries(0)}
	return openai.NewClient(append(all, options...)...)
}

// wide is an HTTP client for thousands of open calls.
func wide() option.RequestOption {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 0
	return option.WithHTTPClient(&http.Client{Transport: transport})
}

func ask(text string) openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{Model: "model-a", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(text)}}
}

// wantAnswer checks that an answer is about its question: the simulator says so.
func wantAnswer(t *testing.T, question string, got *openai.ChatCompletion, err error) bool {
	t.Helper()
	if err != nil || len(got.Choices) != 1 || !strings.Contains(got.Choices[0].Message.Content, question+":") {
		t.Errorf("%s: %v, %v", question, got, err)
		return false
	}
	return true
}

func question(prefix string, i int) string { return fmt.Sprintf("%s-%d", prefix, i) }
