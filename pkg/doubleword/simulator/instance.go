package simulator

import (
	"bytes"
	"math"
	"strconv"
	"strings"
)

// maxNesting ends recursive schemas: below it only what is required is written.
const maxNesting = 6

// instance writes a value that satisfies a JSON schema, as a model with constrained decoding does. It knows type,
// enum, const, properties, required, items, prefixItems, the size and number bounds, common formats, anyOf, oneOf,
// allOf's parts for objects, and references within the schema. It does not know pattern.
type instance struct {
	*reply
	root []byte
}

func (a *reply) newInstance(root []byte) instance { return instance{reply: a, root: root} }

func (in instance) append(dst, schema []byte, depth int) []byte {
	schema = in.resolve(schema)
	if value := lookup(schema, "const"); value != nil {
		return append(dst, value...)
	}
	if options := lookup(schema, "enum"); options != nil {
		return append(dst, in.pick(options, depth)...)
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if options := lookup(schema, key); options != nil {
			return in.append(dst, in.pick(options, depth), depth+1)
		}
	}
	switch in.kind(schema) {
	case "object":
		return in.object(dst, schema, depth)
	case "array":
		return in.array(dst, schema, depth)
	case "integer":
		return strconv.AppendInt(dst, int64(in.number(schema, 1)), 10)
	case "number":
		return appendFloat(dst, in.number(schema, 0.25))
	case "boolean":
		return strconv.AppendBool(dst, in.below(2) == 0)
	case "null":
		return append(dst, "null"...)
	default:
		return appendString(dst, in.text(schema))
	}
}

// resolve follows references within the schema, a few steps at most.
func (in instance) resolve(schema []byte) []byte {
	for range maxNesting {
		ref := string(unquote(lookup(schema, "$ref")))
		path, local := strings.CutPrefix(ref, "#")
		if !local {
			return schema
		}
		schema = in.root
		for _, step := range strings.Split(path, "/")[min(1, len(path)):] {
			schema = lookup(schema, strings.NewReplacer("~1", "/", "~0", "~").Replace(step))
		}
	}
	return schema
}

// pick chooses one of an array's values; deep in a recursion the shortest, which is the one that ends it.
func (in instance) pick(options []byte, depth int) []byte {
	var all [][]byte
	for option := range elements(options) {
		all = append(all, option)
	}
	if len(all) == 0 {
		return []byte("null")
	}
	chosen := all[in.below(len(all))]
	if depth < maxNesting {
		return chosen
	}
	for _, option := range all {
		if len(option) < len(chosen) {
			chosen = option
		}
	}
	return chosen
}

func (in instance) kind(schema []byte) string {
	kind := lookup(schema, "type")
	for option := range elements(kind) {
		kind = option // the first: null usually comes last
		break
	}
	switch {
	case kind != nil:
		return string(unquote(kind))
	case lookup(schema, "properties") != nil, lookup(schema, "allOf") != nil, lookup(schema, "required") != nil:
		return "object"
	case lookup(schema, "items") != nil, lookup(schema, "prefixItems") != nil:
		return "array"
	default:
		return "string"
	}
}

func (in instance) object(dst, schema []byte, depth int) []byte {
	parts := [][]byte{schema}
	for part := range elements(lookup(schema, "allOf")) {
		parts = append(parts, in.resolve(part))
	}
	dst = append(dst, '{')
	written := map[string]bool{}
	add := func(key, value []byte) {
		if written[string(key)] {
			return
		}
		if len(written) > 0 {
			dst = append(dst, ',')
		}
		written[string(key)] = true
		dst = append(append(append(dst, '"'), key...), `":`...)
		dst = in.append(dst, value, depth+1)
	}
	for _, part := range parts {
		required := lookup(part, "required")
		for key, value := range members(lookup(part, "properties")) {
			if depth < maxNesting || contains(required, key) {
				add(key, value)
			}
		}
	}
	for _, part := range parts {
		for name := range elements(lookup(part, "required")) {
			add(name[1:len(name)-1], []byte(`{}`))
		}
	}
	return append(dst, '}')
}

func contains(names, key []byte) bool {
	for name := range elements(names) {
		if len(name) > 1 && bytes.Equal(name[1:len(name)-1], key) {
			return true
		}
	}
	return false
}

func (in instance) array(dst, schema []byte, depth int) []byte {
	dst = append(dst, '[')
	n := 0
	add := func(item []byte) {
		if n > 0 {
			dst = append(dst, ',')
		}
		n++
		dst = in.append(dst, item, depth+1)
	}
	for item := range elements(lookup(schema, "prefixItems")) {
		add(item)
	}
	low := in.bound(schema, "minItems", 0)
	high := in.bound(schema, "maxItems", max(low, 3))
	want := low
	if depth < maxNesting {
		want = max(low, min(high, 1+in.below(3)))
	}
	items := lookup(schema, "items")
	for n < want {
		add(items)
	}
	return append(dst, ']')
}

func (in instance) bound(schema []byte, key string, fallback int) int {
	if f, ok := number(lookup(schema, key)); ok {
		return int(f)
	}
	return fallback
}

// number returns a multiple of step (or of multipleOf) within the bounds.
func (in instance) number(schema []byte, step float64) float64 {
	if f, ok := number(lookup(schema, "multipleOf")); ok && f > 0 {
		step = f
	}
	low, hasLow := lowest(schema)
	high, hasHigh := highest(schema)
	switch {
	case !hasLow && !hasHigh:
		low, high = 0, 100*step
	case !hasLow:
		low = high - 100*step
	case !hasHigh:
		high = low + 100*step
	}
	first := math.Ceil(low/step) * step
	if first > high {
		return low // no multiple fits: the bound itself is the best there is
	}
	steps := int(min((high-first)/step, 1000))
	return first + float64(in.below(steps+1))*step
}

func lowest(schema []byte) (float64, bool) {
	if f, ok := number(lookup(schema, "exclusiveMinimum")); ok {
		return math.Nextafter(f, math.Inf(1)), true
	}
	f, ok := number(lookup(schema, "minimum"))
	return f, ok
}

func highest(schema []byte) (float64, bool) {
	if f, ok := number(lookup(schema, "exclusiveMaximum")); ok {
		return math.Nextafter(f, math.Inf(-1)), true
	}
	f, ok := number(lookup(schema, "maximum"))
	return f, ok
}

func (in instance) text(schema []byte) []byte {
	switch string(unquote(lookup(schema, "format"))) {
	case "date":
		return []byte("2026-03-14")
	case "date-time":
		return []byte("2026-03-14T09:26:53Z")
	case "time":
		return []byte("09:26:53Z")
	case "email":
		return []byte(in.words[in.below(len(in.words))] + "@example.com")
	case "uri", "url":
		return []byte("https://example.com/" + in.words[in.below(len(in.words))])
	case "uuid":
		return appendUUID(nil, in.next(), in.next())
	}
	low := in.bound(schema, "minLength", 0)
	high := in.bound(schema, "maxLength", max(low, 40))
	var text []byte
	for range 1 + in.below(4) {
		text = append(append(text, in.words[in.below(len(in.words))]...), ' ')
	}
	for len(text) < low+1 {
		text = append(append(text, in.words[in.below(len(in.words))]...), ' ')
	}
	return text[:max(min(len(text)-1, high), low)]
}
