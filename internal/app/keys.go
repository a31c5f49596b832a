package app

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/batchbus/batchbus/pkg/doubleword"
	"github.com/batchbus/batchbus/pkg/events"
)

// The environment's names for the API keys: EnvKey and EnvKeyFile hold the default key, and with a name behind them, DOUBLEWORD_API_KEY_NIGHT
// and DOUBLEWORD_API_KEY_NIGHT_FILE, the key that policies call by the name in small letters, night. There is no flag for a key: a command line
// is visible to every user of the machine.
const (
	EnvKey     = "DOUBLEWORD_API_KEY"
	EnvKeyFile = EnvKey + fileSuffix
	fileSuffix = "_FILE"
)

// DefaultKey is the name of the key that the variables above hold.
const DefaultKey = "default"

// KeyVariable is the variable that holds the key of a name.
func KeyVariable(name string) string {
	if name == DefaultKey {
		return EnvKey
	}
	return EnvKey + "_" + strings.ToUpper(name)
}

// LoadKeys reads the API keys of the environment, by name; none at all is no error. Variables that are empty count as none. All faults are
// reported at once, by the names of variables and never by their values.
func LoadKeys(env Env) (map[string]doubleword.Secret, error) {
	keys, from := make(map[string]doubleword.Secret), make(map[string]string)
	var faults []error
	for _, variable := range keyVariables(&env) {
		name, inFile, err := keyName(variable)
		value, _ := env.Lookup(variable)
		if value = strings.TrimSpace(value); value == "" {
			continue
		}
		other := from[name]
		if err == nil && other != "" {
			err = fmt.Errorf("read API key: both %s and %s are set: set one", other, variable)
		}
		if err == nil && inFile {
			value, err = readKey(variable, value)
		}
		if err == nil {
			keys[name] = doubleword.NewSecret(value)
		}
		faults = append(faults, err)
		from[name] = cmp.Or(from[name], variable)
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	return keys, nil
}

// keyVariables are the variables of env that hold a key or name its file, sorted.
func keyVariables(env *Env) []string {
	all := []string{EnvKey, EnvKeyFile}
	if env.Names == nil {
		return all
	}
	for _, name := range env.Names() {
		if strings.HasPrefix(name, EnvKey+"_") && name != EnvKeyFile {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// keyName is the name of the key that a variable holds: its own end in small letters, which is a token.
func keyName(variable string) (name string, inFile bool, err error) {
	switch variable {
	case EnvKey:
		return DefaultKey, false, nil
	case EnvKeyFile:
		return DefaultKey, true, nil
	}
	rest, inFile := strings.CutSuffix(strings.TrimPrefix(variable, EnvKey+"_"), fileSuffix)
	name = strings.ToLower(rest)
	switch {
	case name == DefaultKey:
		err = fmt.Errorf("read %.100q: the default key is in %s or %s", variable, EnvKey, EnvKeyFile)
	case name == "file" || strings.HasSuffix(name, strings.ToLower(fileSuffix)):
		err = fmt.Errorf("read %.100q: no key can be called %q: a variable that ends in %s names the file of a key", variable, name, fileSuffix)
	case !events.IsToken(name):
		err = fmt.Errorf("read %.100q: a key is called by 1 to %d letters, digits and _", variable, events.MaxNameBytes)
	}
	return name, inFile, err
}

// readKey reads the file that a variable names.
func readKey(variable, path string) (string, error) {
	data, err := os.ReadFile(path)
	if fault, ok := errors.AsType[*fs.PathError](err); ok {
		err = fault.Err // the path may be a key that was put into the wrong variable
	}
	if err != nil {
		return "", fmt.Errorf("read the file that %s names: %w", variable, err)
	}
	value := strings.TrimSpace(string(data))
	if value == "" {
		return "", fmt.Errorf("read %s: %w", variable, errors.New("the file is empty"))
	}
	return value, nil
}
