package app_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/batchbus/batchbus/internal/app"
	"github.com/batchbus/batchbus/pkg/doubleword"
)

// lookup looks names up in a map.
func lookup(env map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		value, ok := env[name]
		return value, ok
	}
}

func TestKeysAreReadFromOnePlace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		ok(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	whole, empty := file("whole", "\n  sk-secret\r\n"), file("empty", " \n")
	for _, c := range []struct {
		name string
		env  map[string]string
		want string // the key
		err  string // a part of the error
	}{
		{"none is no error", nil, "", ""},
		{"an empty variable is none", map[string]string{app.EnvKey: ""}, "", ""},
		{"white space is none", map[string]string{app.EnvKey: " \t\n"}, "", ""},
		{"the variable", map[string]string{app.EnvKey: "sk-secret"}, "sk-secret", ""},
		{"the variable without white space around it", map[string]string{app.EnvKey: " sk-secret\n"}, "sk-secret", ""},
		{"the file", map[string]string{app.EnvKeyFile: whole}, "sk-secret", ""},
		{"the file beside an empty variable", map[string]string{app.EnvKey: "", app.EnvKeyFile: whole}, "sk-secret", ""},
		{"the variable beside an empty file name", map[string]string{app.EnvKey: "sk-secret", app.EnvKeyFile: ""}, "sk-secret", ""},
		{"both", map[string]string{app.EnvKey: "sk-secret", app.EnvKeyFile: whole}, "", "set one"},
		{"an empty file", map[string]string{app.EnvKeyFile: empty}, "", "empty"},
		{"no file", map[string]string{app.EnvKeyFile: filepath.Join(dir, "none")}, "", app.EnvKeyFile},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			keys, err := app.LoadKeys(lookup(c.env))
			if (err == nil) != (c.err == "") {
				t.Fatal(err)
			}
			if err != nil {
				if !strings.Contains(err.Error(), c.err) || strings.Contains(err.Error(), "sk-secret") {
					t.Error(err)
				}
				return
			}
			key, have := keys[app.DefaultKey]
			if have != (c.want != "") || have && !reflect.DeepEqual(key, doubleword.NewSecret(c.want)) {
				t.Errorf("%d keys, not the one wanted", len(keys))
			}
		})
	}
}
