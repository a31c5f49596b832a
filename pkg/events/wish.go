package events

import "time"

// WishKind is how a person wants a hold to end.
type WishKind string

// The wishes. What each of them does to money and rows is in docs/operations.md.
const (
	WishResume  WishKind = "resume"  // the cause is gone: go on by the protocol
	WishAdopt   WishKind = "adopt"   // that batch at the provider is this one: follow it
	WishAbandon WishKind = "abandon" // stop what the provider has of it, and plan its rows anew under another number
)

// UnknownDigest stands for a digest that the provider does not show.
const UnknownDigest = "unknown"

// Wish is what a person asked for, in the batch's state until it is done or refused: a replica of the submitter sees to it, whichever.
type Wish struct {
	Kind WishKind `json:"kind"`
	// ProviderBatchID names the remote batch that is meant; empty: whatever the provider has of the batch's path.
	ProviderBatchID string    `json:"provider_batch_id,omitempty"`
	Hold            string    `json:"hold"` // the code of the hold that the person saw
	At              time.Time `json:"at"`
}

// Endings are the wishes that can end a batch's hold of the given code; none for one that ends by itself. A job's hold can only be resumed.
func Endings(code string) []WishKind {
	switch code {
	case HoldKeyMissing, HoldBudget, HoldUnpriced:
		return nil
	case HoldBusOlder:
		return []WishKind{WishAdopt, WishAbandon}
	case HoldFence, HoldCapability:
		return []WishKind{WishResume, WishAdopt, WishAbandon}
	case HoldNeedsAttention:
		return []WishKind{WishResume, WishAbandon}
	default:
		return []WishKind{WishResume}
	}
}
