package rig

import (
	"fmt"
	"strings"
)

// RowID is the custom_id of the i-th row of [Numbered].
func RowID(i int) string { return fmt.Sprintf("row-%06d", i) }

// Chat is a row as a user writes it, with the line feed.
func Chat(id, model, content string) string {
	return fmt.Sprintf(`{"custom_id":%q,"method":"POST","url":"/v1/chat/completions",`+
		`"body":{"model":%q,"messages":[{"role":"user","content":%q}],"max_tokens":32}}`+"\n", id, model, content)
}

// Numbered are n rows called RowID(0) and so on, their models in turn model-0 and so on: each model is a batch of its own.
func Numbered(n, models int) string {
	var text strings.Builder
	for i := range n {
		text.WriteString(Chat(RowID(i), fmt.Sprintf("model-%d", i%models), fmt.Sprintf("question %d", i)))
	}
	return text.String()
}

// token is the i-th token of a subject; empty when it has none.
func token(subject string, i int) string {
	tokens := strings.Split(subject, ".")
	if i >= len(tokens) {
		return ""
	}
	return tokens[i]
}
