package simulator

import (
	"slices"
	"strconv"
)

// failure is why a row ended in the error file; the zero value is no failure.
type failure struct {
	kind    string // the provider's FailureReason type
	details string // JSON
}

// reason is the JSON text that stands in error.message.
func (f failure) reason() []byte {
	return []byte(`{"type":"` + f.kind + `","details":` + f.details + `}`)
}

// failure decides a row's outcome from what befell it, seed, row and attempt: what a model server would refuse, and the failure rate.
func (b *batch) failure(r row, attempt uint8, odd oddities) failure {
	if f := odd.failure(); f.kind != "" {
		return f
	}
	if param, message := refusedParameter(r); param != "" {
		return httpFailure(400, openAIError(message, "invalid_request_error", param))
	}
	h := mix(hashBytes(b.Seed, r.line), uint64(attempt)+0xfa11)
	if unitFloat(h) >= b.FailureRate {
		return failure{}
	}
	switch mix(h, 1) % 8 {
	case 0:
		return httpFailure(503, "upstream connect error or disconnect/reset before headers")
	case 1:
		return httpFailure(500, openAIError("The server had an error while processing your request", "server_error", ""))
	case 2:
		return failure{kind: "NetworkError", details: `{"error":"{\"message\":\"error sending request\",\"sources\":[\"connection reset by peer\"]}"}`}
	case 3:
		return failure{kind: "Timeout", details: `{"error":"timed out waiting for the first byte"}`}
	default:
		return httpFailure(400, openAIError("Simulated failure of this row", "invalid_request_error", ""))
	}
}

// httpFailure sorts a status as the provider's retry rule does.
func httpFailure(status int, body string) failure {
	kind := "NonRetriableHttpStatus"
	if status >= 500 || slices.Contains([]int{404, 408, 429, 499}, status) {
		kind = "RetriableHttpStatus"
	}
	details := append([]byte(`{"status":`), strconv.Itoa(status)...)
	details = appendString(append(details, `,"body":`...), body)
	return failure{kind: kind, details: string(append(details, '}'))}
}

// openAIError is the body of a refused inference call.
func openAIError(message, kind, param string) string {
	out := appendString([]byte(`{"error":{"message":`), message)
	out = appendString(append(out, `,"type":`...), kind)
	out = append(out, `,"param":`...)
	if param == "" {
		out = append(out, "null"...)
	} else {
		out = appendString(out, param)
	}
	return string(append(out, `,"code":null}}`...))
}

// refusedParameter finds what every model server refuses when the row runs.
func refusedParameter(r row) (param, message string) {
	if t, ok := number(lookup(r.body, "temperature")); ok && (t < 0 || t > 2) {
		return "temperature", "temperature must be between 0 and 2"
	}
	for _, key := range []string{"max_tokens", "max_completion_tokens", "max_output_tokens", "n", "dimensions"} {
		value := lookup(r.body, key)
		if n, ok := number(value); !absent(value) && (!ok || n < 1 || n != float64(int64(n))) {
			return key, key + " must be a positive integer"
		}
	}
	if n, ok := number(lookup(r.body, "n")); ok && n > 128 {
		return "n", "n must be at most 128"
	}
	key := inputKey(r.endpoint())
	if value := lookup(r.body, key); absent(value) || string(value) == "[]" || (key != "prompt" && string(value) == `""`) {
		return key, key + " must not be empty"
	}
	if key == "messages" && lookup(r.body, key)[0] != '[' {
		return key, "messages must be an array"
	}
	return "", ""
}

func inputKey(endpoint string) string {
	switch endpoint {
	case "/v1/chat/completions", "/v1/messages":
		return "messages"
	case "/v1/completions":
		return "prompt"
	default:
		return "input"
	}
}
