//go:build unix

package e2e_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	largeRows  = 600
	largeInput = 350 << 10 // bytes of each row's text
	// vector is a dimension whose answer, in base64, has 65536*4*4/3 bytes.
	vector = 65536
	// overPayload is a text whose row does not fit a message: natsd takes 8 MiB.
	overPayload = 9 << 20
)

// largeFile is a file of more than 200 MiB whose answers have as many, and with one row that no message holds.
func largeFile(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(dir, "large.jsonl")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriterSize(file, 1<<20)
	text := strings.Repeat("x", largeInput)
	for i := range largeRows {
		switch i {
		case largeRows / 2:
			text = strings.Repeat("x", overPayload)
		case largeRows/2 + 1:
			text = text[:largeInput]
		}
		fmt.Fprintf(w, `{"custom_id":"row-%d","method":"POST","url":"/v1/embeddings","body":{"model":"embed","input":"%s","dimensions":%d,"encoding_format":"base64"}}`+"\n", i, text, vector)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

//nolint:paralleltest // its memory is measured
func Test200MiBOfLongRowsAndAnswersTakeNoMoreMemoryThanShortOnes(t *testing.T) {
	dir := t.TempDir()
	o := batchbus(t, dir, nil, "run", largeFile(t, dir), "--json")
	o.want(t, 0)
	s := o.summary(t)
	if s.Rows.Total != largeRows || s.Rows.Succeeded != largeRows {
		t.Errorf("rows %+v", s.Rows)
	}
	output, err := os.Open(filepath.Join(dir, s.OutputFile))
	if err != nil {
		t.Fatal(err)
	}
	defer output.Close()
	lines, size := 0, 0
	for r := bufio.NewReaderSize(output, 1<<20); ; lines++ {
		line, err := r.ReadBytes('\n')
		if err != nil {
			break
		}
		size += len(line)
		if !bytes.HasPrefix(line, []byte(`{"custom_id":"row-`)) || len(line) < vector*4 {
			t.Fatalf("line %d has %d bytes: %.100s", lines+1, len(line), line)
		}
	}
	t.Logf("%d MiB of answers, peak memory %d MiB", size>>20, o.peak>>20)
	if lines != largeRows || size < 200<<20 || o.peak > 500<<20 {
		t.Errorf("%d lines of %d MiB, peak memory %d MiB, want %d lines of 200 MiB and more, and at most 500 MiB", lines, size>>20, o.peak>>20, largeRows)
	}
}
