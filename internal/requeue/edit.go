package requeue

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/batchbus/batchbus/pkg/rows"
)

// CodeNoPlace is the code of a [Finding] about a row that has no place for what is to be set in it.
const CodeNoPlace = "no_place"

// ErrEdit is returned when an edit is not written as one.
var ErrEdit = errors.New("not path=value")

// Edit is a member that is set in every row.
type Edit struct {
	Path  []string
	Value []byte // Value is JSON.
	text  string // text is the path as it was written.
}

// ParseEdit reads "path=value", the path as [rows.ParsePath] does. A value that is no JSON is text: model=m is model="m", and a number that is
// meant as text has quotes. The error is an [ErrEdit] or a [rows.ErrPath].
func ParseEdit(text string) (Edit, error) {
	where, value, found := strings.Cut(text, "=")
	if !found {
		return Edit{}, fmt.Errorf("read %q: %w", text, ErrEdit)
	}
	path, err := rows.ParsePath(where)
	if err != nil {
		return Edit{}, err
	}
	e := Edit{Path: path, Value: []byte(value), text: where}
	if !jsontext.Value(value).IsValid() {
		if e.Value, err = jsontext.AppendQuote(nil, value); err != nil {
			return Edit{}, fmt.Errorf("read the value of %s: %w: it is not UTF-8", where, ErrEdit)
		}
	}
	return e, nil
}

// Edited are the rows of all with every edit made in each, in their order; all other bytes stay. A row that is no JSON stays as it is, and says
// so when it is judged; one that has no place for an edit has a Fault.
func Edited(all Rows, edits []Edit) Rows {
	if len(edits) == 0 {
		return all
	}
	return func(ctx context.Context) iter.Seq2[Row, error] {
		return func(yield func(Row, error) bool) {
			for row, err := range all(ctx) {
				if err == nil && row.Lost == "" {
					edit(&row, edits)
				}
				if !yield(row, err) {
					return
				}
			}
		}
	}
}

func edit(row *Row, edits []Edit) {
	for i := range edits {
		e := &edits[i]
		line, err := rows.Splice(row.Line, e.Path, e.Value)
		if errors.Is(err, rows.ErrPath) {
			row.Fault = &rows.Fault{
				Code: CodeNoPlace, Message: "the row has no place for " + e.text,
				Hint: "the path goes through a value that is no object, or names an element that its list does not have",
			}
			return
		}
		if err != nil {
			return
		}
		row.Line = line
	}
}
