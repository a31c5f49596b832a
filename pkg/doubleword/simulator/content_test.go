package simulator_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
)

func TestContentHeadersFollowTheTable(t *testing.T) {
	t.Parallel()
	p := start(t, simulator.Config{})
	file := p.upload(chatRows(250))
	ids := p.create(file)
	p.untilStatus(ids.id, "completed")
	cases := []struct {
		file, query, incomplete, last string
		lines                         int
	}{
		{file, "", "false", "", 250},
		{file, "?limit=100", "true", "100", 100},
		{file, "?limit=100&skip=200", "false", "250", 50},
		{ids.output, "", "false", "250", 250},
		{ids.output, "?skip=240", "false", "250", 10},
		{ids.output, "?skip=900", "false", "900", 0},
		{ids.output, "?skip=-4", "false", "250", 250},
		{ids.output, "?offset=240", "false", "250", 250},
		{ids.output, "?limit=5000", "true", "101", 101},
		{ids.output, "?limit=0", "true", "1", 1},
		{ids.output, "?limit=50&skip=200", "false", "250", 50},
		{ids.output, "?search=ROW-001", "false", "", 10},
		{ids.output, "?search=row-_01_", "false", "", 10},
		{ids.output, "?search=w-%25249", "false", "", 1},
		{ids.output, "?search=row-001&limit=4", "true", "4", 4},
		{ids.errors, "", "false", "0", 0},
		{ids.errors, "?limit=3", "false", "0", 0},
	}
	for _, tc := range cases {
		a := p.content(tc.file, tc.query)
		n := strings.Count(a.body, "\n")
		if a.status != 200 || a.header.Get("X-Incomplete") != tc.incomplete || a.header.Get("X-Last-Line") != tc.last || n != tc.lines {
			t.Errorf("%s: %d, X-Incomplete %q, X-Last-Line %q, %d lines", tc.query, a.status,
				a.header.Get("X-Incomplete"), a.header.Get("X-Last-Line"), n)
		}
		if a.header.Get("Content-Type") != "application/x-ndjson" {
			t.Errorf("%s: content type %q", tc.query, a.header.Get("Content-Type"))
		}
	}
	if a := p.content(file, "?skip=x"); a.status != 400 {
		t.Errorf("a malformed skip: %d", a.status)
	}
}

func TestAReaderBySkipSeesEveryRowOnceWhileRowsArrive(t *testing.T) {
	t.Parallel()
	p := start(t, simulator.Config{Seed: 3, RowsPerSecond: 20_000, FailureRate: 0.1})
	ids := p.create(p.upload(chatRows(3000)))
	seen := map[string]int{}
	read := func(file string) func() bool {
		skip := 0
		return func() bool {
			a := p.content(file, fmt.Sprintf("?skip=%d", skip))
			for line := range strings.Lines(a.body) {
				seen[line[len(`{"id":"batch_req_`):][:36]]++
				skip++
			}
			if got := a.header.Get("X-Last-Line"); got != strconv.Itoa(skip) {
				t.Errorf("X-Last-Line %s after %d lines", got, skip)
			}
			return a.header.Get("X-Incomplete") == "true"
		}
	}
	output, errors := read(ids.output), read(ids.errors)
	for output() {
	}
	output()
	for errors() {
	}
	if len(seen) != 3000 {
		t.Errorf("%d rows", len(seen))
	}
	for id, n := range seen {
		if n != 1 {
			t.Errorf("row %s came %d times", id, n)
		}
	}
	if n := p.sim.Ledger().RowsRun; n != 3000 {
		t.Errorf("%d rows ran", n)
	}
}

func TestOutputIsNotInInputOrderButResultsAre(t *testing.T) {
	t.Parallel()
	p := start(t, simulator.Config{Seed: 9})
	ids := p.create(p.upload(chatRows(64) + chatRow("hot", `,"temperature":9`)))
	p.untilStatus(ids.id, "completed")
	ordered := func(body string) bool {
		last := ""
		for line := range strings.Lines(body) {
			_, rest, _ := strings.Cut(line, `"custom_id":"`)
			id, _, _ := strings.Cut(rest, `"`)
			if strings.HasPrefix(id, "row") && id < last {
				return false
			}
			last = id
		}
		return true
	}
	if ordered(p.content(ids.output, "").body) {
		t.Error("output is in input order")
	}
	a := p.get("/v1/batches/" + ids.id + "/results")
	if !ordered(a.body) || strings.Count(a.body, "\n") != 65 || a.header.Get("X-Last-Line") != "65" || a.header.Get("X-Incomplete") != "false" {
		t.Errorf("results %v", a.header)
	}
	for query, want := range map[string]int{"?status=failed": 1, "?status=completed": 64, "?status=canceled": 0, "?limit=10&skip=60": 5} {
		if a := p.get("/v1/batches/" + ids.id + "/results" + query); strings.Count(a.body, "\n") != want {
			t.Errorf("%s: %d lines", query, strings.Count(a.body, "\n"))
		}
	}
	failed := p.get("/v1/batches/" + ids.id + "/results?status=failed").body
	if !strings.Contains(failed, `"response_body":null,"error":"{\"type\":\"NonRetriableHttpStatus\"`) || !strings.Contains(failed, `"model":"m","input_body":{`) {
		t.Errorf("%s", failed)
	}
}
