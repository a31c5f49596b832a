package prepare

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// errNotFile is returned for what may never end, or is no file.
var errNotFile = errors.New("it is no regular file")

// From opens images by paths that count from dir. Any file that a row names is opened.
func From(dir string) func(path string) (File, error) {
	return func(path string) (File, error) {
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		info, err := os.Stat(path) // before it is opened: opening a pipe may never end
		if err != nil {
			return File{}, fmt.Errorf("open image: %w", plain(err))
		}
		if !info.Mode().IsRegular() {
			return File{}, errNotFile
		}
		return sized(os.Open(path))
	}
}

// Within opens images by paths that count from root, and nothing outside of it, whatever a row names: no other absolute path, no way up and no
// link out.
func Within(root *os.Root) func(path string) (File, error) {
	return func(path string) (File, error) {
		if filepath.IsAbs(path) {
			dir, err := filepath.Abs(root.Name())
			if err == nil {
				path, err = filepath.Rel(dir, path)
			}
			if err != nil {
				return File{}, fmt.Errorf("open image: %w", err)
			}
		}
		info, err := root.Stat(path)
		if err != nil {
			return File{}, fmt.Errorf("open image in %s: %w", root.Name(), plain(err))
		}
		if !info.Mode().IsRegular() {
			return File{}, errNotFile
		}
		return sized(root.Open(path))
	}
}

func sized(file *os.File, err error) (File, error) {
	if err != nil {
		return File{}, fmt.Errorf("open image: %w", plain(err))
	}
	info, err := file.Stat()
	if err != nil {
		_ = file.Close()
		return File{}, fmt.Errorf("open image: %w", plain(err))
	}
	return File{ReadCloser: file, Size: info.Size()}, nil
}

// plain is an error without the path, which stands in front of it already.
func plain(err error) error {
	if where, ok := errors.AsType[*os.PathError](err); ok {
		return where.Err
	}
	return err
}
