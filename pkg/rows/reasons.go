package rows

import "strings"

// Reason explains one code to the sender of a row.
type Reason struct {
	Code    string // Code is a Code or a Warn constant.
	Warning bool   // Warning is true when the row passes all the same.
	Meaning string // Meaning is a plain sentence.
	Example string // Example is a line that gets the code under [Reason.Rules]; "" for row_too_large, whose is 10 MiB long.
}

// Rules are those of the example: [DefaultRules] but for what a queue must say for its rows to get the code.
func (r Reason) Rules() *Rules {
	rules := DefaultRules()
	switch r.Code {
	case CodeModelNotAllowed:
		rules.Models = []string{"model-a", "model-b"}
	case CodeNoPlace:
		rules.Set = []Setting{{Path: []string{"metadata", "team"}, Value: []byte(`"a"`), Name: "body.metadata.team"}}
	}
	return &rules
}

// Reasons returns every code of this package with its meaning and an example, in the order in which a row is judged.
// The documentation for publishers is checked against it, and the tests run the examples.
func Reasons() []Reason {
	return append(append(textReasons(), envelopeReasons()...), bodyReasons()...)
}

const (
	exampleHead = `{"custom_id":"a","method":"POST","url":"/v1/chat/completions","body":`
	exampleBody = exampleHead + `{"model":"m","max_tokens":99,`
)

// textReasons are those that the text of the line gives, before any member counts.
func textReasons() []Reason {
	return []Reason{
		{CodeRowTooLarge, false, "The line, or the body with its model, is longer than the limit (10 MiB).", ""},
		{CodeUTF16, false, "The text is UTF-16 or UTF-32; batchbus and the provider read UTF-8.", "\xff\xfe{\x00"},
		{CodeInvalidUTF8, false, "A byte is not UTF-8; the provider refuses the whole file for it.", exampleBody + "\"user\":\"\xff\"}}"},
		{CodeBOMInside, false, "A byte order mark stands anywhere but in the first three bytes of the input.", bom + exampleBody + `"n":1}}`},
		{CodeMultilineObject, false, "An object spans lines, or the line is a piece of one.", "{\n  \"custom_id\": \"a\",\n  \"method\": \"POST\"\n}"},
		{CodeLoneSurrogate, false, "A string holds half of a surrogate pair.", exampleBody + `"user":"\ud83d"}}`},
		{CodeInvalidJSON, false, "The line is not JSON: typographic quotes, NaN, a comma too many, a raw control character, …", exampleBody + `"temperature":NaN}}`},
		{CodeNotAnObject, false, "The line is JSON, but not an object.", `[1,2]`},
		{CodeDuplicateKey, false, "A member of the row stands there twice.", `{"custom_id":"a","custom_id":"b"}`},
	}
}

func envelopeReasons() []Reason {
	return []Reason{
		{CodeMisnamedField, false, "A required member is missing and one with a similar name is there.", `{"customId":"a","method":"POST","url":"/v1/embeddings","body":{"model":"m"}}`},
		{CodeOtherVendor, false, "The row is made for another vendor's batches.", `{"custom_id":"a","params":{"model":"m"}}`},
		{CodeMissingCustomID, false, "There is no custom_id.", `{"method":"POST","url":"/v1/embeddings","body":{"model":"m"}}`},
		{CodeCustomIDNotString, false, "custom_id is a number, null or another value that is no string.", `{"custom_id":7}`},
		{CodeEmptyCustomID, false, "custom_id is the empty string.", `{"custom_id":""}`},
		{CodeCustomIDTooLong, false, "custom_id is longer than the limit (1024 bytes). The row is rejected as a dead letter, since a result would carry the id.", `{"custom_id":"` + strings.Repeat("x", DefaultMaxIDBytes+1) + `"}`},
		{CodeMissingMethod, false, "There is no method.", `{"custom_id":"a","url":"/v1/embeddings","body":{"model":"m"}}`},
		{CodeMethodNotPost, false, "method is not POST (in upper or lower case).", `{"custom_id":"a","method":"GET"}`},
		{CodeMissingURL, false, "There is no url.", `{"custom_id":"a","method":"POST","body":{"model":"m"}}`},
		{CodeURLNotAllowed, false, "url is not exactly one of the allowed paths.", `{"custom_id":"a","method":"POST","url":"https://example.com/v1/embeddings"}`},
		{CodeMissingBody, false, "There is no body.", `{"custom_id":"a","method":"POST","url":"/v1/embeddings"}`},
	}
}

func bodyReasons() []Reason {
	return []Reason{
		{CodeBodyNotObject, false, "body is not an object.", exampleHead + `"{}"}`},
		{CodeTooDeep, false, "Objects and arrays are nested deeper than the limit (127, the row itself included).", exampleBody + `"x":` + strings.Repeat("[", DefaultMaxDepth-1) + strings.Repeat("]", DefaultMaxDepth-1) + "}}"},
		{CodeNumberOutOfRange, false, "A number is too big for a double.", exampleBody + `"seed":1e400}}`},
		{CodeNoPlace, false, "The queue's policy sets a member of the body (`set`), here `body.metadata.team=a`, and the body has no place for it.", exampleBody + `"metadata":"x"}}`},
		{CodeStreamTrue, false, "The body asks for a stream; a batch row has one answer.", exampleBody + `"stream":true}}`},
		{CodeReasoningNotAllowed, false, "The body has a reasoning control that its url does not take: on chat chat_template_kwargs, thinking, thinking_token_budget or reasoning; on completions any.", exampleBody + `"thinking":{"type":"enabled"}}}`},
		{CodeUnknownEffort, false, "reasoning_effort of a chat row, or reasoning.effort of a responses row, is none of the provider's seven words.", exampleBody + `"reasoning_effort":"huge"}}`},
		{CodeModelNotString, false, "model is not a string.", exampleHead + `{"model":1}}`},
		{CodeMissingModel, false, "The body has no model (absent, null or empty) and there is no default.", exampleHead + `{"messages":[]}}`},
		{CodeModelTooLong, false, "model is longer than the limit (256 bytes).", exampleHead + `{"model":"` + strings.Repeat("m", DefaultMaxModelBytes+1) + `"}}`},
		{CodeModelNotAllowed, false, "The queue's policy lists the models that a row may have (`models`), here `model-a` and `model-b`, and the row has another one in the end: its own, or the one that the policy gives it.", exampleBody + `"n":1}}`},
		{WarnDuplicateBodyKey, true, "A key stands twice in one object of the body; the last one wins at the provider.", exampleBody + `"n":1,"n":2}}`},
		{WarnIntegerOutOfRange, true, "An integer needs more than 64 bits; the bytes are passed on, the provider makes a float of them.", exampleBody + `"seed":18446744073709551616}}`},
		{WarnTinyMaxTokens, true, "Fewer than 16 tokens are allowed; the answer is likely cut off.", exampleHead + `{"model":"m","max_tokens":1}}`},
		{WarnMissingMaxTokens, true, "Nothing bounds the length of the answer, nor its price.", exampleHead + `{"model":"m"}}`},
	}
}
