package e2e_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf16"
)

// fileFolder is a folder with the files that docs/files.md and the examples of the commands name.
func fileFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	var all []string
	for i := range 6 {
		all = append(all, fmt.Sprintf(`{"custom_id":"r%d","method":"POST","url":"/v1/chat/completions","body":{"model":"model-%d","max_tokens":64,"user":"é\u2028","messages":[{"role":"user","content":"Hello"}]}}`, i, i%2))
	}
	pretty := strings.ReplaceAll(all[0], `,"`, ",\n  \"")
	write := func(name, content string) { writeFile(t, filepath.Join(dir, name), content) }
	write("rows.jsonl", strings.Join(all, "\n")+"\n")
	write("more.jsonl", strings.ReplaceAll(strings.Join(all, "\n"), `"r`, `"s`)+"\n")
	write("pretty.json", pretty+"\n"+pretty+"\n")
	write("export.json", "["+strings.Join(all, ",\n")+"]")
	write("noids.jsonl", strings.ReplaceAll(strings.Join(all, "\n"), `"custom_id":`, `"id":`))
	write("broken.jsonl", all[0]+"\n{oops\n"+all[1]+"\n")
	write("images.jsonl", strings.Replace(all[0], `"content":"Hello"`, `"content":[{"type":"image_url","image_url":{"url":"a.png"}}]`, 1))
	var wide bytes.Buffer
	for _, u := range utf16.Encode([]rune("\ufeff" + strings.Join(all, "\r\n"))) {
		wide.Write([]byte{byte(u), byte(u >> 8)})
	}
	write("utf16.jsonl", wide.String())
	for _, sub := range []string{"pictures", "data"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write("pictures/a.png", "\x89PNG\r\n\x1a\n\x00\x00")
	write("data/one.jsonl", all[0]+"\n")
	write("data/two.jsonl", all[1]+"\n")
	write("data/output.jsonl", `{"custom_id":"r0"}`+"\n")
	for name, text := range map[string]string{"results-a": "x", "results-b": "y"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		write(name+"/output.jsonl", `{"custom_id":"a","outcome":"succeeded","response":{"id":"`+text+`","choices":[{"message":{"content":"ok"}}]},"error":null}`+"\n")
		write(name+"/errors.jsonl", `{"custom_id":"b","outcome":"failed","response":null,"error":{"code":"boom"}}`+"\n")
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	fmt.Fprint(w, `{"id":null,"custom_id":"a","response":{"status_code":200,"body":{"choices":[{"message":{"content":"no"}}]}},"error":null}`)
	w.Close()
	write("results-c.jsonl.gz", packed.String())
	return dir
}

// shell runs one line as it stands in a document; "# exit N" at its end is the code that it ends with.
func shell(t *testing.T, dir, line string) string {
	t.Helper()
	want := 0
	if _, code, ok := strings.Cut(line, "# exit "); ok {
		want, _ = strconv.Atoi(code)
	}
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	cmd := exec.CommandContext(ctx, "bash", "-o", "pipefail", "-c", line)
	cmd.Dir = dir
	cmd.Env = append(cleanEnv(), "PATH="+os.Getenv(binDir)+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != want {
		t.Errorf("%s\nended with %v, want %d:\n%s", line, err, want, out)
	}
	return string(out)
}

func TestEveryCommandOfTheFilesPageRunsAsItStandsThere(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/files.md")
	if err != nil {
		t.Fatal(err)
	}
	dir, n := fileFolder(t), 0
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		for line := range strings.Lines(block[1]) {
			shell(t, dir, strings.TrimSpace(line))
			n++
		}
	}
	if n < 8 {
		t.Errorf("the page has %d commands", n)
	}
}

// fileCommands are the commands for files whose help has an example.
func fileCommands() []string {
	return []string{"prepare", "stats", "sample", "split", "merge", "diff", "completion"}
}

func TestTheExampleInEachHelpOfACommandForFilesRuns(t *testing.T) {
	t.Parallel()
	for _, name := range fileCommands() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := fileFolder(t)
			help := batchbus(t, dir, nil, name, "--help")
			help.want(t, 0)
			examples := regexp.MustCompile(`(?m)^ {4}(batchbus `+name+` .*)$`).FindAllStringSubmatch(help.stdout, -1)
			if len(examples) == 0 {
				t.Fatalf("no example in\n%s", help.stdout)
			}
			for _, example := range examples {
				shell(t, dir, example[1])
			}
		})
	}
}

