package rows_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/batchbus/batchbus/pkg/rows"
)

func TestRemoveTakesOutAMemberAndLeavesEveryOtherByte(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ line, path, want string }{
		{`{"a":1, "b" : 2 ,"c":3}`, "b", `{"a":1 ,"c":3}`},
		{`{ "a":1, "b":2}`, "a", `{ "b":2}`},
		{`{ "a":1 }`, "a", `{  }`},
		{`{"a":1,"b":1E5, "a":2}`, "a", `{"b":1E5}`},
		{`{"a":1,"a":2}`, "a", `{}`},
		{`{"b":0,"a":1,"a":2}`, "a", `{"b":0}`},
		{`{"x":{"a":[1, {"b":9} ],"c":","}}`, "x.a", `{"x":{"c":","}}`},
		{`{"x":[1.0, 2 ,3]}`, "x.1", `{"x":[1.0 ,3]}`},
		{`{"x":[1.0, 2 ,3]}`, "x.0", `{"x":[2 ,3]}`},
		{`{"x":[1]}`, "x.0", `{"x":[]}`},
		{`{"x":[{"n":1,"u":2},{"n":1}]}`, "x.0.n", `{"x":[{"u":2},{"n":1}]}`},
		{`{"caf\u00e9":1,"b":2}`, "café", `{"b":2}`},
		{"\t{\"a\":1,\r\n \"b\":2}", "b", "\t{\"a\":1}"},
	} {
		got, removed, err := rows.Remove([]byte(c.line), path(t, c.path))
		if err != nil || !removed || string(got) != c.want {
			t.Errorf("%s without %s: %s, %v, %v; want %s", c.line, c.path, got, removed, err, c.want)
		}
	}
}

func TestRemoveOfWhatIsNotThereChangesNothing(t *testing.T) {
	t.Parallel()
	line := `{"x":[1, {"a":null}], "y":"s","z":null}`
	for _, at := range []string{"a", "x.2", "x.-1", "x.a", "x.1.b", "y.a", "z.a", "x.0.a"} {
		got, removed, err := rows.Remove([]byte(line), path(t, at))
		if err != nil || removed || string(got) != line {
			t.Errorf("%s: %s, %v, %v", at, got, removed, err)
		}
	}
	for _, bad := range []string{``, `[1]`, `{"a":1,}`, `nil`} {
		if _, _, err := rows.Remove([]byte(bad), []string{"a"}); !errors.Is(err, rows.ErrBody) {
			t.Errorf("%s: %v", bad, err)
		}
	}
	if _, _, err := rows.Remove([]byte(line), nil); !errors.Is(err, rows.ErrPath) {
		t.Error(err)
	}
}

func path(t *testing.T, text string) []string {
	t.Helper()
	path, err := rows.ParsePath(text)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRemoveTakesBackWhatSplicePutIn(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z"\\é]{1,3}`), 1, 5, rapid.ID).Draw(t, "names")
		object := make(map[string]any)
		for _, name := range names {
			object[name] = rapid.SampledFrom([]any{1.0, "x,}", nil, map[string]any{"a": 1.0}, []any{1.0, "]"}}).Draw(t, "value")
		}
		line, err := json.MarshalIndent(object, "", rapid.SampledFrom([]string{"", " "}).Draw(t, "indent"))
		if err != nil {
			t.Fatal(err)
		}
		gone := rapid.SampledFrom(names).Draw(t, "gone")
		got, removed, err := rows.Remove(line, []string{gone})
		if err != nil || !removed {
			t.Fatalf("%v %v", removed, err)
		}
		delete(object, gone)
		var left map[string]any
		if err := json.Unmarshal(got, &left); err != nil || !reflect.DeepEqual(left, object) {
			t.Fatalf("%s without %q is %s: %v", line, gone, got, err)
		}
		added, err := rows.Splice(line, []string{"new"}, []byte(`[1,{"b":","}]`))
		if err != nil {
			t.Fatal(err)
		}
		if back, _, err := rows.Remove(added, []string{"new"}); err != nil || !bytes.Equal(squeeze(back), squeeze(line)) {
			t.Fatalf("%s, want %s: %v", back, line, err)
		}
	})
}

// squeeze is text without its white space: what stands in front of a removed first member's comma goes with it.
func squeeze(text []byte) []byte {
	return slices.DeleteFunc(slices.Clone(text), func(c byte) bool { return c == ' ' || c == '\n' })
}
