package estimate

import (
	"bytes"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// facts are what a body says of the tokens that it takes.
type facts struct {
	bound      int64 // the largest bound of its answer; 0: none
	choices    int64
	images     int64
	imageBytes int64 // of data URIs
	addressed  int64 // images that stand there by an address or a data URI, as their parts say
	embedded   int64 // data URIs
}

// factsOf walks a body once. What is no JSON ends the walk, and what was found until then counts: a row is judged elsewhere.
func factsOf(body []byte) facts {
	var f facts
	in := jsontext.NewDecoder(bytes.NewReader(body), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	name := ""
	for {
		if bytes.IndexByte([]byte("{}[]"), byte(in.PeekKind())) >= 0 {
			if _, err := in.ReadToken(); err != nil {
				return f.counted()
			}
			continue
		}
		kind, length := in.StackIndex(in.StackDepth())
		value, err := in.ReadValue()
		if err != nil {
			return f.counted()
		}
		inObject := kind == jsontext.KindBeginObject
		if inObject && length%2 == 0 {
			name = string(value[:min(len(value), maxName)])
			continue
		}
		if inObject && in.StackDepth() == 1 {
			f.member(name, value)
		}
		f.value(value)
	}
}

// maxName is longer than any name that counts.
const maxName = 64

// counted is f with as many images as there are at least.
func (f *facts) counted() facts {
	f.images = max(f.addressed, f.embedded)
	return *f
}

// member takes note of a member of the body itself; the name is as it is written, with its quotes.
func (f *facts) member(name string, value jsontext.Value) {
	switch name {
	case `"max_tokens"`, `"max_completion_tokens"`, `"max_output_tokens"`:
		f.bound = max(f.bound, whole(value))
	case `"n"`:
		f.choices = whole(value)
	}
}

// value takes note of images: the type of a part of a message, or a data URI.
func (f *facts) value(value jsontext.Value) {
	switch {
	case string(value) == `"image_url"`, string(value) == `"input_image"`, string(value) == `"image"`:
		f.addressed++
	case bytes.HasPrefix(value, []byte(`"data:`)) && bytes.Contains(value[:min(len(value), 256)], []byte(";base64,")):
		f.embedded++
		f.imageBytes += int64(len(value))
	}
}

// whole is a whole number; 0 of anything else, the largest of what is too large.
func whole(value jsontext.Value) int64 {
	number, err := strconv.ParseFloat(string(value), 64)
	if err != nil || number < 0 || number != number {
		return 0
	}
	return int64(min(number, MaxOutputTokens))
}
