package prepare

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/batchbus/batchbus/pkg/rows"
)

// Counts are what was found and what was changed.
type Counts struct {
	Files   int `json:"files"`
	Rows    int `json:"rows"`    // Rows were found, bad ones included.
	Written int `json:"written"` // Written are the good ones.
	Bad     int `json:"bad"`
	Changed int `json:"changed"` // Changed are the written ones with other bytes than they had, white space around them aside.

	Unpacked int `json:"unpacked"`  // Unpacked files were compressed.
	Recoded  int `json:"recoded"`   // Recoded files were UTF-16 or UTF-32.
	Marks    int `json:"marks"`     // Marks are byte order marks that were left out.
	LineEnds int `json:"line_ends"` // LineEnds are those with a carriage return.
	Arrays   int `json:"arrays"`    // Arrays were taken apart.
	Joined   int `json:"joined"`    // Joined rows stood on several lines.
	Cut      int `json:"cut"`       // Cut lines held several rows.
	Commas   int `json:"commas"`    // Commas behind rows were left out.
	IDs      int `json:"ids"`       // IDs were given.
	Models   int `json:"models"`    // Models were put into bodies without one.
	Set      int `json:"set"`       // Set and Dropped count members, not rows.
	Dropped  int `json:"dropped"`
	Images   int `json:"images"`
	Doubtful int `json:"doubtful"` // Doubtful rows were written with a warning.
}

// Finding is what is wrong with a row, or with the text of a file.
type Finding struct {
	Line, Column  int // Column is 0 when there is no place.
	Code          string
	Message, Hint string
	Warning       bool // Warning says that the row was written all the same.
}

// Preparer turns files into rows. It is not safe for concurrent use.
type Preparer struct {
	Edits  Edits
	Rules  *rows.Rules             // Rules are what a row must be after the edits.
	Limit  int                     // Limit is the longest row that is held, in bytes.
	Put    func(line []byte) error // Put takes a good row without a line feed; the bytes are valid until it returns.
	Found  func(Finding)           // Found takes what is wrong.
	Counts Counts                  // Counts grow with every file.
	parser rows.Parser
}

// File prepares what r holds; packed says that it was compressed. It blocks as r does. Bad rows and broken text are findings; the error is that of
// reading, of Put, or ctx's cause.
func (p *Preparer) File(ctx context.Context, r io.Reader, packed bool) error {
	p.Counts.Files++
	if packed {
		p.Counts.Unpacked++
	}
	in := bufio.NewReaderSize(r, sniffed)
	if name := encodingOf(in); name != "" {
		p.Counts.Recoded++
		in = bufio.NewReaderSize(newDecoder(in, name), sniffed)
	}
	ends := &counter{from: in}
	s := source{
		scanner: scanner{in: bufio.NewReaderSize(ends, sniffed), limit: p.Limit, line: 1, column: 1}, counts: &p.Counts,
		each: func(found piece) error {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return p.row(&found)
		},
	}
	err := s.read()
	p.Counts.LineEnds += ends.ends
	if broken, ok := errors.AsType[*textError](err); ok {
		p.Counts.Bad++
		p.Found(Finding{Line: broken.line, Code: CodeText, Message: broken.text})
		return nil
	}
	return err
}

// row judges one row, changes it and hands it on.
func (p *Preparer) row(found *piece) error {
	p.Counts.Rows++
	before := p.Counts
	line, fault := p.change(found)
	if fault != nil && !mayPass(fault) {
		p.Counts = before // what was changed in vain does not count
		p.Counts.Bad++
		p.find(found, fault, false)
		return nil
	}
	if fault != nil {
		p.Counts.Doubtful++
		p.find(found, fault, true)
	}
	p.Counts.Written++
	if !bytes.Equal(line, found.text) {
		p.Counts.Changed++
	}
	return p.Put(line)
}

// change is the row as it is written, and what is wrong with it.
func (p *Preparer) change(found *piece) ([]byte, *rows.Fault) {
	if found.size > 0 {
		return nil, rows.TooLarge(found.text, found.size, &rows.Rules{MaxRowBytes: p.Limit})
	}
	line := found.text
	if bytes.IndexByte(line, '\n') >= 0 {
		line = found.spaced()
	}
	if _, fault := p.parser.Parse(line, p.grammar()); fault != nil && isGrammar(fault.Code) {
		return nil, fault
	}
	if bytes.IndexByte(found.text, '\n') >= 0 {
		line = compact(line)
		p.Counts.Joined++
	}
	changed, fault := p.Edits.change(line, found, &p.Counts)
	if fault == nil {
		_, fault = p.parser.Parse(changed, p.Rules)
	}
	return changed, fault
}

// grammar are the rules for a row before the edits, which may make it shorter.
func (p *Preparer) grammar() *rows.Rules {
	rules := *p.Rules
	rules.MaxRowBytes = p.Limit
	return &rules
}

// isGrammar reports whether a fault is one of the text, which no edit can be made in.
func isGrammar(code string) bool {
	return slices.Contains([]string{
		rows.CodeInvalidUTF8, rows.CodeBOMInside, rows.CodeUTF16, rows.CodeInvalidJSON, rows.CodeMultilineObject, rows.CodeLoneSurrogate,
		rows.CodeNotAnObject, rows.CodeTooDeep,
	}, code)
}

// mayPass reports whether the policy of a queue can make the row a good one.
func mayPass(fault *rows.Fault) bool {
	return fault.Code == rows.CodeMissingModel || fault.Code == rows.CodeURLNotAllowed
}

// find tells of a fault, with its place in the file when that is known.
func (p *Preparer) find(found *piece, fault *rows.Fault, warning bool) {
	f := Finding{Line: found.line, Code: fault.Code, Message: fault.Message, Hint: fault.Hint, Warning: warning}
	if fault.Code == rows.CodeMultilineObject {
		f.Hint = "its quotes or brackets do not match, so that nobody can tell where it ends"
	}
	f.Hint, _, _ = strings.Cut(f.Hint, "; `batchbus prepare`") // which is what could not do it
	before := found.spaced()
	if _, original := p.parser.Parse(before, p.grammar()); original != nil && original.Code == fault.Code && original.Column > 0 {
		f.Line, f.Column = found.place(original.Column - 1)
	}
	p.Found(f)
}
