package prepare

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/batchbus/batchbus/pkg/rows"
)

// Codes of findings that package rows does not have.
const (
	CodeNoPlace = "no_place" // CodeNoPlace: the row has no place for what is to be set in it.
	CodeText    = "bad_text" // CodeText: the text of the file cannot be read on.
	CodeImage   = "no_image" // CodeImage: what an image member names cannot be put into the row.
)

// Setting is a member that is set in every row, as [rows.Splice] sets it.
type Setting struct {
	Path  []string
	Value []byte // Value is JSON.
	Name  string // Name is the path as people wrote it.
}

// Edits are what is changed in every row, in the order of the fields.
type Edits struct {
	IDs    string // IDs, when set, is the beginning of the custom_id of rows that have none: the rest is "-" and the line.
	Drop   [][]string
	Set    []Setting
	Model  string  // Model is put into bodies without one.
	Images *Images // Images, when set, are put in the place of their paths.
}

// change makes the edits in a row, which is valid JSON. A fault is about the row; the result is then of no use.
func (e *Edits) change(row []byte, from *piece, counts *Counts) ([]byte, *rows.Fault) {
	row, err := e.addID(row, from, counts)
	for _, path := range e.Drop {
		if err != nil {
			break
		}
		var gone bool
		if row, gone, err = rows.Remove(row, path); gone {
			counts.Dropped++
		}
	}
	for i := range e.Set {
		if err != nil {
			break
		}
		set := &e.Set[i]
		row, err = rows.Splice(row, set.Path, set.Value)
		if errors.Is(err, rows.ErrPath) {
			return nil, &rows.Fault{
				Code: CodeNoPlace, Message: "the row has no place for " + set.Name,
				Hint: "the path goes through a value that is no object, or names an element that its list does not have",
			}
		}
		counts.Set++
	}
	if err == nil && e.Model != "" {
		row, err = e.addModel(row, counts)
	}
	if err != nil {
		return nil, &rows.Fault{Code: rows.CodeInvalidJSON, Message: err.Error()}
	}
	if e.Images != nil {
		return e.Images.encode(row, counts)
	}
	return row, nil
}

func (e *Edits) addID(row []byte, from *piece, counts *Counts) ([]byte, error) {
	if e.IDs == "" || present(row, "custom_id") {
		return row, nil
	}
	id := fmt.Sprintf("%s-%d", e.IDs, from.line)
	if from.again > 0 {
		id += "-" + strconv.Itoa(from.again+1)
	}
	counts.IDs++
	return set(row, id, "custom_id")
}

// addModel gives the body a model, if there is a body and none in it.
func (e *Edits) addModel(row []byte, counts *Counts) ([]byte, error) {
	body := member(row, "body")
	if body.Kind() != '{' || present(body, "model") {
		return row, nil
	}
	counts.Models++
	return set(row, e.Model, "body", "model")
}

func set(row []byte, text string, path ...string) ([]byte, error) {
	quoted, err := jsontext.AppendQuote(nil, text)
	if err != nil {
		return nil, fmt.Errorf("quote %s: %w", path[len(path)-1], err)
	}
	return rows.Splice(row, path, quoted)
}

// present reports whether a member counts as given: null and "" do not, as package rows has it.
func present(object []byte, name string) bool {
	value := string(member(object, name))
	return value != "" && value != "null" && value != `""`
}

// member is the value of a member of a valid object, the last of its name; nil when there is none.
func member(object []byte, name string) (value jsontext.Value) {
	dec := decoderOf(object)
	_, _ = dec.ReadToken()
	for dec.PeekKind() == '"' {
		found, err := dec.ReadToken()
		if err != nil {
			return nil
		}
		if found.String() != name {
			_ = dec.SkipValue()
			continue
		}
		if value, err = dec.ReadValue(); err != nil {
			return nil
		}
		value = value.Clone()
	}
	return value
}
