package jetstore

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// differences compares two configurations of one type field by field. Metadata is left out: the server adds its own. So is
// what skip names.
func differences(name string, want, have any, skip ...string) []Difference {
	w, h := reflect.ValueOf(want), reflect.ValueOf(have)
	var out []Difference
	for i := range w.NumField() {
		field := w.Type().Field(i)
		tag, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if tag == "metadata" || slices.Contains(skip, tag) || same(w.Field(i), h.Field(i)) {
			continue
		}
		out = append(out, Difference{Name: name, Field: tag, Want: show(w.Field(i)), Have: show(h.Field(i))})
	}
	return out
}

// same takes an absent list and an empty one as equal, which the server does too.
func same(a, b reflect.Value) bool {
	if a.Kind() == reflect.Slice && a.Len() == 0 && b.Len() == 0 {
		return true
	}
	return reflect.DeepEqual(a.Interface(), b.Interface())
}

func show(v reflect.Value) string {
	if s, ok := reflect.TypeAssert[fmt.Stringer](v); ok {
		return s.String()
	}
	text, err := json.Marshal(v.Interface())
	if err != nil {
		return fmt.Sprint(v.Interface())
	}
	return string(text)
}
