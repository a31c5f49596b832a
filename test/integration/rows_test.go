package integration_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/batchbus/batchbus/pkg/client"
)

// chat is a row as a user writes it.
func chat(id, model, content string) string {
	return fmt.Sprintf(`{"custom_id":%q,"method":"POST","url":"/v1/chat/completions",`+
		`"body":{"model":%q,"messages":[{"role":"user","content":%q}],"max_tokens":64}}`, id, model, content)
}

// grouped are n rows spread over so many models, and their ids.
func grouped(n, models int) (jsonl string, ids []string) {
	var b strings.Builder
	for i := range n {
		id := fmt.Sprintf("row-%05d", i)
		ids = append(ids, id)
		b.WriteString(chat(id, fmt.Sprintf("model-%d", i%models), "hello") + "\n")
	}
	return b.String(), ids
}

// publish publishes rows and the seal as our own tools do.
func (s *stack) publish(job, jsonl string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	n, err := s.bus.Client.Publish(ctx, client.Input{Queue: queue, Job: job, Rows: strings.NewReader(jsonl), Digest: "input"})
	if err == nil {
		err = s.bus.Client.Seal(ctx, queue, job, n)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}
