package natsd

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// minKey is the shortest key accepted, in bytes: AES-128's key size. The server derives its keys from it.
const minKey = 16

// storeKey reads the key and compares it with the one the directory was written with. nats-server with a wrong key starts,
// warns and leaves the streams out, whereupon new empty ones would be made over them: so the key is checked before.
func storeKey(o Options) (string, error) {
	check := filepath.Join(o.Dir, "batchbus.key")
	stored, err := os.ReadFile(check)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("read key checksum: %w", err)
	}
	if o.KeyFile == "" {
		if len(stored) > 0 {
			return "", fmt.Errorf("%w: the store is encrypted and no key file was given", ErrKey)
		}
		return "", nil
	}
	key, err := readKey(o.KeyFile)
	if err != nil {
		return "", err
	}
	sum := checksum(key)
	if len(stored) == 0 {
		return key, writeChecksum(check, sum)
	}
	if !hmac.Equal([]byte(sum), stored) {
		return "", fmt.Errorf("%w: the store was encrypted with another key", ErrKey)
	}
	return key, nil
}

func readKey(name string) (string, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return "", fmt.Errorf("read key file: %w", err)
	}
	key := strings.TrimRight(string(data), "\r\n")
	if len(key) < minKey {
		return "", fmt.Errorf("read key file: the key has %d bytes, at least %d are needed", len(key), minKey)
	}
	return key, nil
}

// checksum tells keys apart without showing them.
func checksum(key string) string {
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte("batchbus store key"))
	return hex.EncodeToString(mac.Sum(nil))
}

func writeChecksum(name, sum string) error {
	if err := os.WriteFile(name, []byte(sum), 0o600); err != nil {
		return fmt.Errorf("write key checksum: %w", err)
	}
	return nil
}
