package ingest

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// BenchmarkJudgeAndPack is the processor's share of ingest: rows of 1 KB in messages of 100, without the bus.
func BenchmarkJudgeAndPack(b *testing.B) {
	var payload strings.Builder
	for i := range 100 {
		fmt.Fprintf(&payload, `{"custom_id":"row-%d","method":"POST","url":"/v1/embeddings","body":{"model":"m","input":"%s"}}`+"\n",
			i, strings.Repeat("word ", 190))
	}
	data, p := []byte(payload.String()), snapshotOf(nil)
	w := packer{limit: 4 << 20, open: make(map[string]*sheet)}
	var j judge
	r := request{origin: originOf("", time.Unix(1, 0), 7), firstLine: 1}
	b.SetBytes(int64(len(data) / 100))
	b.ReportAllocs()
	for n := 0; n < b.N; n += 100 {
		var m message
		for v := range j.rows(&r, p, data) {
			if full := w.add(p.subject, v.entry, &m); full != nil {
				w.recycle(full)
			}
		}
	}
}
