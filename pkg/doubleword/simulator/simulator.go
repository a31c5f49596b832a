package simulator

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// errClosed is what every change meets after Close.
var errClosed = errors.New("simulator is closed")

// Simulator is one simulated provider. It is safe for concurrent use.
type Simulator struct {
	cfg     Config
	mux     *http.ServeMux
	dir     string
	spools  *os.Root
	words   []string
	stop    chan struct{}
	running sync.WaitGroup
	faults  atomic.Pointer[[]Fault]

	mu      sync.Mutex // guards what follows; never held while waiting
	state   *state
	journal *journal
	closed  bool
}

// New makes a simulator. With Config.Dir it continues from what an earlier one left there, however that one ended;
// unfinished batches go on at once. One process at a time may use a directory.
func New(cfg Config) (*Simulator, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Simulator{
		cfg: cfg, dir: cfg.Dir, stop: make(chan struct{}), state: newState(), words: strings.Fields(vocabulary),
	}
	faults := append([]Fault{}, cfg.Faults...) // none is written as [] and not as null
	s.faults.Store(&faults)
	s.mux = s.routes()
	if err := s.open(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.resume()
	return s, nil
}

func (s *Simulator) open() error {
	if s.dir == "" {
		dir, err := os.MkdirTemp("", "simulator-*")
		s.dir = dir
		if err != nil {
			return fmt.Errorf("create temporary directory: %w", err)
		}
	}
	if err := os.MkdirAll(s.spoolDir(), 0o700); err != nil {
		return fmt.Errorf("create directory: %w", err)
	}
	var err error
	if s.spools, err = os.OpenRoot(s.spoolDir()); err != nil {
		return fmt.Errorf("open directory: %w", err)
	}
	if s.cfg.Dir == "" {
		return nil
	}
	return s.recover()
}

func (s *Simulator) spoolDir() string { return filepath.Join(s.dir, "files") }

// recover replays the journal, indexes the files it names and sweeps what it does not.
func (s *Simulator) recover() error {
	j, err := openJournal(filepath.Join(s.dir, "journal.jsonl"), s.state.apply)
	if err != nil {
		return err
	}
	s.journal = j
	now := time.Now()
	for _, f := range s.state.fileOrder {
		if f.role != inputFile || !s.state.needed(f, now) {
			continue
		}
		if f.rows, err = openIndex(s.spools, spoolName(f.ID)); err != nil {
			return err
		}
	}
	return s.sweepSpools()
}

// sweepSpools removes leftovers of uploads that were never stored and of files that nothing reads any more.
func (s *Simulator) sweepSpools() error {
	entries, err := os.ReadDir(s.spoolDir())
	if err != nil {
		return fmt.Errorf("list files: %w", err)
	}
	for _, e := range entries {
		if f, ok := s.state.files[strings.TrimSuffix(e.Name(), ".jsonl")]; ok && f.rows != nil {
			continue
		}
		if err := s.spools.Remove(e.Name()); err != nil {
			return fmt.Errorf("remove leftover: %w", err)
		}
	}
	return nil
}

// commit makes one event durable against process death, then true. The caller holds s.mu.
func (s *Simulator) commit(ev event) error {
	if s.closed {
		return errClosed
	}
	ev.At = ev.At.Round(0)
	if err := s.journal.append(ev); err != nil {
		return err
	}
	if err := s.state.apply(ev); err != nil {
		return err
	}
	if b, ok := s.state.batches[ev.ID]; ok {
		s.afterwards(b)
	}
	return nil
}

// newID makes an identifier from seed, clock and count: the same in equal fake-time runs, new after a restart.
func (s *Simulator) newID(kind string, now time.Time) string {
	s.state.identifiers++
	h := mix(mix(s.cfg.Seed, hashString(kind)), s.state.identifiers)
	return string(appendUUID(nil, mix(h, uint64(now.UnixNano())), mix(h, s.state.identifiers)))
}

// callersID is the id of something that a call makes.
func (s *Simulator) callersID(kind string, now time.Time, c call) string {
	id := s.newID(kind, now)
	if _, ok := s.faultAt(FaultPrefixedIDs, c); !ok && s.cfg.Dialect != DialectOpenAI {
		return id
	}
	return s.cfg.Dialect.id(kind, id)
}

// ServeHTTP answers the provider's routes under /v1/ and the simulator's own under /_simulator/.
func (s *Simulator) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Close stops the batches and waits for them. With Config.Dir everything stays for the next New; without, the
// temporary directory goes. Requests after it get 500. It is idempotent.
func (s *Simulator) Close() error {
	s.mu.Lock()
	first := !s.closed
	s.closed = true
	s.mu.Unlock()
	if !first {
		return nil
	}
	close(s.stop)
	s.running.Wait()
	err := errors.Join(s.closeSpools(), s.journal.close())
	if s.cfg.Dir == "" {
		err = errors.Join(err, os.RemoveAll(s.dir))
	}
	return err
}

// closeSpools also serves a New that failed early.
func (s *Simulator) closeSpools() error {
	if s.spools == nil {
		return nil
	}
	if err := s.spools.Close(); err != nil {
		return fmt.Errorf("close directory: %w", err)
	}
	return nil
}
