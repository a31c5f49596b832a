package rows_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/batchbus/batchbus/pkg/rows"
)

const (
	good = head + `{"model":"m","max_tokens":99}}`
	next = `{"custom_id":"b","method":"POST","url":"/v1/embeddings","body":{"model":"m"}}`
	// pretty is an object as formatters write it, one of its lines an object too.
	pretty = "{\n  \"custom_id\": \"p\",\n  \"method\": \"POST\",\n\n  \"body\": {\n    \"messages\": [\n" +
		"      {\"role\": \"user\"},\r\n      {\n        \"n\": [\n          1,\n          -2\n        ]\n      }\n    ]\n  }\n}"
	leading = "{ \"custom_id\": \"p\"\n, \"body\":\n{ \"model\": \"m\"\n, \"x\": null\n} }"
)

// verdicts judges a payload as ingest does: "number:code" or "number:ok", and the custom_id in brackets.
func verdicts(payload string) string {
	lines, _ := rows.Payload([]byte(payload))
	var out []string
	for line := range lines {
		row, fault := rows.Parse(line.Bytes, nil)
		out = append(out, strings.Join([]string{strings.SplitN(joined(one(line)), ":", 2)[0], ":", verdict(row, fault)}, ""))
	}
	return strings.Join(out, " ")
}

func one(line rows.Line) func(func(rows.Line) bool) {
	return func(yield func(rows.Line) bool) { yield(line) }
}

func verdict(row rows.Row, fault *rows.Fault) string {
	if fault == nil {
		return "ok(" + row.CustomID + ")"
	}
	return fault.Code + "(" + fault.CustomID + ")"
}

func TestAnObjectOverSeveralLinesGetsOneVerdict(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ payload, want string }{
		"P88 between rows":                   {good + "\n" + pretty + "\n" + next, "1:ok(a) 2:multiline_object(p) 18:ok(b)"},
		"two of them":                        {pretty + "\n" + pretty, "1:multiline_object(p) 17:multiline_object(p)"},
		"commas in front":                    {leading + "\n" + next, "1:multiline_object(p) 6:ok(b)"},
		"the elements of a pretty array":     {"[\n" + pretty + ",\n" + pretty + "\n]", "1:multiline_object() 2:multiline_object(p) 18:multiline_object(p) 34:multiline_object()"},
		"one that is cut short by a row":     {"{\n\"custom_id\": \"p\",\n" + good, "1:multiline_object() 3:ok(a)"},
		"its first line names it":            {"{\"custom_id\": \"p\",\n\"x\": [\n" + good, "1:multiline_object(p) 3:ok(a)"},
		"rows inside an array keep to it":    {"{\"x\": [\n" + good + "\n]}\n" + next, "1:multiline_object() 2:ok(a) 3:multiline_object() 4:ok(b)"},
		"a value that is a row by itself":    {"{\"x\":\n" + good + "\n}\n" + next, "1:multiline_object() 2:ok(a) 3:multiline_object() 4:ok(b)"},
		"an object without comma behind it":  {"{\"x\": [\n{\"n\":1}\n{\"n\":2}\n]}", "1:multiline_object() 3:missing_custom_id() 4:multiline_object()"},
		"a row cut short before another":     {good[:40] + "\n" + next, "1:invalid_json(a) 2:ok(b)"},
		"text behind the end":                {"{\n\"custom_id\": \"p\"\n} x\n" + good, "1:multiline_object(p) 4:ok(a)"},
		"a string that goes over a line end": {"{\n\"custom_id\": \"p\n\"}\n" + good, "1:multiline_object() 2:multiline_object() 3:invalid_json() 4:ok(a)"},
		"at the end of the input":            {good + "\n{\n\"x\": {", "1:ok(a) 2:multiline_object()"},
	} {
		if got := verdicts(c.payload); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestAnObjectOverSeveralLinesIsGatheredUpToTheReadersLimit(t *testing.T) {
	t.Parallel()
	input := "{\n\"x\": [\n" + strings.Repeat("1,\n", 1000) + "2]}\n" + good
	r := rows.NewReader(strings.NewReader(input), 500)
	most, count := 0, 0
	var last rows.Line
	for line, err := r.Next(); err == nil; line, err = r.Next() {
		most, count, last = max(most, len(line.Bytes)), count+1, line
	}
	if most > 500 || string(last.Bytes) != good || last.Number != 1004 || count < 3 {
		t.Errorf("%d lines of at most %d bytes, the last %d:%s", count, most, last.Number, last.Bytes)
	}
}

func TestAMessageInUTF16IsRefusedOnce(t *testing.T) {
	t.Parallel()
	wide := func(text string, order func(byte) []byte) string {
		var out []byte
		for i := range len(text) {
			out = append(out, order(text[i])...)
		}
		return string(out)
	}
	little := wide(good+"\r\n"+next+"\n", func(c byte) []byte { return []byte{c, 0} })
	big := wide(good+"\n"+next, func(c byte) []byte { return []byte{0, c} })
	for name, c := range map[string]struct{ payload, want string }{
		"P77 little endian":               {little, "1:utf16()"},
		"little endian with its mark":     {"\xff\xfe" + little, "1:utf16()"},
		"big endian":                      {big, "1:utf16()"},
		"big endian with its mark":        {"\xfe\xff" + big, "1:utf16()"},
		"a first line that looks like it": {"\xff\xfe{\n" + good, "1:utf16() 2:ok(a)"},
		"another that looks like it":      {"\xfe\xff\x00\n" + good, "1:utf16() 2:ok(a)"},
	} {
		if got := verdicts(c.payload); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// FuzzPayload: whatever stands around it, a line that is a good row is yielded as it is, and no line is lost.
func FuzzPayload(f *testing.F) {
	for _, seed := range []string{pretty, leading, "{\"x\":[\n" + good + "\n]}", "{\"x\":\n" + next + "\n,\"y\":1\n}", "\xfe\xff\x00\n" + good, "{[\n}"} {
		f.Add([]byte(seed+"\n"+good), true)
		f.Add([]byte(good+"\n"+seed+"\n"+next), false)
	}
	f.Fuzz(func(t *testing.T, payload []byte, around bool) {
		if around { // most inputs have no good row by themselves
			payload = bytes.ReplaceAll(payload, []byte("\n"), []byte("\n"+good+"\n"))
		}
		lines, compacted := rows.Payload(payload)
		if compacted {
			for line := range lines {
				if bytes.IndexByte(line.Bytes, '\n') >= 0 {
					t.Fatalf("%q", line.Bytes)
				}
			}
			return
		}
		alone := map[int]string{}
		covered, last := 0, 0
		for line := range lines {
			if line.Number <= last {
				t.Fatalf("line %d comes behind line %d", line.Number, last)
			}
			last = line.Number + bytes.Count(line.Bytes, []byte("\n"))
			alone[line.Number] = string(line.Bytes)
			for range rows.Lines(line.Bytes) {
				covered++
			}
		}
		all := 0
		for line := range rows.Lines(payload) {
			all++
			if _, fault := rows.Parse(line.Bytes, nil); fault == nil && alone[line.Number] != string(line.Bytes) {
				t.Fatalf("line %d is a row, and part of %q", line.Number, alone[line.Number])
			}
		}
		if all != covered {
			t.Fatalf("%d lines of %d", covered, all)
		}
	})
}
