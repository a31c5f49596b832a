package simulator_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
)

// discard is a ResponseWriter that keeps the status and counts lines.
type discard struct {
	header http.Header
	status int
	lines  int
}

func (d *discard) Header() http.Header    { return d.header }
func (d *discard) WriteHeader(status int) { d.status = status }
func (d *discard) Write(p []byte) (int, error) {
	d.lines += bytes.Count(p, []byte("\n"))
	return len(p), nil
}

func readAll(b *testing.B, sim *simulator.Simulator, path string) *discard {
	b.Helper()
	w := &discard{header: http.Header{}}
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.Header.Set("Authorization", "Bearer key")
	sim.ServeHTTP(w, r)
	if w.status != http.StatusOK {
		b.Fatalf("%s: %d", path, w.status)
	}
	return w
}

func posted(b *testing.B, sim *simulator.Simulator, path, contentType, body string) map[string]any {
	b.Helper()
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer key")
	r.Header.Set("Content-Type", contentType)
	sim.ServeHTTP(w, r)
	var v map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil {
		b.Fatalf("%s: %d %s", path, w.Code, w.Body)
	}
	return v
}

// benchmarkBatch runs a batch of rows of about 1 KB and returns its output file.
func benchmarkBatch(b *testing.B, sim *simulator.Simulator, rows int) string {
	b.Helper()
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	part, _ := w.CreateFormFile("file", "rows.jsonl")
	for i := range rows {
		fmt.Fprint(part, chatRow(strconv.Itoa(i), `,"user":"`+strings.Repeat("x", 850)+`"`))
	}
	w.Close()
	file := posted(b, sim, "/v1/files", w.FormDataContentType(), form.String())["id"].(string)
	batch := posted(b, sim, "/v1/batches", "application/json", createBody(file))
	for sim.Ledger().RowsRun < rows {
		readAll(b, sim, "/v1/batches/"+batch["id"].(string))
	}
	return batch["output_file_id"].(string)
}

func BenchmarkContent(b *testing.B) {
	sim, err := simulator.New(simulator.Config{})
	if err != nil {
		b.Fatal(err)
	}
	defer sim.Close()
	const rows = 20_000
	output := benchmarkBatch(b, sim, rows)
	for b.Loop() {
		readAll(b, sim, "/v1/files/"+output+"/content")
	}
	b.ReportMetric(float64(rows*b.N)/b.Elapsed().Seconds(), "rows/s")
}
