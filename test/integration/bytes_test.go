package integration_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
	"github.com/batchbus/batchbus/pkg/events"
)

// nasty are values that a decode and encode changes.
func nasty() []string {
	return []string{
		`9007199254740993`, `-0`, `1.0`, `1E5`, `1e-7`, `0.1e+1`, `100000000000000000000`, `123456789012345678901234567890.5`,
		`"<a href=\"x\">&amp;</a>"`, "\"raw \u2028 and \u2029\"", `"\u2028\u003c\u0026"`, `"\/ \b\f\n\r\t \\ \""`,
		`"é \u00e9 e\u0301 \u00E9"`, `"𝄞 \ud834\udd1e \uD834\uDD1E"`, `"\u0000 \u007f"`, "\"\u007f \ufeff \ufffd\"",
		`null`, `[null, true ,false,[],{ }]`, `{"b":1,"a":2,"":3,"b ":{"z":null,"a":[1.50]}}`, `{"dup":1,"dup":2}`,
		`{"unknown": {"key with \"quotes\"": [ 1 , 2 ]}}`, `[[[[[[[[[[1]]]]]]]]]]`, `""`, `"nul` + strings.Repeat(`\\`, 31) + `"`,
	}
}

// value draws JSON with the freedom that the grammar gives and decoders lose.
func value(depth int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		gap := rapid.SampledFrom([]string{"", "", " ", "  ", "\t"})
		kinds := []string{"nasty", "text", "number"}
		if depth > 0 {
			kinds = append(kinds, "array", "object")
		}
		switch rapid.SampledFrom(kinds).Draw(t, "kind") {
		case "text":
			return text().Draw(t, "text")
		case "number":
			return rapid.StringMatching(`-?(0|[1-9][0-9]{0,25})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,2})?`).Draw(t, "number")
		case "array":
			items := rapid.SliceOfN(value(depth-1), 0, 4).Draw(t, "array")
			return "[" + gap.Draw(t, "gap") + strings.Join(items, gap.Draw(t, "gap")+","+gap.Draw(t, "gap")) + "]"
		case "object":
			return "{" + gap.Draw(t, "gap") + strings.Join(members(depth-1).Draw(t, "members"), gap.Draw(t, "gap")+",") + "}"
		default:
			return rapid.SampledFrom(nasty()).Draw(t, "nasty")
		}
	})
}

func members(depth int) *rapid.Generator[[]string] {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
		return text().Draw(t, "key") + rapid.SampledFrom([]string{":", " :", ": "}).Draw(t, "colon") + value(depth).Draw(t, "value")
	}), 0, 4)
}

// text is a JSON string in one of its many spellings.
func text() *rapid.Generator[string] {
	pieces := []string{`a`, ` `, `<`, `&`, `'`, "\u2028", `\u2028`, `\"`, `\\`, `\/`, `\n`, `\u0041`, `é`, `\u00e9`, `𝄞`, `\ud834\udd1e`, `日本`}
	return rapid.Map(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 12), func(chosen []string) string {
		return `"` + strings.Join(chosen, "") + `"`
	})
}

// bodies are bodies by custom_id. Their own members stand before, between and behind those that make the row run.
func bodies() map[string]string {
	all := map[string]string{}
	for i, v := range nasty() {
		all[fmt.Sprintf("nasty-%d", i)] = `{"x":` + v + ` ,"model":"m", "messages" :[{"content":"c","role":"user","y":` + v + `}],"z": ` + v + `}`
	}
	all["members"] = `{"model":"other","temperature":1.0,"temperature":1E0,"stop":null,"unknown <&>":{"z":1,"a":2},"messages":[],"model":"m","messages":[{"role":"user","content":"c"}]}`
	all["image"] = `{"model":"m","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,` +
		strings.Repeat("/9j+", 5<<18) + `"}}]}]}` // five megabytes, field report P54
	for i := range 150 {
		v := value(3).Example(i)
		all[fmt.Sprintf("drawn-%d", i)] = `{ "meta":` + v + `,"messages":[{"role":"user","content":"c"}],"model":"m","last":` + v + `}`
	}
	return all
}

// sameBytes compares by SHA-256, and shows the beginning of what differs.
func sameBytes(t interface{ Errorf(string, ...any) }, what, got, want string) {
	if g, w := sha256.Sum256([]byte(got)), sha256.Sum256([]byte(want)); g != w {
		t.Errorf("%s: %d bytes with SHA-256 %x, want %d with %x\n%.300s\n%.300s", what, len(got), g, len(want), w, got, want)
	}
}

func TestBodiesAndAnswersPassByteForByte(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Config{})
	published := bodies()
	answered := func(id string) string { return echoed(published[id]) }
	w.provider.answer = answered
	s := w.start()
	var lines []string
	var ids []string
	for id, body := range published {
		ids = append(ids, id)
		// Envelope keys in another order, white space around them and a key that is not the provider's.
		lines = append(lines, `{ "body" : `+body+` ,"note":"ours" , "url":"/v1/chat/completions","custom_id":"`+id+`","method":"POST"}`)
	}
	s.publish("bytes", strings.Join(lines, "\n"))
	s.awaitEvent(events.JobDone, "bytes")
	s.wantAllOnce("bytes", ids)
	sent := w.provider.sent()
	for id, r := range s.results("bytes") {
		sameBytes(t, "body of "+id, sent[id], published[id])
		sameBytes(t, "answer to "+id, string(r.Response), answered(id))
		if !bytes.Contains(r.Raw, r.Response) {
			t.Errorf("row %s: the event does not hold the answer", id)
		}
	}
	wantPaid(t, s.ledger(), 1, len(ids))
}
