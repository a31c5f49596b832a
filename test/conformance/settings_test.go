package conformance_test

import (
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

const (
	patienceFlag = "conformance.patience"
	settleFlag   = "conformance.settle"
	reportFlag   = "conformance.report"
)

func TestMain(m *testing.M) {
	flag.Duration(patienceFlag, 26*time.Hour, "how long the batch may take to end")
	flag.Duration(settleFlag, 2*time.Minute, "how long lists and analytics may take to catch up")
	flag.String(reportFlag, "", "file for the report on CONFORMANCE_BASE_URL")
	goleak.VerifyTestMain(m)
}

func durationOf(name string) time.Duration {
	d, _ := flag.Lookup(name).Value.(flag.Getter).Get().(time.Duration)
	return d
}

// settings are one server and how it is asked.
type settings struct {
	baseURL, key, model, window string
	patience, settle, interval  time.Duration
}

// fromEnvironment answers false when no server is named.
func fromEnvironment() (settings, bool) {
	s := settings{
		baseURL: os.Getenv("CONFORMANCE_BASE_URL"), key: os.Getenv("DOUBLEWORD_API_KEY"), model: os.Getenv("CONFORMANCE_MODEL"),
		window: os.Getenv("CONFORMANCE_WINDOW"), patience: durationOf(patienceFlag), settle: durationOf(settleFlag), interval: 10 * time.Second,
	}
	if s.window == "" {
		s.window = "24h"
	}
	return s, s.baseURL != ""
}

const (
	goodRows = 5
	// maxTokens bounds each answer.
	maxTokens = 8
	// rowTokens is more than the prompt of any row here has: it is under 512 bytes.
	rowTokens = 512
)

// spending says what a run costs at most: the rows of both batches, each with a full prompt and a full answer.
func (s settings) spending() string {
	const rows = 2 * (goodRows + 1)
	in, out, known := price(s.model, s.window)
	usd := rows * (rowTokens*in + maxTokens*out) / 1e6
	source := "its price in the list of the contract, section 10, undated"
	if !known {
		source = "no price of this model and window is known; this is by the dearest of the list"
	}
	return fmt.Sprintf("Spends at most %d rows of %s at %s, %d tokens of input and %d of output each: USD %.6f at most (%s).",
		rows, s.model, s.window, rowTokens, maxTokens, usd, source)
}

// price is in USD per million tokens.
func price(model, window string) (in, out float64, known bool) {
	list := map[string]map[string][2]float64{
		"Qwen/Qwen3.5-4B":                    {"24h": {0.04, 0.06}, "1h": {0.05, 0.08}},
		"Qwen/Qwen3.5-9B":                    {"24h": {0.03, 0.29}, "1h": {0.04, 0.35}},
		"Qwen/Qwen3-14B-FP8":                 {"24h": {0.02, 0.20}, "1h": {0.03, 0.30}},
		"Qwen/Qwen3.5-35B-A3B-FP8":           {"24h": {0.05, 0.20}, "1h": {0.07, 0.30}},
		"Qwen/Qwen3-VL-30B-A3B-Instruct-FP8": {"24h": {0.05, 0.20}, "1h": {0.07, 0.30}},
		"openai/gpt-oss-20b":                 {"24h": {0.02, 0.15}, "1h": {0.03, 0.20}},
		"Qwen/Qwen3.5-397B-A17B":             {"24h": {0.15, 1.20}, "1h": {0.30, 1.80}},
	}
	if p, ok := list[model][window]; ok {
		return p[0], p[1], true
	}
	return 0.60, 3.60, false
}

func reportName() string { return flag.Lookup(reportFlag).Value.String() }
