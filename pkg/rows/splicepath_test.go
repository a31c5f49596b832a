package rows_test

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/batchbus/batchbus/pkg/rows"
)

func TestSpliceSetsOneMemberAndKeepsEveryOtherByte(t *testing.T) {
	t.Parallel()
	const odd = "{ \"custom_id\" : \"a\\u0062\" ,\t\"x\":1.0,\"body\":{\"model\":\"m\",\"seed\":9007199254740993, \"t\":\"<&>\u2028\\/\",\"list\":[ 1E5 ,{\"a\":null} ]} , \"z\":-0 }"
	for name, c := range map[string]struct{ path, value, old, want string }{
		"a member of the row":        {"custom_id", `"n"`, `"a\u0062"`, `"n"`},
		"a member of the body":       {"body.seed", `7`, `9007199254740993`, `7`},
		"the last member":            {"z", `{"deep":[1]}`, `-0`, `{"deep":[1]}`},
		"an element":                 {"body.list.0", `2`, `1E5`, `2`},
		"a member of an element":     {"body.list.1.a", `true`, `{"a":null}`, `{"a":true}`},
		"below null":                 {"body.list.1.a.b.c", `1`, `{"a":null}`, `{"a":{"b":{"c":1}}}`},
		"a new member of the row":    {"method", `"POST"`, `{ "custom_id"`, `{"method":"POST", "custom_id"`},
		"a new member of the body":   {"body.temperature", `0`, `{"model"`, `{"temperature":0,"model"`},
		"new objects on the way":     {"body.reasoning.effort", `"low"`, `{"model"`, `{"reasoning":{"effort":"low"},"model"`},
		"a number is a name, too":    {"body.meta.0", `"x"`, `{"model"`, `{"meta":{"0":"x"},"model"`},
		"a name with a dot":          {`body.a\.b\\c`, `1`, `{"model"`, `{"a.b\\c":1,"model"`},
		"a value over several lines": {"z", "\n{\"a\":\n\t[1, 2]\n}\n", `-0`, "{\"a\": \t[1, 2] }"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path, err := rows.ParsePath(c.path)
			if err != nil {
				t.Fatal(err)
			}
			line := []byte(odd)
			got, err := rows.Splice(line, path, []byte(c.value))
			if want := strings.Replace(odd, c.old, c.want, 1); err != nil || string(got) != want || string(line) != odd {
				t.Errorf("%v\n got %s\nwant %s", err, got, want)
			}
		})
	}
	got, err := rows.Splice([]byte(`{"a":{"b":1},"x":0,"a":{"c":2}}`), []string{"a", "b"}, []byte(`3`))
	if want := `{"a":{"b":3},"x":0,"a":{"b":3,"c":2}}`; err != nil || string(got) != want {
		t.Errorf("a name that stands there twice: %s, %v", got, err)
	}
	if got, err := rows.Splice([]byte(" { } "), []string{"a"}, []byte(`3`)); err != nil || string(got) != ` {"a":3 } ` {
		t.Errorf("an empty object: %s, %v", got, err)
	}
}

