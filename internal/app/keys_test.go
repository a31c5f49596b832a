package app_test

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
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

// environment is a map as a process has it.
func environment(env map[string]string) app.Env {
	return app.Env{Lookup: lookup(env), Names: func() []string { return slices.Collect(maps.Keys(env)) }}
}

func TestSeveralKeysHaveNames(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "key")
	ok(t, os.WriteFile(path, []byte("sk-eu\n"), 0o600))
	env := map[string]string{
		app.EnvKey: "sk-main", "DOUBLEWORD_API_KEY_NIGHT": "sk-night", "DOUBLEWORD_API_KEY_NIGHT_EU_FILE": path, "DOUBLEWORD_API_KEY_EMPTY": " ",
		"DOUBLEWORD_API_KEYS": "sk-other", "DOUBLEWORD_API_URL": "x", "PATH": "/bin",
	}
	keys, err := app.LoadKeys(environment(env))
	ok(t, err)
	want := map[string]doubleword.Secret{
		"default": doubleword.NewSecret("sk-main"), "night": doubleword.NewSecret("sk-night"), "night_eu": doubleword.NewSecret("sk-eu"),
	}
	if !reflect.DeepEqual(keys, want) {
		t.Errorf("%v", slices.Sorted(maps.Keys(keys)))
	}
	delete(env, app.EnvKey)
	if keys, err = app.LoadKeys(environment(env)); err != nil || len(keys) != 2 {
		t.Errorf("without a default key: %v, %v", slices.Sorted(maps.Keys(keys)), err)
	}
	for _, name := range []string{"default", "night", "night_eu"} {
		if variable := app.KeyVariable(name); env[variable] == "" && env[variable+"_FILE"] == "" && variable != app.EnvKey {
			t.Errorf("%s: %s", name, variable)
		}
	}
}

func TestNamesThatNoKeyCanHaveAreRefused(t *testing.T) {
	t.Parallel()
	for variable, part := range map[string]string{
		"DOUBLEWORD_API_KEY_DEFAULT": "default key is in", "DOUBLEWORD_API_KEY_DEFAULT_FILE": "default key is in",
		"DOUBLEWORD_API_KEY_FILE_FILE": `called "file"`, "DOUBLEWORD_API_KEY_NIGHT_FILE_FILE": `called "night_file"`,
		"DOUBLEWORD_API_KEY_": "letters, digits", "DOUBLEWORD_API_KEY__FILE": "letters, digits", "DOUBLEWORD_API_KEY_A.B": "letters, digits",
		"DOUBLEWORD_API_KEY_NIGHT_FILE": "DOUBLEWORD_API_KEY_NIGHT_FILE", // which is not there
	} {
		_, err := app.LoadKeys(environment(map[string]string{variable: "sk-secret", app.EnvKey: "sk-secret"}))
		if err == nil || !strings.Contains(err.Error(), part) || strings.Contains(err.Error(), "sk-secret") {
			t.Errorf("%s: %v", variable, err)
		}
	}
	_, err := app.LoadKeys(environment(map[string]string{"DOUBLEWORD_API_KEY_NIGHT": "sk-secret", "DOUBLEWORD_API_KEY_night": "sk-secret", "DOUBLEWORD_API_KEY_DEFAULT": "sk-secret"}))
	if err == nil || !strings.Contains(err.Error(), "set one") || !strings.Contains(err.Error(), "default key is in") || strings.Contains(err.Error(), "sk-secret") {
		t.Errorf("two faults: %v", err)
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
			keys, err := app.LoadKeys(environment(c.env))
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
