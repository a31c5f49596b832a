package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/batchbus/batchbus/internal/app"
)

// finding is one thing that validate has to say about a row.
type finding struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Column  int    `json:"column,omitempty"`
	Code    string `json:"code"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
	Warning bool   `json:"warning"`
}

// reporter prints findings: lines for people, or JSON lines.
type reporter struct {
	out  io.Writer
	json *json.Encoder
}

func newReporter(env app.Env, asJSON bool) reporter {
	r := reporter{out: env.Stdout}
	if asJSON {
		r.json = json.NewEncoder(env.Stdout)
		r.json.SetEscapeHTML(false)
	}
	return r
}

func (r reporter) finding(f finding) {
	if r.json != nil {
		_ = r.json.Encode(f) //nolint:errchkjson // a stdout that is gone is nobody's to tell
		return
	}
	kind := "error"
	if f.Warning {
		kind = "warning"
	}
	place := fmt.Sprintf("%s:%d", printable(f.File), f.Line)
	if f.Column > 0 {
		place += fmt.Sprintf(":%d", f.Column)
	}
	fmt.Fprintf(r.out, "%s: %s: %s: %s", place, kind, printable(f.Code), printable(f.Message))
	if f.Hint != "" {
		fmt.Fprintf(r.out, " (%s)", printable(f.Hint))
	}
	fmt.Fprintln(r.out)
}

func (r reporter) total(rows, bad, warnings int) {
	if r.json != nil {
		_ = r.json.Encode(map[string]int{"rows": rows, "bad": bad, "warnings": warnings}) //nolint:errchkjson // as above
		return
	}
	fmt.Fprintf(r.out, "%d rows: %d bad, %d warnings\n", rows, bad, warnings)
}
