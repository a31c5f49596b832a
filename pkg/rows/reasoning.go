package rows

import "slices"

// reasoningFacts hold where a body says how much the model shall think; of a duplicate the last one.
type reasoningFacts struct {
	template  span // template is chat_template_kwargs.
	thinking  span
	budget    span // budget is thinking_token_budget.
	reasoning span
	effort    span // effort is reasoning_effort.
}

func (f *reasoningFacts) slot(name string) *span {
	switch name {
	case "chat_template_kwargs":
		return &f.template
	case "thinking":
		return &f.thinking
	case "thinking_token_budget":
		return &f.budget
	case "reasoning":
		return &f.reasoning
	case "reasoning_effort":
		return &f.effort
	}
	return nil
}

// judgeReasoning refuses the controls that the provider refuses whatever the model is (doubleword-contract.md 2.4, rule
// 8). What depends on the model, what the contract leaves open, and null, is the provider's to judge.
func (env *envelope) judgeReasoning(url string) *Fault {
	f := &env.facts.reasoning
	if *f == (reasoningFacts{}) {
		return nil
	}
	switch url {
	case "/v1/chat/completions":
		if fault := env.refuseControls(url, `write "reasoning_effort":"low" (`+effortWords+`) instead`, f.template, f.thinking, f.budget, f.reasoning); fault != nil {
			return fault
		}
		return env.judgeEffort("reasoning_effort", f.effort)
	case "/v1/completions":
		hint := "leave it out, or use /v1/chat/completions with reasoning_effort"
		return env.refuseControls(url, hint, f.template, f.thinking, f.budget, f.reasoning, f.effort)
	case "/v1/responses":
		return env.judgeEffort("reasoning.effort", env.nested(f.reasoning, "effort"))
	}
	return nil
}

// refuseControls is the fault of the first of the members, in the body's order, that is there and not null.
func (env *envelope) refuseControls(url, hint string, controls ...span) *Fault {
	at := 0
	for _, c := range controls {
		if env.given(c) && (at == 0 || c.at < at) {
			at = c.at
		}
	}
	if at == 0 {
		return nil
	}
	return newFault(CodeReasoningNotAllowed, at, "a reasoning control that "+url+" does not take", hint)
}

// efforts are the provider's words for how much a model shall think.
func efforts() []string {
	return []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}
}

const effortWords = "none, minimal, low, medium, high, xhigh or max"

func (env *envelope) judgeEffort(name string, effort span) *Fault {
	if !env.given(effort) {
		return nil
	}
	if word, ok := text(effort.of(env.line)); ok && slices.Contains(efforts(), string(word)) {
		return nil
	}
	return newFault(CodeUnknownEffort, effort.at, name+" is not one of the provider's words", "write "+effortWords)
}

// given reports whether a member is there and not null.
func (env *envelope) given(s span) bool { return s.ok() && string(s.of(env.line)) != "null" }

// nested returns the last member called name of the object that stands at s, if an object stands there.
func (env *envelope) nested(s span, name string) (found span) {
	if !s.ok() || env.line[s.at] != '{' {
		return span{}
	}
	for i := s.at + 1; ; {
		m, _, ok := nextMember(env.line, i)
		if !ok {
			return found
		}
		i = valueEnd(env.line, m.at, nil)
		if m.is(name) {
			found = span{m.at, i}
		}
	}
}
