package doubleword

// bodyFacts picks the few things that the answers of all five urls say about themselves, and skips the rest unread.
type bodyFacts struct {
	r                                *reader
	model                            string
	choice, stop, incomplete, status string
	usage                            usageFacts
	errRaw                           []byte
}

func (f *bodyFacts) member(name []byte) (err error) {
	switch string(name) {
	case "model":
		f.model, _, err = f.r.text()
	case "choices": // chat and text completions
		err = f.r.first(f.choiceMember)
	case "stop_reason": // messages
		f.stop, _, err = f.r.text()
	case "incomplete_details": // responses
		err = f.r.nested(f.incompleteMember)
	case "status": // responses
		f.status, _, err = f.r.text()
	case "usage":
		f.usage.r = f.r
		err = f.r.nested(f.usage.member)
	case "error":
		f.errRaw, err = f.r.nonNull()
	default:
		err = f.r.skip()
	}
	return err
}

func (f *bodyFacts) choiceMember(name []byte) (err error) {
	if string(name) == "finish_reason" {
		f.choice, _, err = f.r.text()
		return err
	}
	return f.r.skip()
}

func (f *bodyFacts) incompleteMember(name []byte) (err error) {
	if string(name) == "reason" {
		f.incomplete, _, err = f.r.text()
		return err
	}
	return f.r.skip()
}

func (f *bodyFacts) finishReason() string {
	for _, reason := range []string{f.choice, f.stop, f.incomplete, f.status} {
		if reason != "" {
			return reason
		}
	}
	return ""
}

// usageFacts reads usage under the names of either family of urls.
type usageFacts struct {
	r     *reader
	usage Usage
}

func (f *usageFacts) member(name []byte) error {
	var target *int64
	switch string(name) {
	case "prompt_tokens", "input_tokens":
		target = &f.usage.PromptTokens
	case "completion_tokens", "output_tokens":
		target = &f.usage.CompletionTokens
	case "total_tokens":
		target = &f.usage.TotalTokens
	default:
		return f.r.skip()
	}
	raw, err := f.r.nonNull()
	if err != nil || raw == nil {
		return err
	}
	*target = max(0, wholeNumber(raw))
	f.usage.Present = true
	return nil
}

// total adds up where the provider did not.
func (f *usageFacts) total() Usage {
	u := f.usage
	if u.TotalTokens == 0 {
		u.TotalTokens = u.PromptTokens + u.CompletionTokens
	}
	return u
}
