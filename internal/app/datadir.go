package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// DirLock is the exclusive right to a data directory. The operating system drops it with the process, however that ends.
type DirLock struct{ lock *flock.Flock }

// DirBusyError is returned when another process holds the data directory.
type DirBusyError struct {
	Dir    string
	Holder Holder
}

// Holder is who holds a data directory.
type Holder struct {
	PID     int       `json:"pid"`
	Command string    `json:"command"`
	SinceAt time.Time `json:"since_at"`
}

// Error names the holder, if it has named itself.
func (e *DirBusyError) Error() string {
	if e.Holder.PID == 0 {
		return fmt.Sprintf("data directory %s is in use by another process: wait for it, stop it, or use another --data", e.Dir)
	}
	return fmt.Sprintf("data directory %s is in use by process %d (%s, since %s): wait for it, stop it, or use another --data",
		e.Dir, e.Holder.PID, e.Holder.Command, e.Holder.SinceAt.Local().Format(time.TimeOnly))
}

// DirProviderError is returned when the data directory serves another provider: a simulated answer must never pass for a real one.
type DirProviderError struct{ Dir, Has, Wanted string }

// Error names both.
func (e *DirProviderError) Error() string {
	return fmt.Sprintf("data directory %s serves the provider %s, not %s: use another --data", e.Dir, e.Has, e.Wanted)
}

// LockDir makes dir (0700, with a .gitignore that covers all of it) when it is missing, locks it, and notes which provider it serves the
// first time. It does not wait.
func LockDir(dir, provider string) (*DirLock, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make data directory: %w", err)
	}
	return lockFor(dir, func(l *DirLock) error { return l.claim(dir, provider) })
}

// ErrNoDir is returned when a directory that should be one of batchbus's is not there, or is something else.
var ErrNoDir = errors.New("it is no data directory of batchbus")

// LockExisting locks a data directory whatever provider it serves, for those who only look. [ErrNoDir]: there is none.
func LockExisting(dir string) (*DirLock, error) {
	if err := MustExist(dir); err != nil {
		return nil, err
	}
	return lockFor(dir, func(*DirLock) error { return writeHolder(dir) })
}

// lockFor locks and then claims.
func lockFor(dir string, claim func(*DirLock) error) (*DirLock, error) {
	l := &DirLock{lock: flock.New(filepath.Join(dir, "lock"), flock.SetPermissions(0o600))}
	locked, err := l.lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock data directory: %w", err)
	}
	if !locked {
		return nil, &DirBusyError{Dir: dir, Holder: readHolder(dir)}
	}
	if err := claim(l); err != nil {
		_ = l.Release()
		return nil, err
	}
	return l, nil
}

// providerFile says which provider a data directory serves.
const providerFile = "provider"

func (l *DirLock) claim(dir, provider string) error {
	if err := writeOnce(filepath.Join(dir, ".gitignore"), "*\n"); err != nil {
		return err
	}
	marker := filepath.Join(dir, providerFile)
	if err := writeOnce(marker, provider+"\n"); err != nil {
		return err
	}
	has, err := os.ReadFile(marker)
	if err != nil {
		return fmt.Errorf("read provider of data directory: %w", err)
	}
	if string(has) != provider+"\n" {
		return &DirProviderError{Dir: dir, Has: string(has[:max(0, len(has)-1)]), Wanted: provider}
	}
	return writeHolder(dir)
}

// holderFile is beside the lock and not in it, since some systems let nobody read a locked file.
const holderFile = "holder.json"

func writeHolder(dir string) error {
	holder, err := json.Marshal(Holder{PID: os.Getpid(), Command: filepath.Base(os.Args[0]), SinceAt: time.Now()})
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, holderFile), holder, 0o600)
	}
	if err != nil {
		return fmt.Errorf("name holder of data directory: %w", err)
	}
	return nil
}

// readHolder is the zero Holder when the holder has not named itself yet.
func readHolder(dir string) Holder {
	var holder Holder
	data, err := os.ReadFile(filepath.Join(dir, holderFile))
	if err != nil || json.Unmarshal(data, &holder) != nil {
		return Holder{}
	}
	return holder
}

// writeOnce writes a file that is not there yet. A half-written one after a crash is not possible: it is renamed into place.
func writeOnce(path, content string) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	draft := path + ".new"
	if err := os.WriteFile(draft, []byte(content), 0o600); err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(path), err)
	}
	if err := os.Rename(draft, path); err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(path), err)
	}
	return nil
}

// Release gives the directory up. It is idempotent.
func (l *DirLock) Release() error {
	if err := l.lock.Unlock(); err != nil {
		return fmt.Errorf("release data directory: %w", err)
	}
	return nil
}

// MustExist returns [ErrNoDir] when dir is no data directory, for those who would not make one.
func MustExist(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, providerFile)); err != nil {
		return fmt.Errorf("open %s: %w", dir, ErrNoDir)
	}
	return nil
}
