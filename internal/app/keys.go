package app

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/batchbus/batchbus/pkg/doubleword"
)

// The environment's names for the API key. There is no flag for it: a command line is visible to every user of the machine.
const (
	EnvKey     = "DOUBLEWORD_API_KEY"
	EnvKeyFile = "DOUBLEWORD_API_KEY_FILE"
)

// DefaultKey is the name of the key that the variables above hold.
const DefaultKey = "default"

// LoadKeys reads the API keys of the environment, by name; none at all is no error.
func LoadKeys(lookup func(string) (string, bool)) (map[string]doubleword.Secret, error) {
	value, ok := lookup(EnvKey)
	file, fromFile := lookup(EnvKeyFile)
	if ok && value != "" && fromFile && file != "" {
		return nil, fmt.Errorf("read API key: both %s and %s are set: set one", EnvKey, EnvKeyFile)
	}
	if fromFile && file != "" {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", EnvKeyFile, err)
		}
		if value = strings.TrimSpace(string(data)); value == "" {
			return nil, fmt.Errorf("read %s: %w", EnvKeyFile, errors.New("the file is empty"))
		}
	}
	if value = strings.TrimSpace(value); value == "" {
		return map[string]doubleword.Secret{}, nil
	}
	return map[string]doubleword.Secret{DefaultKey: doubleword.NewSecret(value)}, nil
}
