package rowfile_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/batchbus/batchbus/internal/rowfile"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func packed(t *testing.T, text string) string {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// folder makes files, each with its own name as content.
func folder(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(name), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestArgumentsMeanFilesFoldersAndPatterns(t *testing.T) {
	t.Parallel()
	dir := folder(t, "b.jsonl", "a.jsonl.gz", "c.ndjson", "note.txt", ".hidden.jsonl", "sub/d.jsonl", ".batchbus/x.jsonl",
		"batchbus-out/run-1/output.jsonl", "batchbus-out/run-1/errors.jsonl", "odd[1].jsonl", "empty/e.txt")
	for name, c := range map[string]struct {
		args, want, leftOut []string
	}{
		"a folder":                     {[]string{""}, []string{"a.jsonl.gz", "b.jsonl", "c.ndjson", "odd[1].jsonl", "sub/d.jsonl"}, []string{"batchbus-out/run-1/errors.jsonl", "batchbus-out/run-1/output.jsonl"}},
		"a pattern":                    {[]string{"*.jsonl"}, []string{"b.jsonl", "odd[1].jsonl"}, nil},
		"a pattern of folders":         {[]string{"s*"}, []string{"sub/d.jsonl"}, nil},
		"a file called like a pattern": {[]string{"odd[1].jsonl"}, []string{"odd[1].jsonl"}, nil},
		"answers that are named":       {[]string{"batchbus-out/run-1/output.jsonl"}, []string{"batchbus-out/run-1/output.jsonl"}, nil},
		"answers behind a pattern":     {[]string{"batchbus-out/*/*.jsonl", "b.jsonl"}, nil, nil},
		"any file by its name, twice":  {[]string{"note.txt", ".hidden.jsonl", "note.txt"}, []string{"note.txt", ".hidden.jsonl", "note.txt"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			below := func(names []string) (all []string) {
				for _, n := range names {
					all = append(all, filepath.Join(dir, n))
				}
				return all
			}
			got, err := rowfile.Resolve(below(c.args))
			if c.want == nil {
				if !errors.Is(err, rowfile.ErrNoFiles) {
					t.Errorf("%v %v", got, err)
				}
				return
			}
			if err != nil || !slices.Equal(got.Paths, below(c.want)) || !slices.Equal(got.LeftOut, below(c.leftOut)) {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
	if got, err := rowfile.Resolve([]string{"-", filepath.Join(dir, "b.jsonl")}); err != nil || len(got.Paths) != 2 {
		t.Errorf("%v %v", got, err)
	}
	_, err := rowfile.Resolve([]string{"-", "-", filepath.Join(dir, "empty"), filepath.Join(dir, "absent.jsonl")})
	for _, text := range []string{"named twice", "in folder", "absent.jsonl"} {
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%v does not say %s", err, text)
		}
	}
}

func TestFilesAreUnpackedByTheirFirstBytes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{"": false, "{}\n": false, packed(t, "{}\n"): true, packed(t, "{") + packed(t, "}\n"): true} {
		path := filepath.Join(t.TempDir(), "f.jsonl")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := rowfile.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(file)
		if plain := strings.TrimPrefix("{}\n", ""); err != nil || file.Packed != want || text != "" && string(got) != plain {
			t.Errorf("%q: %q %v", text, got, err)
		}
		file.Close()
	}
	cut := filepath.Join(t.TempDir(), "cut.gz")
	if err := os.WriteFile(cut, []byte(packed(t, "{}\n")[:15]), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := rowfile.Open(cut)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := io.ReadAll(file); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a file that was cut: %v", err)
	}
}

func TestANewFileIsThereWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	dir := folder(t, "in.jsonl", "old.jsonl")
	in := filepath.Join(dir, "in.jsonl")
	for _, name := range []string{"new.jsonl", "old.jsonl", "new.jsonl.gz"} {
		path := filepath.Join(dir, name)
		before, _ := os.ReadFile(path)
		for _, keep := range []bool{false, true} {
			out, err := rowfile.Create(path, []string{in, rowfile.Stdin})
			if err != nil {
				t.Fatal(err)
			}
			_, _ = out.WriteString("{}\n")
			if got, _ := os.ReadFile(path); !bytes.Equal(got, before) {
				t.Errorf("%s changed before its time: %q", name, got)
			}
			if keep {
				err = out.Commit()
			}
			out.Discard()
			if got, _ := os.ReadFile(path); err != nil || !keep && !bytes.Equal(got, before) {
				t.Errorf("%s: %q %v", name, got, err)
			}
		}
		file, err := rowfile.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(file); err != nil || string(got) != "{}\n" || file.Packed != strings.HasSuffix(name, ".gz") {
			t.Errorf("%s: %q %v", name, got, err)
		}
		file.Close()
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".*")); left != nil {
		t.Errorf("left behind: %v", left)
	}
}

func TestAFileThatIsFinishedHasItsNameAtTheCommit(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f.jsonl.gz")
	out, err := rowfile.Create(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = out.WriteString("{}\n")
	if err := out.Finish(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("it is there before its time")
	}
	if err := out.Commit(); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(path); string(got) != packed(t, "{}\n") {
		t.Errorf("%q", got)
	}
}

func TestAFileThatIsReadIsNotWritten(t *testing.T) {
	t.Parallel()
	dir := folder(t, "in.jsonl")
	in, link := filepath.Join(dir, "in.jsonl"), filepath.Join(dir, "link.jsonl")
	if err := os.Symlink("in.jsonl", link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{in, link, filepath.Join(dir, ".", "x", "..", "in.jsonl")} {
		if _, err := rowfile.Create(path, []string{in}); !errors.Is(err, rowfile.ErrIsInput) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if got, _ := os.ReadFile(in); string(got) != "in.jsonl" {
		t.Errorf("%q", got)
	}
}

func TestWhatIsHeldBackComesAtTheCommitOrNever(t *testing.T) {
	t.Parallel()
	for _, keep := range []bool{false, true} {
		var to bytes.Buffer
		out, err := rowfile.Held(&to)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = out.WriteString(strings.Repeat("x", 1<<20))
		if to.Len() > 0 {
			t.Error("it came at once")
		}
		if keep {
			err = out.Commit()
		}
		out.Discard()
		if err != nil || (to.Len() == 1<<20) != keep {
			t.Errorf("%d bytes, %v", to.Len(), err)
		}
	}
}

func TestStandardInputIsKeptToBeReadTwice(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"{}\n", packed(t, "{}\n")} {
		spool, err := rowfile.NewSpool(t.Context(), strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			file, err := spool.Open()
			if err != nil {
				t.Fatal(err)
			}
			if got, err := io.ReadAll(file); err != nil || string(got) != "{}\n" {
				t.Errorf("%q %v", got, err)
			}
		}
		if err := spool.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestAReadThatBlocksEndsWithItsContext(t *testing.T) {
	t.Parallel()
	from, to := io.Pipe()
	ctx, stop := context.WithCancelCause(t.Context())
	why := errors.New("stopped")
	r := rowfile.Interruptible(ctx, from)
	go func() { _, _ = io.WriteString(to, "ab"); stop(why) }()
	got, err := io.ReadAll(r)
	if !errors.Is(err, why) || len(got) > 0 && string(got) != "ab" {
		t.Errorf("%q %v", got, err)
	}
	if _, err := rowfile.NewSpool(ctx, from); !errors.Is(err, why) {
		t.Error(err)
	}
	to.Close()
}
