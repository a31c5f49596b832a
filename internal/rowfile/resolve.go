package rowfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Stdin is the name of standard input.
const Stdin = "-"

// ErrNoFiles is returned when a folder holds, or a pattern matches, no file of rows.
var ErrNoFiles = errors.New("no files of rows")

// Files are those that a command line means.
type Files struct {
	Paths []string // Paths are in the order in which they are read; [Stdin] is one of them at most.
	// LeftOut are those in folders and behind patterns that are taken for answers.
	LeftOut []string
}

// Resolve finds the files that the arguments of a command mean. A file that is named twice is there twice. All faults are reported; one is
// [ErrNoFiles], and one says that standard input is named twice.
func Resolve(args []string) (Files, error) {
	var all Files
	var faults []error
	for _, arg := range args {
		if arg == Stdin && slices.Contains(all.Paths, Stdin) {
			faults = append(faults, errors.New("- stands for standard input and is named twice"))
			continue
		}
		faults = append(faults, all.add(arg))
	}
	return all, errors.Join(faults...)
}

// add finds what one argument means.
func (f *Files) add(arg string) error {
	if arg == Stdin {
		f.Paths = append(f.Paths, arg)
		return nil
	}
	info, err := os.Stat(arg)
	switch {
	case err == nil && info.IsDir():
		return f.addFolder(arg)
	case err == nil:
		f.Paths = append(f.Paths, arg)
		return nil
	case errors.Is(err, fs.ErrNotExist) && strings.ContainsAny(arg, "*?["):
		return f.addMatches(arg)
	}
	return fmt.Errorf("open rows: %w", err)
}

func (f *Files) addMatches(pattern string) error {
	found, err := filepath.Glob(pattern)
	if err != nil {
		return fmt.Errorf("read pattern %s: %w", pattern, err)
	}
	before := len(f.Paths)
	for _, path := range found {
		info, err := os.Stat(path)
		switch {
		case err != nil:
			return fmt.Errorf("open rows: %w", err)
		case info.IsDir():
			if err := f.addFolder(path); err != nil && !errors.Is(err, ErrNoFiles) {
				return err
			}
		default:
			f.take(path)
		}
	}
	if len(f.Paths) == before {
		return fmt.Errorf("%w match %s", ErrNoFiles, pattern)
	}
	return nil
}

// addFolder walks a folder. Links to folders in it are not followed.
func (f *Files) addFolder(dir string) error {
	before := len(f.Paths)
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != dir && strings.HasPrefix(entry.Name(), "."):
			return filepath.SkipDir
		case !entry.IsDir() && isRows(entry.Name()):
			f.take(path)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("look into folder: %w", err)
	}
	if len(f.Paths) == before {
		return fmt.Errorf("%w in folder %s: they are called *.jsonl, *.ndjson, or that with .gz", ErrNoFiles, dir)
	}
	return nil
}

func isRows(name string) bool {
	name = strings.TrimSuffix(name, ".gz")
	return strings.HasSuffix(name, ".jsonl") || strings.HasSuffix(name, ".ndjson")
}

// take adds a file that nobody named, unless it is hidden or holds answers.
func (f *Files) take(path string) {
	name := filepath.Base(path)
	switch strings.TrimSuffix(name, ".gz") {
	case "output.jsonl", "errors.jsonl":
		f.LeftOut = append(f.LeftOut, path)
	default:
		if !strings.HasPrefix(name, ".") {
			f.Paths = append(f.Paths, path)
		}
	}
}
