package app_test

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/batchbus/batchbus/internal/app"
)

func TestADataDirectoryIsPrivateAndInNoRepository(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "data")
	lock, err := app.LockDir(dir, "simulator")
	ok(t, err)
	defer lock.Release()
	info, err := os.Stat(dir)
	ok(t, err)
	if info.Mode().Perm() != 0o700 {
		t.Errorf("mode %o", info.Mode().Perm())
	}
	ignored, err := os.ReadFile(filepath.Join(dir, ".gitignore"))
	ok(t, err)
	if string(ignored) != "*\n" {
		t.Errorf(".gitignore is %q", ignored)
	}
	files, err := os.ReadDir(dir)
	ok(t, err)
	for _, f := range files {
		info, err := f.Info()
		ok(t, err)
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: mode %o", f.Name(), info.Mode().Perm())
		}
	}
}

func TestABusyDirectoryNamesItsHolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lock, err := app.LockDir(dir, "simulator")
	ok(t, err)
	_, err = app.LockDir(dir, "simulator")
	busy, is := errors.AsType[*app.DirBusyError](err)
	if !is || busy.Dir != dir || busy.Holder.PID != os.Getpid() || busy.Holder.SinceAt.IsZero() {
		t.Fatalf("%+v", err)
	}
	for _, part := range []string{dir, strconv.Itoa(os.Getpid()), filepath.Base(os.Args[0])} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not name %s", err, part)
		}
	}
	ok(t, os.Remove(filepath.Join(dir, "holder.json")))
	if _, err = app.LockDir(dir, "simulator"); err == nil || strings.Contains(err.Error(), "process 0") {
		t.Errorf("a holder that has not named itself is called %v", err)
	}
	ok(t, lock.Release())
	ok(t, lock.Release())
	again, err := app.LockDir(dir, "simulator")
	ok(t, err)
	ok(t, again.Release())
}

func TestADirectoryServesOneProvider(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lock, err := app.LockDir(dir, "simulator")
	ok(t, err)
	ok(t, lock.Release())
	_, err = app.LockDir(dir, "https://api.example.com/v1")
	other, is := errors.AsType[*app.DirProviderError](err)
	if !is || other.Has != "simulator" || other.Wanted != "https://api.example.com/v1" {
		t.Fatalf("%+v", err)
	}
	lock, err = app.LockDir(dir, "simulator") // the refusal released the lock
	ok(t, err)
	ok(t, lock.Release())
}

func TestALockEndsWithItsProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	holder := start(t, "holder", dir)
	if line := holder.line(); line != "locked" {
		t.Fatal(line)
	}
	_, err := app.LockDir(dir, "simulator")
	if busy, is := errors.AsType[*app.DirBusyError](err); !is || busy.Holder.PID != holder.cmd.Process.Pid {
		t.Fatalf("held by %d: %v", holder.cmd.Process.Pid, err)
	}
	ok(t, holder.cmd.Process.Kill())
	if err := holder.cmd.Wait(); err == nil {
		t.Fatal("the holder ended by itself")
	}
	lock, err := app.LockDir(dir, "simulator")
	ok(t, err)
	ok(t, lock.Release())
}
