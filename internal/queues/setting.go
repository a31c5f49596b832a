package queues

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/batchbus/batchbus/pkg/rows"
)

// settingPrefix begins the names of members of the body, each of which stands in the list "set" of a policy.
const settingPrefix = "body."

var errSet = errors.New("name each member by itself, such as body.temperature=0")

// setMember puts a member of the body into the list of those that every row gets, in the place of one with the same name.
func setMember(fields map[string]any, name, text string) error {
	if _, err := rows.ParseSetting(name + "=" + text); err != nil {
		return err
	}
	list, err := members(fields)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(list, func(have string) bool { return nameOf(have) == name })
	if at < 0 {
		at, list = len(list), append(list, "")
	}
	list[at] = name + "=" + text
	fields["set"] = list
	return nil
}

// unsetMember takes a member of the body out of the list. One that is not there is no error.
func unsetMember(fields map[string]any, name string) error {
	list, err := members(fields)
	if err != nil {
		return err
	}
	if list = slices.DeleteFunc(list, func(have string) bool { return nameOf(have) == name }); len(list) == 0 {
		delete(fields, "set")
	} else {
		fields["set"] = list
	}
	return nil
}

func nameOf(setting string) string {
	name, _, _ := strings.Cut(setting, "=")
	return name
}

// members is the list as it is in fields, made by [Set] or read from JSON.
func members(fields map[string]any) ([]string, error) {
	switch list := fields["set"].(type) {
	case nil:
		return nil, nil
	case []string:
		return slices.Clone(list), nil
	case []any:
		texts := make([]string, len(list))
		for i, entry := range list {
			text, ok := entry.(string)
			if !ok {
				return nil, fmt.Errorf("set: entry %d is no text", i+1)
			}
			texts[i] = text
		}
		return texts, nil
	default:
		return nil, errors.New("set: it is no list")
	}
}