func TestSpliceRefusesWhatItCannotSet(t *testing.T) {
	t.Parallel()
	const line = `{"a":"text","list":[1,2],"o":{"x":1}}`
	for name, c := range map[string]struct {
		line, value string
		path        []string
		want        error
	}{
		"no JSON":                 {`{"a":}`, "1", []string{"a"}, rows.ErrBody},
		"no object":               {`[1]`, "1", []string{"0"}, rows.ErrBody},
		"nothing":                 {``, "1", []string{"a"}, rows.ErrBody},
		"a value that is no JSON": {line, "x", []string{"a"}, rows.ErrValue},
		"no value":                {line, " ", []string{"a"}, rows.ErrValue},
		"two values":              {line, "1 2", []string{"a"}, rows.ErrValue},
		"a raw line feed in text": {line, "\"a\nb\"", []string{"a"}, rows.ErrValue},
		"no path":                 {line, "1", nil, rows.ErrPath},
		"a path through a text":   {line, "1", []string{"a", "b"}, rows.ErrPath},
		"behind the last element": {line, "1", []string{"list", "2"}, rows.ErrPath},
		"an element by a name":    {line, "1", []string{"list", "x"}, rows.ErrPath},
		"an element below 0":      {line, "1", []string{"list", "-1"}, rows.ErrPath},
		"a number on the way":     {line, "1", []string{"o", "x", "y"}, rows.ErrPath},
		"a name that is no UTF-8": {line, "1", []string{"\xff"}, rows.ErrPath},
		"a letter in two names":   {line, "1", []string{"a\xcb", "\x80b"}, rows.ErrPath},
	} {
		if got, err := rows.Splice([]byte(c.line), c.path, []byte(c.value)); !errors.Is(err, c.want) || got != nil {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
	for _, path := range []string{"", ".", "a.", ".a", "a..b"} {
		if _, err := rows.ParsePath(path); !errors.Is(err, rows.ErrPath) {
			t.Errorf("path %q: %v", path, err)
		}
	}
}

// setNode is Splice on a decoded tree: slow, and without a byte of its own.
func setNode(n node, path []string, value node) (node, bool) {
	if len(path) == 0 {
		return value, true
	}
	switch n.kind {
	case 'n':
		n = node{kind: '{', text: "{"}
	case '[':
		i, err := strconv.Atoi(path[0])
		if err != nil || i < 0 || i >= len(n.items) {
			return n, false
		}
		var ok bool
		n.items = slices.Clone(n.items)
		n.items[i], ok = setNode(n.items[i], path[1:], value)
		return n, ok
	case '{':
	default:
		return n, false
	}
	found := false
	n.members = slices.Clone(n.members)
	for i, m := range n.members {
		if m.name == path[0] {
			var ok bool
			if n.members[i].value, ok = setNode(m.value, path[1:], value); !ok {
				return n, false
			}
			found = true
		}
	}
	if found {
		return n, true
	}
	made, _ := setNode(node{kind: 'n'}, path[1:], value)
	n.members = append([]named{{path[0], made}}, n.members...)
	return n, true
}

// rawAt is the text at a path that leads through objects alone, each name once.
func rawAt(line []byte, path []string) (raw []byte, once bool) {
	raw = line
	for _, name := range path {
		list, ok := members(raw)
		var found []string
		for _, m := range list {
			if m[0] == name {
				found = append(found, m[1])
			}
		}
		if !ok || len(found) != 1 {
			return nil, false
		}
		raw = []byte(found[0])
	}
	return raw, true
}

func tree(line []byte) (node, bool) {
	if !jsontext.Value(line).IsValid(jsontext.AllowDuplicateNames(true)) {
		return node{}, false
	}
	n, err := decode(jsontext.NewDecoder(bytes.NewReader(line), jsontext.AllowDuplicateNames(true)))
	return n, err == nil
}

// FuzzSplice compares with the same change made on a decoded tree, and puts the old value back.
func FuzzSplice(f *testing.F) {
	f.Add([]byte(good), "body.temperature", []byte("0"))
	f.Add([]byte(`{"a":[1,{"b":2}],"a":null,"a":{"b":"}"}}`), "a.1.b", []byte(`"\u00e9"`))
	f.Add([]byte("{\"\\u0061\": {\"b\" :-1.50e+3}\t}"), "a.b", []byte("[ 1,\n2]"))
	f.Add([]byte(`{"a":[]}`), `a\.b.0`, []byte("{}"))
	f.Fuzz(func(t *testing.T, line []byte, where string, value []byte) {
		path, err := rows.ParsePath(where)
		if err != nil {
			return
		}
		got, err := rows.Splice(line, path, value)
		before, valid := tree(line)
		set, usable := tree(value)
		want, leads := setNode(before, path, set)
		if err != nil {
			if valid && before.kind == '{' && usable && jsontext.Value(value).IsValid() && leads && !errors.Is(err, rows.ErrPath) {
				t.Fatalf("%q at %q: %v", line, where, err)
			}
			return
		}
		if after, ok := tree(got); !ok || !leads || !reflect.DeepEqual(after, want) {
			t.Fatalf("%q at %q with %q became %q", line, where, value, got)
		}
		if bytes.Count(got, []byte{'\n'}) > bytes.Count(line, []byte{'\n'}) {
			t.Fatalf("%q became more lines: %q", line, got)
		}
		if old, once := rawAt(line, path); once && jsontext.Value(old).IsValid() && bytes.IndexByte(old, '\n') < 0 {
			back, err := rows.Splice(got, path, old)
			if err != nil || !bytes.Equal(back, line) {
				t.Fatalf("%q at %q and back: %q, %v", line, where, back, err)
			}
		}
	})
}
