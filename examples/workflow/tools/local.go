package tools

import (
	"bytes"
	"context"
	_ "embed" // the data of the functions
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"
)

//go:embed parts.json
var partsJSON []byte

//go:embed orders.csv
var ordersCSV []byte

// Local are the functions of the example, which read data that is built in. The current time is the one given: the same for every row, whenever
// the program is run again.
func Local(now time.Time) []Function {
	return []Function{
		{
			Name: "part_price", Description: "Price and stock of a part, by its number.",
			Parameters: `{"type":"object","properties":{"part":{"type":"string","enum":["A-100","B-200","C-300","D-400"]}},"required":["part"],"additionalProperties":false}`,
			Call:       taking(partPrice),
		},
		{
			Name: "count_orders", Description: "How many orders there are with this status.",
			Parameters: `{"type":"object","properties":{"status":{"type":"string","enum":["open","shipped","returned"]}},"required":["status"],"additionalProperties":false}`,
			Call:       taking(countOrders),
		},
		{
			Name: "current_time", Description: "The current time, UTC, as in RFC 3339.",
			Parameters: `{"type":"object","properties":{},"additionalProperties":false}`,
			Call: taking(func(context.Context, struct{}) (string, error) {
				return now.UTC().Format(time.RFC3339), nil
			}),
		},
	}
}

// taking makes a Call of a function with typed arguments. Members that A does not have are bad arguments.
func taking[A any](call func(context.Context, A) (string, error)) func(context.Context, []byte) (string, error) {
	return func(ctx context.Context, arguments []byte) (string, error) {
		var a A
		decoder := json.NewDecoder(bytes.NewReader(arguments))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&a); err != nil {
			return "", fmt.Errorf("%w: %w", ErrArguments, err)
		}
		if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
			return "", fmt.Errorf("%w: there is more than one value", ErrArguments)
		}
		return call(ctx, a)
	}
}

func partPrice(_ context.Context, a struct {
	Part string `json:"part"`
},
) (string, error) {
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(partsJSON, &parts); err != nil {
		return "", fmt.Errorf("read parts: %w", err)
	}
	part, ok := parts[a.Part]
	if !ok {
		return "", fmt.Errorf("%w: there is no part %q", ErrArguments, a.Part)
	}
	return string(part), nil
}

func countOrders(_ context.Context, a struct {
	Status string `json:"status"`
},
) (string, error) {
	if !slices.Contains([]string{"open", "shipped", "returned"}, a.Status) {
		return "", fmt.Errorf("%w: status is open, shipped or returned", ErrArguments)
	}
	orders, err := csv.NewReader(bytes.NewReader(ordersCSV)).ReadAll()
	if err != nil {
		return "", fmt.Errorf("read orders: %w", err)
	}
	n := 0
	for _, order := range orders[1:] { // the first line names the columns
		if order[2] == a.Status {
			n++
		}
	}
	return strconv.Itoa(n), nil
}
