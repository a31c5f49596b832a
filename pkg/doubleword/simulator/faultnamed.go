package simulator

import "net/http"

// The refusals that the provider sends as 429, told apart by their text alone (contract, 1.4).
const (
	TextUploadSlots   = "Too many file uploads in progress. Please retry later."
	TextUploadTimeout = "Timed out waiting for upload slot. Please retry later."
	TextCapacity      = "Insufficient capacity for 24h completion window. Please try again later or use a longer completion window."
	TextUnverified    = "Unverified accounts can submit at most 24000 requests per 24h completion window."
)

// The two refusals of a create that are about money.
const (
	TextBalance     = "Insufficient balance. Please add credits to continue."
	TextSpendingCap = "API key spending cap exhausted. Raise the cap or use another key."
)

// UploadSlots refuses one upload with 429 because too many run. Like each of these, it can be changed before use:
// set Nth, Count or Share to choose other calls.
func UploadSlots() Fault {
	return Fault{Kind: FaultUploadRefused, Status: http.StatusTooManyRequests, Text: TextUploadSlots}
}

// CapacityFull refuses one create with 429 because the model has no room in the window.
func CapacityFull() Fault {
	return Fault{Kind: FaultCreateRefused, Status: http.StatusTooManyRequests, Text: TextCapacity}
}

// UnverifiedQuota refuses one create with 429 because an unverified account used its rows of the rolling window up.
func UnverifiedQuota() Fault {
	return Fault{Kind: FaultCreateRefused, Status: http.StatusTooManyRequests, Text: TextUnverified}
}

// NoBalance refuses one create with 402.
func NoBalance() Fault {
	return Fault{Kind: FaultCreateRefused, Status: http.StatusPaymentRequired, Text: TextBalance}
}

// SpendingCap refuses one create with 402 because the key's own cap is used up.
func SpendingCap() Fault {
	return Fault{Kind: FaultCreateRefused, Status: http.StatusPaymentRequired, Text: TextSpendingCap}
}

// WindowRefused refuses one create with 400 because a model of the file is not for that window.
func WindowRefused(model, window string) Fault {
	return Fault{
		Kind: FaultCreateRefused, Status: http.StatusBadRequest,
		Text: "Model '" + model + "' does not support completion window '" + window + "'. Allowed: 24h",
	}
}

// AuthFlake answers one call of the route with 401 although the key is good.
func AuthFlake(route string) Fault {
	return Fault{Kind: FaultStatus, Route: route, Status: http.StatusUnauthorized}
}

// BadGateway answers one call of the route with the edge's 502, which is HTML.
func BadGateway(route string) Fault {
	return Fault{Kind: FaultStatus, Route: route, Status: http.StatusBadGateway}
}

// Gone answers one call of the route with 410.
func Gone(route string) Fault { return Fault{Kind: FaultStatus, Route: route, Status: http.StatusGone} }
