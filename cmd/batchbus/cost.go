package main

import (
	"strings"

	"github.com/batchbus/batchbus/pkg/events"
)

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
