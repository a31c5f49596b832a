package e2e_test

import (
	"path/filepath"
	"strings"
	"testing"
)

// guideSnippets are the result and retry snippets of the provider's public batch guide, but for the file names.
const guideSnippets = `
import json
with open('output.jsonl') as f:
    for line in f:
        result = json.loads(line)
        custom_id = result['custom_id']
        content = result['response']['body']['choices'][0]['message']['content']
        print(f"{custom_id}: {content}")
failed_ids = []
with open('errors.jsonl') as f:
    for line in f:
        error = json.loads(line)
        failed_ids.append(error['custom_id'])
print(f"Failed requests: {failed_ids}")
`

func TestTheGuidesSnippetsRunOnTheOpenAIFormat(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	example, err := filepath.Abs("../../examples/chat.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	bad := writeFile(t, filepath.Join(dir, "bad.jsonl"), `{"custom_id":"no-url","method":"POST","body":{"model":"m"}}`+"\n")
	batchbus(t, dir, nil, "run", example, bad, "--format", "openai", "--out", "out").want(t, 1)
	out := python(t, filepath.Join(dir, "out"), guideSnippets)
	for _, text := range []string{"chat-001: ", "Failed requests: ['no-url']"} {
		if !strings.Contains(out, text) {
			t.Errorf("the snippets do not print %q:\n%s", text, out)
		}
	}
}

func TestTheFlatFormatHasResponseBody(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	example, err := filepath.Abs("../../examples/embeddings.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	batchbus(t, dir, nil, "run", example, "--format", "flat", "--out", "out").want(t, 0)
	for _, line := range lines(t, filepath.Join(dir, "out", "output.jsonl")) {
		body, ok := line["response_body"].(map[string]any)
		if !ok || body["object"] != "list" || line["custom_id"] == "" || line["id"] == nil {
			t.Errorf("line %v", line)
		}
	}
}
