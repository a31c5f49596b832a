package rows

import (
	"github.com/go-json-experiment/json/jsontext"
)

// Row is one good row. It may be read by many goroutines at once.
type Row struct {
	CustomID string    // CustomID is the decoded custom_id: "caf\u00e9" in the line is café here.
	URL      string    // URL is one of the allowed urls.
	Model    string    // Model is the effective model: the override, else the body's, else the default.
	Body     []byte    // Body holds the exact bytes of the body; it aliases the line unless a model or a setting was spliced in.
	Warnings []Warning // Warnings say what the provider accepts and the sender may regret; nil for most rows.
}

// Warning is something in a good row that may surprise its sender. It never stops a row.
type Warning struct {
	Code    string // Code is one of the Warn constants.
	Message string // Message is one plain sentence without content of the body.
	Column  int    // Column is the 1-based byte column in the line, 0 when there is no place.
}

// AppendTail appends everything of the wire line that follows its custom_id, without a line feed:
//
//	,"method":"POST","url":"/v1/chat/completions","body":{…}}
//
// Blocks store this, since the wire id is known only once a batch is planned. The body is copied byte for byte.
func (row Row) AppendTail(dst []byte) []byte {
	dst = append(dst, `,"method":"POST","url":`...)
	dst = appendQuoted(dst, row.URL)
	dst = append(dst, `,"body":`...)
	dst = append(dst, row.Body...)
	return append(dst, '}')
}

// AppendLine appends one line of an upload: wireID, JSON-escaped, then a tail from [Row.AppendTail]. The line ends in
// exactly one LF, without which the provider answers 500 (field report P59).
func AppendLine(dst []byte, wireID string, tail []byte) []byte {
	dst = append(dst, `{"custom_id":`...)
	dst = appendQuoted(dst, wireID)
	dst = append(dst, tail...)
	return append(dst, '\n')
}

// appendQuoted appends s as a JSON string. Invalid UTF-8 becomes U+FFFD, the only way to stay JSON; strings that came
// out of Parse hold none, and invalid UTF-8 is the only error AppendQuote knows.
func appendQuoted(dst []byte, s string) []byte {
	quoted, _ := jsontext.AppendQuote(dst, s)
	return quoted
}
