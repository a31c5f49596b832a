package queues

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/batchbus/batchbus/pkg/events"
)

// Set puts a field, by its name such as retry.max_attempts, into the fields of a record, from the text that people give: lists are separated by
// commas. The value is not checked, its kind is. A name that begins with "body." is that of a member which every row gets, and goes into the
// list "set", which cannot be given as a whole: values have commas of their own.
func Set(fields map[string]any, name, text string) error {
	switch {
	case strings.HasPrefix(name, settingPrefix):
		return setMember(fields, name, text)
	case name == "set" && text != "":
		return fmt.Errorf("set: %w", errSet)
	}
	kind, ok := fieldType(reflect.TypeFor[events.Policy](), name)
	if !ok {
		return fmt.Errorf("%s: a policy has no such field: there are %s", name, strings.Join(Fields(), ", "))
	}
	value, err := valueOf(kind, text)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	outer, inner, nested := strings.Cut(name, ".")
	if !nested {
		fields[name] = value
		return nil
	}
	within, _ := fields[outer].(map[string]any)
	if within == nil {
		within = make(map[string]any)
		fields[outer] = within
	}
	within[inner] = value
	return nil
}

// Unset takes a field out, so that it is as by default. One that is not there is no error.
func Unset(fields map[string]any, name string) error {
	if strings.HasPrefix(name, settingPrefix) {
		return unsetMember(fields, name)
	}
	if _, ok := fieldType(reflect.TypeFor[events.Policy](), name); !ok && !isObject(name) {
		return fmt.Errorf("%s: a policy has no such field: there are %s", name, strings.Join(Fields(), ", "))
	}
	outer, inner, nested := strings.Cut(name, ".")
	if !nested {
		delete(fields, name)
	} else if within, ok := fields[outer].(map[string]any); ok {
		delete(within, inner)
	}
	return nil
}

func isObject(name string) bool {
	for _, field := range Fields() {
		if strings.HasPrefix(field, name+".") {
			return true
		}
	}
	return false
}

// Fields are the names of a policy's fields, in its order.
func Fields() []string { return fieldNames(reflect.TypeFor[events.Policy](), "") }

func fieldNames(t reflect.Type, prefix string) (names []string) {
	for f := range t.Fields() {
		name := prefix + jsonName(&f)
		if f.Type.Kind() == reflect.Struct {
			names = append(names, fieldNames(f.Type, name+".")...)
		} else {
			names = append(names, name)
		}
	}
	return names
}

func fieldType(t reflect.Type, name string) (reflect.Type, bool) {
	outer, inner, nested := strings.Cut(name, ".")
	for f := range t.Fields() {
		switch {
		case jsonName(&f) != outer || nested != (f.Type.Kind() == reflect.Struct):
		case nested:
			return fieldType(f.Type, inner)
		default:
			return f.Type, true
		}
	}
	return nil, false
}

func jsonName(f *reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// valueOf reads a text as what a field of the type holds.
func valueOf(t reflect.Type, text string) (any, error) {
	switch {
	case t == reflect.TypeFor[events.Money]():
		amount, err := events.ParseMoney(text)
		if err != nil {
			return nil, fmt.Errorf("%.80q %w", text, events.ErrMoney)
		}
		return amount, nil
	case t.Kind() == reflect.String:
		return text, nil
	case t.Kind() == reflect.Slice && text == "":
		return []string{}, nil
	case t.Kind() == reflect.Slice:
		return strings.Split(text, ","), nil
	}
	value := reflect.New(t)
	if err := json.Unmarshal([]byte(text), value.Interface()); err != nil {
		return nil, fmt.Errorf("%.80q is no %s", text, map[bool]string{true: "true or false", false: "whole number"}[t.Kind() == reflect.Bool])
	}
	return value.Elem().Interface(), nil
}

// Values are the fields of a JSON object by their names, those of objects within by names such as retry.on, each as it is written.
func Values(object []byte) (map[string]string, error) {
	values := make(map[string]string)
	if len(object) == 0 {
		return values, nil
	}
	return values, addValues(values, "", object)
}

func addValues(values map[string]string, prefix string, object []byte) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(object, &fields); err != nil {
		return fmt.Errorf("read fields: %w", err)
	}
	for name, value := range fields {
		if value[0] != '{' {
			values[prefix+name] = string(value)
		} else if err := addValues(values, prefix+name+".", value); err != nil {
			return err
		}
	}
	return nil
}