func TestPrepareMakesRowsOfWhatValidateRefusesAsItsHintSays(t *testing.T) {
	t.Parallel()
	dir := fileFolder(t)
	for _, file := range []string{"pretty.json", "utf16.jsonl", "export.json"} {
		refused := batchbus(t, dir, nil, "validate", file)
		refused.want(t, 2)
		if !strings.Contains(refused.stdout, "`batchbus prepare`") {
			t.Errorf("no hint:\n%s", refused.stdout)
		}
		batchbus(t, dir, nil, "prepare", file, "-o", "new.jsonl").want(t, 0)
		if file == "pretty.json" {
			shell(t, dir, "head -n 1 new.jsonl > one.jsonl && mv one.jsonl new.jsonl") // it holds one row twice
		}
		batchbus(t, dir, nil, "validate", "new.jsonl").want(t, 0)
	}
}

func TestPrepareNamesBadRowsAndNeverTouchesItsInput(t *testing.T) {
	t.Parallel()
	dir := fileFolder(t)
	before, _ := os.ReadFile(filepath.Join(dir, "broken.jsonl"))
	o := batchbus(t, dir, nil, "prepare", "broken.jsonl")
	o.want(t, 1, "broken.jsonl:2:2: error: invalid_json", "3 rows in 1 file(s): 2 written, 0 of them changed; 1 bad")
	if want := strings.Replace(string(before), "{oops\n", "", 1); o.stdout != want {
		t.Errorf("stdout is %q, want %q", o.stdout, want)
	}
	batchbus(t, dir, nil, "prepare", "broken.jsonl", "--strict", "-o", "none.jsonl").want(t, 1, "nothing was written")
	if strict := batchbus(t, dir, nil, "prepare", "broken.jsonl", "--strict"); strict.code != 1 || strict.stdout != "" {
		t.Errorf("code %d, stdout %q", strict.code, strict.stdout)
	}
	batchbus(t, dir, nil, "prepare", "broken.jsonl", "-o", "./data/../broken.jsonl").want(t, 2, "choose another name")
	batchbus(t, dir, nil, "prepare", "rows.jsonl", "--set", "oops", "--drop", "a..b").want(t, 2, "--set", "--drop")
	after, _ := os.ReadFile(filepath.Join(dir, "broken.jsonl"))
	if _, err := os.Stat(filepath.Join(dir, "none.jsonl")); err == nil || !bytes.Equal(before, after) {
		t.Error("a strict run wrote, or the input changed")
	}
}

func TestPrepareKeepsItsMemoryFlat(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, err := os.Create(filepath.Join(dir, "big.json"))
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(file, "[")
	for i := range 200 { // 200 MB in one line
		fmt.Fprintf(file, `{"custom_id":"r%d","method":"POST","url":"/v1/embeddings","body":{"model":"m","input":"%s"}},`, i, strings.Repeat("x", 1<<20))
	}
	fmt.Fprint(file, "]")
	file.Close()
	o := batchbus(t, dir, nil, "prepare", "big.json", "-o", "out.jsonl", "--set", "body.dimensions=8")
	o.want(t, 0, "200 written, 200 of them changed")
	t.Logf("peak %d MiB", o.peak>>20)
	if o.peak > 150<<20 {
		t.Errorf("peak memory is %d MiB", o.peak>>20)
	}
}

