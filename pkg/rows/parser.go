package rows

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// Parser judges one line after another and keeps its decoder between them, so that a good row costs one or two small
// allocations. The zero value is ready. A Parser is not safe for concurrent use; give each goroutine its own. It refers
// to the last line until the next call.
type Parser struct {
	dec   jsontext.Decoder
	buf   bytes.Buffer
	model string // model is the last model seen: neighbours mostly share one, and so share its string.
}

// Parse judges one line without its line feed with a fresh [Parser]. It is pure and never panics. Exactly one of the
// results is set. r may be nil for [DefaultRules]; zero fields of r mean their defaults.
func Parse(line []byte, r *Rules) (Row, *Fault) {
	return new(Parser).Parse(line, r)
}

// Parse is the function [Parse] with the parser's memory reused. The row's Body aliases line (unless a model or a
// setting was spliced in), everything else is copied. JSON white space around the object is allowed; a line feed anywhere is not,
// because the line has to stay one line on the wire.
func (p *Parser) Parse(line []byte, r *Rules) (Row, *Fault) {
	r = r.filled()
	if len(line) > r.MaxRowBytes {
		return Row{}, TooLarge(line, int64(len(line)), r)
	}
	start, twice, fault := p.grammar(line, r.MaxDepth)
	if fault != nil {
		return Row{}, fault.withID(recoverID(line, fault.Column-1, r.MaxIDBytes))
	}
	env := readEnvelope(line, start, r.MaxDepth)
	if twice {
		if fault := repeatedMember(line, start); fault != nil {
			return Row{}, fault.withID(recoverID(line, len(line), r.MaxIDBytes))
		}
	}
	if len(r.Set) > 0 {
		return p.judgeSet(&env, start, twice, r)
	}
	row, fault := p.judge(&env, r)
	if fault != nil {
		return Row{}, fault
	}
	row.Warnings = env.warnings(row.URL, twice)
	return row, nil
}

// TooLarge returns the fault of a row whose line has size bytes, more than r.MaxRowBytes. head is the line or as much
// of its beginning as is at hand ([Reader] hands it out); the custom_id is looked for there.
func TooLarge(head []byte, size int64, r *Rules) *Fault {
	r = r.filled()
	message := fmt.Sprintf("the row has %d bytes, the limit is %d", size, r.MaxRowBytes)
	fault := newFault(CodeRowTooLarge, -1, message, "shorten the body, for instance by smaller images or fewer of them")
	return fault.withID(recoverID(head, len(head), r.MaxIDBytes))
}

// grammar checks that line is exactly one JSON object and returns the offset of its opening brace. twice tells that
// some object has a name twice; the rest of the grammar holds all the same.
func (p *Parser) grammar(line []byte, maxDepth int) (start int, twice bool, fault *Fault) {
	if at := bytes.IndexByte(line, '\n'); at >= 0 && encodingOf(line) == "" {
		return 0, false, newFault(CodeMultilineObject, at, "the object goes on in the next line", hintPrepare)
	}
	at, err := p.scan(line)
	if errors.Is(err, jsontext.ErrDuplicateName) {
		twice = true
		at, err = p.scan(line, jsontext.AllowDuplicateNames(true))
	}
	start = len(line) - len(bytes.TrimLeft(line, " \t\r"))
	if err != nil {
		if deepAt := abyss(line[:min(at+1, len(line))], maxDepth); deepAt > 0 {
			return start, twice, deepFault(deepAt, maxDepth)
		}
		return start, twice, syntaxFault(line, at, err)
	}
	if line[start] != '{' {
		message := "the row is JSON, but not an object"
		return start, twice, newFault(CodeNotAnObject, start, message, "each line is one object {…}; an array of rows is not JSONL; `batchbus prepare` makes lines of it")
	}
	return start, twice, nil
}

// errTrailing is what scan returns when something follows the value.
var errTrailing = errors.New("more text after the value")

// scan checks the grammar of line with jsontext. On an error it returns its 0-based offset.
func (p *Parser) scan(line []byte, opts ...jsontext.Options) (int, error) {
	p.buf = *bytes.NewBuffer(line)
	p.dec.Reset(&p.buf, opts...)
	_, err := p.dec.ReadValue()
	if err != nil {
		if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
			return int(syntax.ByteOffset), err
		}
		return len(line), err // io.EOF: the line is blank
	}
	end := int(p.dec.InputOffset())
	for end < len(line) && isSpace(line[end]) {
		end++
	}
	if end < len(line) {
		return end, errTrailing
	}
	return 0, nil
}

// intern returns name as a string, the previous one when it is equal.
func (p *Parser) intern(name []byte) string {
	if string(name) != p.model {
		p.model = string(name)
	}
	return p.model
}
