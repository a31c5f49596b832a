package simulator_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
)

func TestEachModelIsBilledAtItsOwnPriceToTheLastDigit(t *testing.T) {
	t.Parallel()
	own := simulator.Price{Input: 70_001, Output: 300_007}
	p := start(t, simulator.Config{Prices: map[string]simulator.Price{"own": own}})
	for model, price := range map[string]simulator.Price{"own": own, "other": {Input: 50_000, Output: 200_000}} {
		b := p.create(p.upload(strings.ReplaceAll(chatRows(7), `"model":"m"`, `"model":"`+model+`"`)))
		p.untilStatus(b.id, "completed")
		said := p.get("/v1/batches/" + b.id + "/analytics").json(t)
		prompt, completion := int64(said["total_prompt_tokens"].(float64)), int64(said["total_completion_tokens"].(float64))
		amount := price.Input*prompt + price.Output*completion
		if want := fmt.Sprintf("0.%012d", amount); said["total_cost"] != want || completion == 0 {
			t.Errorf("%s: %v for %d and %d tokens, want %s", model, said["total_cost"], prompt, completion, want)
		}
	}
	if _, err := simulator.New(simulator.Config{Prices: map[string]simulator.Price{"m": {Input: -1}}}); err == nil {
		t.Error("a negative price was taken")
	}
}
