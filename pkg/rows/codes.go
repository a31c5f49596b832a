package rows

// Codes of a [Fault]. They are part of the wire contract: added to, never renamed. [Reasons] explains each with an
// example that the tests run.
const (
	CodeInvalidUTF8       = "invalid_utf8"         // CodeInvalidUTF8: a byte that is not UTF-8.
	CodeBOMInside         = "bom_inside"           // CodeBOMInside: a byte order mark that is not at the start of the input.
	CodeUTF16             = "utf16"                // CodeUTF16: the text is UTF-16 or UTF-32.
	CodeInvalidJSON       = "invalid_json"         // CodeInvalidJSON: the line is not JSON.
	CodeMultilineObject   = "multiline_object"     // CodeMultilineObject: the line is a piece of an object that spans lines.
	CodeLoneSurrogate     = "lone_surrogate"       // CodeLoneSurrogate: half of a surrogate pair.
	CodeNumberOutOfRange  = "number_out_of_range"  // CodeNumberOutOfRange: a number too big for a double.
	CodeTooDeep           = "too_deep"             // CodeTooDeep: nesting beyond MaxDepth.
	CodeDuplicateKey      = "duplicate_key"        // CodeDuplicateKey: a member of the envelope twice.
	CodeNotAnObject       = "not_an_object"        // CodeNotAnObject: JSON, but no object.
	CodeMissingCustomID   = "missing_custom_id"    // CodeMissingCustomID: no custom_id.
	CodeEmptyCustomID     = "empty_custom_id"      // CodeEmptyCustomID: custom_id is "".
	CodeCustomIDNotString = "custom_id_not_string" // CodeCustomIDNotString: custom_id is a number, null or such.
	CodeCustomIDTooLong   = "custom_id_too_long"   // CodeCustomIDTooLong: custom_id beyond MaxIDBytes.
	CodeMissingMethod     = "missing_method"       // CodeMissingMethod: no method.
	CodeMethodNotPost     = "method_not_post"      // CodeMethodNotPost: method is not POST in any case.
	CodeMissingURL        = "missing_url"          // CodeMissingURL: no url.
	CodeURLNotAllowed     = "url_not_allowed"      // CodeURLNotAllowed: url is not one of Rules.URLs.
	CodeMissingBody       = "missing_body"         // CodeMissingBody: no body.
	CodeBodyNotObject     = "body_not_object"      // CodeBodyNotObject: body is not an object.
	CodeMissingModel      = "missing_model"        // CodeMissingModel: no model in the body, no default.
	CodeModelNotString    = "model_not_string"     // CodeModelNotString: model is a number or such.
	CodeModelTooLong      = "model_too_long"       // CodeModelTooLong: model beyond MaxModelBytes.
	CodeModelNotAllowed   = "model_not_allowed"    // CodeModelNotAllowed: model is none of Rules.Models.
	CodeNoPlace           = "no_place"             // CodeNoPlace: the body has no place for one of Rules.Set.
	CodeStreamTrue        = "stream_true"          // CodeStreamTrue: the body asks for a stream.
	// CodeReasoningNotAllowed: a reasoning control that the url does not take.
	CodeReasoningNotAllowed = "reasoning_not_allowed"
	// CodeUnknownEffort: a reasoning effort that is none of the provider's seven words.
	CodeUnknownEffort = "unknown_effort"
	CodeRowTooLarge   = "row_too_large"  // CodeRowTooLarge: the row is beyond MaxRowBytes.
	CodeMisnamedField = "misnamed_field" // CodeMisnamedField: a required member under another name.
	CodeOtherVendor   = "other_vendor"   // CodeOtherVendor: a row made for another vendor's batches.
)

// Codes of a [Warning].
const (
	WarnDuplicateBodyKey  = "duplicate_body_key"   // WarnDuplicateBodyKey: a key twice in one object of the body; the last wins.
	WarnIntegerOutOfRange = "integer_out_of_range" // WarnIntegerOutOfRange: an integer beyond 64 bits; it becomes a float.
	WarnMissingMaxTokens  = "missing_max_tokens"   // WarnMissingMaxTokens: nothing bounds the answer, or its price.
	WarnTinyMaxTokens     = "tiny_max_tokens"      //nolint:gosec // no credential. WarnTinyMaxTokens: under 16 tokens; the answer is likely cut off.
)
