package natsd_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"github.com/batchbus/batchbus/internal/natsd"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(t *testing.T, o natsd.Options) *natsd.Server {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s, err := natsd.Start(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Shutdown)
	return s
}

func connect(t *testing.T, s *natsd.Server) jetstream.JetStream {
	t.Helper()
	nc, err := s.Connect()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// write stores a message in a stream that reserves half a gibibyte.
func write(t *testing.T, s *natsd.Server, text string) {
	t.Helper()
	js := connect(t, s)
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}, MaxBytes: 512 << 20}); err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(t.Context(), "s", []byte(text)); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, s *natsd.Server) string {
	t.Helper()
	stream, err := connect(t, s).Stream(t.Context(), "S")
	if err != nil {
		t.Fatal(err)
	}
	m, err := stream.GetMsg(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	return string(m.Data)
}

func TestServer(t *testing.T) {
	t.Parallel()

	t.Run("without an address nothing listens, and what was stored is there after a restart", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		s := start(t, natsd.Options{Dir: dir})
		if s.ClientURL() != "" || s.MaxStore() <= 0 {
			t.Errorf("url %q, size %d", s.ClientURL(), s.MaxStore())
		}
		write(t, s, "kept")
		s.Shutdown()
		s.Shutdown()
		if got := read(t, start(t, natsd.Options{Dir: dir})); got != "kept" {
			t.Errorf("got %q", got)
		}
	})

	t.Run("with an address it takes connections and 8 MiB messages", func(t *testing.T) {
		t.Parallel()
		s := start(t, natsd.Options{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
		nc, err := nats.Connect(s.ClientURL())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(nc.Close)
		if nc.MaxPayload() != 8<<20 {
			t.Errorf("max_payload is %d", nc.MaxPayload())
		}
	})

	t.Run("an address in use is an error that names it", func(t *testing.T) {
		t.Parallel()
		s := start(t, natsd.Options{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
		address := strings.TrimPrefix(s.ClientURL(), "nats://")
		if _, err := natsd.Start(t.Context(), natsd.Options{Dir: t.TempDir(), Listen: address}); err == nil || !strings.Contains(err.Error(), "address already in use") {
			t.Errorf("got %v", err)
		}
	})

	t.Run("a second server on the directory is refused until the first is gone", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		s := start(t, natsd.Options{Dir: dir})
		if _, err := natsd.Start(t.Context(), natsd.Options{Dir: dir}); !errors.Is(err, natsd.ErrInUse) {
			t.Errorf("got %v, want ErrInUse", err)
		}
		s.Shutdown()
		start(t, natsd.Options{Dir: dir})
	})

	t.Run("a store that shrank since keeps what it reserved", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		s := start(t, natsd.Options{Dir: dir, MaxStore: 1 << 30})
		write(t, s, "kept")
		s.Shutdown()
		if got := read(t, start(t, natsd.Options{Dir: dir, MaxStore: 256 << 20})); got != "kept" {
			t.Errorf("got %q", got)
		}
	})

	t.Run("an unusable listen address is refused", func(t *testing.T) {
		t.Parallel()
		for _, listen := range []string{"nowhere", "127.0.0.1:x", "127.0.0.1:70000"} {
			if _, err := natsd.Start(t.Context(), natsd.Options{Dir: t.TempDir(), Listen: listen}); err == nil {
				t.Errorf("%q was taken", listen)
			}
		}
	})
}

func TestEncryption(t *testing.T) {
	t.Parallel()
	const secret = "the row of a patient"
	dir, key, other := t.TempDir(), keyFile(t, "0123456789abcdef0123456789abcdef\n"), keyFile(t, "another key, as long as that one")
	s := start(t, natsd.Options{Dir: dir, KeyFile: key})
	write(t, s, secret)
	s.Shutdown()
	if holds(t, dir, secret) {
		t.Error("the text stands in a file")
	}
	for name, file := range map[string]string{"no key": "", "another key": other} {
		if _, err := natsd.Start(t.Context(), natsd.Options{Dir: dir, KeyFile: file}); !errors.Is(err, natsd.ErrKey) {
			t.Errorf("%s: got %v, want ErrKey", name, err)
		}
	}
	if got := read(t, start(t, natsd.Options{Dir: dir, KeyFile: key})); got != secret {
		t.Errorf("with the key: %q", got)
	}
	if _, err := natsd.Start(t.Context(), natsd.Options{Dir: t.TempDir(), KeyFile: keyFile(t, "short")}); err == nil {
		t.Error("a short key was taken")
	}

	plain := t.TempDir()
	s = start(t, natsd.Options{Dir: plain})
	write(t, s, secret)
	s.Shutdown()
	if !holds(t, plain, secret) {
		t.Error("the check for the text finds nothing in a plain store either")
	}
}

func TestWarningsArePassedOn(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var lines []string
	o := natsd.Options{Dir: t.TempDir(), Listen: "127.0.0.1:0", LogTo: func(line string) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, line)
	}}
	start(t, o)
	mu.Lock()
	defer mu.Unlock()
	for _, line := range lines {
		if strings.Contains(line, "Starting nats-server") {
			t.Errorf("a notice was passed on: %q", line)
		}
	}
}

func keyFile(t *testing.T, key string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(name, []byte(key), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func holds(t *testing.T, dir, text string) bool {
	t.Helper()
	found := false
	err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		found = found || strings.Contains(string(data), text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
