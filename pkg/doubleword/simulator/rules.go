package simulator

import (
	"net/http"
	"slices"
	"strings"
)

// maxCustomID is in bytes; the provider's text speaks of characters.
const maxCustomID = 64

// rules are the row checks after decoding, in the provider's order (contract, 2.4).
type rules struct {
	models      []string
	maxRowBytes int
}

// check refuses the nth non-blank row with the provider's status and text, or returns its model.
func (r rules) check(n int, e envelope) (string, error) {
	switch url := string(e.url); {
	case len(e.customID) > maxCustomID:
		return "", badRequest("Line %d: custom_id exceeds the limit of %d characters (got %d)", n, maxCustomID, len(e.customID))
	case slices.ContainsFunc(e.customID, controlByte):
		return "", badRequest("Line %d: custom_id contains invalid characters, only printable ASCII is allowed", n)
	case !strings.EqualFold(string(e.method), http.MethodPost):
		return "", badRequest("Line %d: Unsupported HTTP method '%s'. Only POST is supported", n, e.method)
	case !slices.Contains(endpoints(), url):
		return "", badRequest("Line %d: Unsupported URL '%s'. Allowed: %s", n, url, strings.Join(endpoints(), ", "))
	}
	model := lookup(e.body, "model")
	if len(model) == 0 || model[0] != '"' {
		return "", badRequest("Line %d: Missing 'model' field in the request body", n)
	}
	return r.checkBody(n, e, string(unquote(model)))
}

// controlByte tells what may not stand in an HTTP header value; bytes from 0x80 may.
func controlByte(b byte) bool { return (b < 0x20 && b != '\t') || b == 0x7f }

func (r rules) checkBody(n int, e envelope, model string) (string, error) {
	url := string(e.url)
	if !r.knows(model) {
		return "", refuse(http.StatusForbidden,
			"Line %d: Model '%s' has not been configured or is not available to user", n, model)
	}
	if kind := r.kind(model); kind != "" && kind != kindOf(url) {
		return "", badRequest("Line %d: Model '%s' is of type %s and does not support %s", n, model, kind, url)
	}
	if err := checkReasoning(n, url, e.body); err != nil {
		return "", err
	}
	if len(e.body) > r.maxRowBytes {
		return "", badRequest("Line %d: Request body is %d bytes, which exceeds the limit of %d bytes",
			n, len(e.body), r.maxRowBytes)
	}
	return model, nil
}

// knows is an exact, case-sensitive match.
func (r rules) knows(model string) bool {
	if len(r.models) == 0 {
		return !strings.HasPrefix(model, "unknown/")
	}
	return slices.Contains(r.models, model)
}

// kind is the model's type, read off its name; "" is the untyped model that fits every url.
func (r rules) kind(model string) string {
	switch name := strings.ToLower(model); {
	case strings.Contains(name, "embed"):
		return "EMBEDDINGS"
	case strings.Contains(name, "rerank"):
		return "RERANKER"
	case len(r.models) > 0:
		return "CHAT"
	default:
		return ""
	}
}

func kindOf(url string) string {
	if url == "/v1/embeddings" {
		return "EMBEDDINGS"
	}
	return "CHAT"
}

// checkReasoning knows which reasoning control belongs to which url, and the efforts that exist.
func checkReasoning(n int, url string, body []byte) error {
	var forbidden []string
	var effort []byte
	switch url {
	case "/v1/chat/completions":
		forbidden = []string{"chat_template_kwargs", "thinking", "thinking_token_budget", "reasoning"}
		effort = lookup(body, "reasoning_effort")
	case "/v1/responses":
		forbidden = []string{"chat_template_kwargs", "thinking", "thinking_token_budget", "reasoning_effort"}
		effort = lookup(body, "reasoning", "effort")
	case "/v1/completions":
		forbidden = []string{"chat_template_kwargs", "thinking", "thinking_token_budget", "reasoning", "reasoning_effort"}
	}
	for _, key := range forbidden {
		if lookup(body, key) != nil {
			return badRequest("Line %d: '%s' is not supported on %s", n, key, url)
		}
	}
	if absent(effort) {
		return nil
	}
	efforts := []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}
	if !slices.Contains(efforts, string(unquote(effort))) {
		return badRequest("Line %d: reasoning effort must be one of %s", n, strings.Join(efforts, ", "))
	}
	return nil
}
