package rows

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// ErrSetting is returned when a setting is not written as one, or would make every row a bad one.
var ErrSetting = errors.New("not body.<path>=<value>")

// Setting is a member of the body that [Rules] give every row. It is made by [ParseSetting] and only read.
type Setting struct {
	Path  []string // Path leads to the member, from the body on: [Splice] says how.
	Value []byte   // Value is JSON without a line feed.
	Name  string   // Name is the path as it was written, with its "body.".
}

// ParseSetting reads "body.<path>=<value>", the path as [ParsePath] does: body.temperature=0. A value that is no JSON is text: body.user=me is
// body.user="me", and a number that is meant as text has quotes. The model is no setting, since batches are told apart by it: there are rules
// of its own for it. The error is an [ErrSetting] or an [ErrPath].
func ParseSetting(text string) (Setting, error) {
	name, value, found := strings.Cut(text, "=")
	path, err := ParsePath(name)
	switch {
	case !found:
		return Setting{}, fmt.Errorf("read %.80q: %w", text, ErrSetting)
	case err != nil:
		return Setting{}, err
	case path[0] != "body" || len(path) == 1:
		return Setting{}, fmt.Errorf("read %.80q: %w: only members of the body can be set", text, ErrSetting)
	case path[1] == "model":
		return Setting{}, fmt.Errorf("read %.80q: %w: the model has fields of its own, model and default_model", text, ErrSetting)
	}
	s := Setting{Path: path[1:], Value: []byte(strings.ReplaceAll(strings.Trim(value, " \t\r\n"), "\n", " ")), Name: name}
	if !jsontext.Value(s.Value).IsValid() {
		if s.Value, err = jsontext.AppendQuote(nil, value); err != nil {
			return Setting{}, fmt.Errorf("read the value of %s: %w: it is not UTF-8", name, ErrSetting)
		}
	}
	return s, CheckSettings([]Setting{s})
}

// CheckSettings returns an [ErrSetting] when the settings make even a row without any other member a bad one: they are in each other's way, ask for a
// stream, or hold what no row may hold.
func CheckSettings(settings []Setting) error {
	rules := DefaultRules()
	rules.Set = settings
	const sample = `{"custom_id":"a","method":"POST","url":"/v1/embeddings","body":{"model":"m"}}`
	if _, fault := Parse([]byte(sample), &rules); fault != nil {
		return fmt.Errorf("%w: %s", ErrSetting, fault.Message)
	}
	return nil
}

// withSettings is the envelope with the settings in its body; one without a body that could take them stays as it is, and is judged so.
func (env *envelope) withSettings(start int, r *Rules) (envelope, *Fault) {
	body := env.body.of(env.line)
	if !env.body.ok() || body[0] != '{' {
		return *env, nil
	}
	for i := range r.Set {
		s := splicer{text: body, value: r.Set[i].Value}
		if _, err := s.set(0, r.Set[i].Path); err != nil {
			return *env, env.noPlace(&r.Set[i], r)
		}
		body = s.end()
	}
	if len(body) > r.MaxRowBytes {
		id, faulty := env.customID(r)
		message := fmt.Sprintf("with the settings of its queue the body has %d bytes, the limit is %d", len(body), r.MaxRowBytes)
		return *env, newFault(CodeRowTooLarge, -1, message, "").withID(id, faulty == nil)
	}
	line := make([]byte, 0, len(env.line)+len(body))
	line = append(append(append(line, env.line[:env.body.at]...), body...), env.line[env.body.end:]...)
	return readEnvelope(line, start, r.MaxDepth), nil
}

func (env *envelope) noPlace(s *Setting, r *Rules) *Fault {
	id, faulty := env.customID(r)
	if faulty != nil {
		return faulty
	}
	message := "the body has no place for the setting " + s.Name + " of its queue"
	hint := "the path goes through a value that is no object, or names an element that its list does not have"
	return newFault(CodeNoPlace, env.body.at, message, hint).withID(id, true)
}

// judgeSet is judge for rows that get settings. Its columns are those of the line as it was received.
func (p *Parser) judgeSet(env *envelope, start int, twice bool, r *Rules) (Row, *Fault) {
	set, fault := env.withSettings(start, r)
	if fault != nil {
		return Row{}, fault
	}
	row, fault := p.judge(&set, r)
	if fault == nil {
		row.Warnings = set.warnings(row.URL, twice)
		for i := range row.Warnings {
			row.Warnings[i].Column = 0
		}
		return row, nil
	}
	if fault.Column <= env.body.at {
		return Row{}, fault
	}
	if _, own := p.judge(env, r); own != nil && own.Code == fault.Code {
		return Row{}, own
	}
	fault.Column = 0
	return Row{}, fault
}