func TestStatsCountWhatFilesHold(t *testing.T) {
	t.Parallel()
	dir := fileFolder(t)
	o := batchbus(t, dir, nil, "stats", "rows.jsonl", "broken.jsonl", "data")
	o.want(t, 0, "data/output.jsonl is left out")
	var s struct {
		Files        int            `json:"files"`
		Rows         int            `json:"rows"`
		Batches      int            `json:"batches"`
		BadRows      int            `json:"bad_rows"`
		BadCodes     map[string]int `json:"bad_codes"`
		Doubled      int            `json:"doubled_custom_ids"`
		Output       int            `json:"max_output_tokens"`
		FirstDoubled []struct {
			File      string `json:"file"`
			Line      int    `json:"line"`
			FirstFile string `json:"first_file"`
			FirstLine int    `json:"first_line"`
		} `json:"first_doubled"`
	}
	if err := json.Unmarshal([]byte(o.stdout), &s); err != nil {
		t.Fatal(err)
	}
	if s.Files != 4 || s.Rows != 11 || s.BadRows != 1 || s.BadCodes["invalid_json"] != 1 || s.Doubled != 4 || s.Batches != 2 || s.Output != 640 || len(s.FirstDoubled) != 4 {
		t.Errorf("%+v", s)
	}
	for _, d := range s.FirstDoubled {
		if d.FirstFile != "rows.jsonl" || d.File == "rows.jsonl" {
			t.Errorf("%+v", d)
		}
	}
	batchbus(t, dir, nil, "stats", "utf16.jsonl").want(t, 2, "batchbus prepare")
	batchbus(t, dir, nil, "stats", "data/*.csv").want(t, 2, "no files of rows")
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestSamplesPartsAndMergesKeepEveryRowAsItIs(t *testing.T) {
	t.Parallel()
	dir := fileFolder(t)
	all := read(t, filepath.Join(dir, "rows.jsonl"))
	lines := strings.SplitAfter(all, "\n")
	few := batchbus(t, dir, nil, "sample", "rows.jsonl", "-n", "3", "--seed", "7")
	few.want(t, 0, "3 of 6 rows, --seed 7")
	last := -1
	for line := range strings.Lines(few.stdout) {
		if at := slices.Index(lines, line); at <= last {
			t.Errorf("%q is row %d behind %d", line, at, last)
		} else {
			last = at
		}
	}
	if again := shell(t, dir, "cat rows.jsonl | batchbus sample - -n 3 --seed 7 2>/dev/null"); again != few.stdout {
		t.Errorf("the same seed takes other rows of a pipe: %s", again)
	}
	o := batchbus(t, dir, nil, "split", "rows.jsonl", "--rows", "4", "-o", "parts")
	o.want(t, 0)
	if !strings.Contains(o.stdout, `"rows":4`) || read(t, filepath.Join(dir, "parts/rows-0001.jsonl"))+read(t, filepath.Join(dir, "parts/rows-0002.jsonl")) != all {
		t.Errorf("the parts are not the whole: %s", o.stdout)
	}
	batchbus(t, dir, nil, "split", "rows.jsonl", "--rows", "5", "-o", "parts").want(t, 2, "there already")
	batchbus(t, dir, nil, "split", "broken.jsonl", "--by", "model", "-o", "models").want(t, 1, "1 row(s) are bad")
	if bad := read(t, filepath.Join(dir, "models/broken-bad.jsonl")); bad != "{oops\n" {
		t.Errorf("%q", bad)
	}
	batchbus(t, dir, nil, "split", "rows.jsonl", "--by", "model", "--rows", "2").want(t, 2, "--rows")
	refused := batchbus(t, dir, nil, "merge", "rows.jsonl", "parts", "-o", "both.jsonl")
	refused.want(t, 2, "6 row(s) have a custom_id that came before", "parts/rows-0002.jsonl:2 (first at rows.jsonl:6)")
	if _, err := os.Stat(filepath.Join(dir, "both.jsonl")); err == nil {
		t.Error("a refused merge wrote")
	}
	once := batchbus(t, dir, nil, "merge", "rows.jsonl", "parts", "broken.jsonl", "--on-duplicate", "first")
	once.want(t, 0, "8 with a custom_id that came before")
	if once.stdout != all+"{oops\n" {
		t.Errorf("%q", once.stdout)
	}
}

func TestDiffTellsHowResultsDiffer(t *testing.T) {
	t.Parallel()
	dir := fileFolder(t)
	o := batchbus(t, dir, nil, "diff", "results-a", "results-b")
	o.want(t, 1, "2 rows in A, 2 in B: 1 the same, 0 by their text; 0 only in A, 0 only in B, 0 with another outcome, 1 with another answer")
	lines := strings.Split(strings.TrimSpace(o.stdout), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], `{"custom_id":"a","change":"answer"`) || !strings.Contains(lines[0], `"same_text":true`) || !strings.HasPrefix(lines[1], `{"summary":{"rows_a":2`) {
		t.Errorf("%s", o.stdout)
	}
	batchbus(t, dir, nil, "diff", "--text", "results-a", "results-b").want(t, 0, "1 the same, 1 by their text")
	if out := shell(t, dir, "gzip -dc results-c.jsonl.gz | batchbus diff results-a - # exit 1"); !strings.Contains(out, `"change":"only_a"`) {
		t.Errorf("%s", out)
	}
	batchbus(t, dir, nil, "diff", "results-a", "data/one.txt").want(t, 2, "data/one.txt")
	batchbus(t, dir, nil, "diff", "results-a", "pictures").want(t, 2, "neither output.jsonl nor errors.jsonl")
}
