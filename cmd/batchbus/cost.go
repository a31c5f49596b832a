package main

import (
	"fmt"
	"strings"

	"github.com/batchbus/batchbus/pkg/events"
)

// simulatedBasis is the basis of costs that nobody paid.
const simulatedBasis = "simulated"

// costWords say what answers cost; empty while nobody knows.
func costWords(cost events.Money, currency string, billed events.Money) string {
	var words []string
	if currency != "" {
		words = append(words, "cost "+cost.String()+" "+currency+" by the price table")
	}
	if billed != 0 {
		words = append(words, "the provider billed "+billed.String())
	}
	return strings.Join(words, "; ")
}

// amountText is what was, or may be, used.
func amountText(a events.Amount) string {
	return fmt.Sprintf("%d tokens (%s)", a.Tokens, a.Money)
}

// allowanceText is what a person lets a job use.
func allowanceText(a *events.Allowance) string {
	var words []string
	if a.Money > 0 {
		words = append(words, a.Money.String())
	}
	if a.Tokens > 0 {
		words = append(words, fmt.Sprintf("%d tokens", a.Tokens))
	}
	return strings.Join(words, " and ")
}
