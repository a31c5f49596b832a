package simulator_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
)

// row is one line of a result file.
type row struct {
	CustomID string `json:"custom_id"`
	Response *struct {
		StatusCode int             `json:"status_code"`
		Body       json.RawMessage `json:"body"`
	} `json:"response"`
	Error *struct {
		Message string `json:"message"`
	} `json:"error"`
}

func (p *provider) rows(fileID string) map[string]row {
	p.t.Helper()
	found := map[string]row{}
	for _, line := range lines(p.content(fileID, "").body) {
		var r row
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			p.t.Fatalf("%v in %q", err, line)
		}
		found[r.CustomID] = r
	}
	return found
}

// named is a fault of row-0001 of the first batch; row-0002 sees what happens without.
func named(f simulator.Fault) simulator.Config {
	f.CustomIDs = []string{"row-0001"}
	return simulator.Config{Faults: []simulator.Fault{f}}
}

func TestAnswersComeInOddShapes(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		fault simulator.Fault
		is    func(hit, spared string) bool
	}{
		"a raw event stream": {simulator.Fault{Kind: simulator.FaultStringBody}, func(hit, _ string) bool {
			return strings.HasPrefix(hit, `"data: {\"choices\":`) && strings.HasSuffix(hit, `\n\n"`)
		}},
		"a chosen text": {simulator.Fault{Kind: simulator.FaultStringBody, Text: "<html>"}, func(hit, _ string) bool { return hit == `"<html>"` }},
		"null":          {simulator.Fault{Kind: simulator.FaultNullBody}, func(hit, _ string) bool { return hit == "null" }},
		"a truncated answer": {simulator.Fault{Kind: simulator.FaultTruncated}, func(hit, spared string) bool {
			return strings.Contains(hit, `"finish_reason":"length"`) && strings.Contains(hit, `"completion_tokens":4`) && len(hit) < len(spared)
		}},
		"a broken stream": {simulator.Fault{Kind: simulator.FaultTruncated, Text: "null"}, func(hit, _ string) bool {
			return strings.Contains(hit, `"finish_reason":null`)
		}},
		"a substitute": {simulator.Fault{Kind: simulator.FaultModelSubstituted}, func(hit, _ string) bool {
			return strings.Contains(hit, `"model":"substitute/model"`)
		}},
	} {
		t.Run("as "+name+", and only where told", func(t *testing.T) {
			t.Parallel()
			p := start(t, named(tc.fault))
			batch := p.create(p.upload(chatRows(3)))
			p.untilStatus(batch.id, "completed")
			rows := p.rows(batch.output)
			hit, spared := string(rows["row-0001"].Response.Body), string(rows["row-0002"].Response.Body)
			if !tc.is(hit, spared) || tc.is(spared, spared) || !json.Valid([]byte(hit)) {
				t.Errorf("hit %s\nspared %s", hit, spared)
			}
			if results := p.get("/v1/batches/" + batch.id + "/results").body; !strings.Contains(results, `"response_body":`+hit+`,`) {
				t.Errorf("results differ: %s", results)
			}
		})
	}
}

func TestOtherEndpointsAreTruncatedToo(t *testing.T) {
	t.Parallel()
	p := start(t, simulator.Config{Faults: []simulator.Fault{{Kind: simulator.FaultTruncated}}})
	batch := p.create(p.upload(
		`{"custom_id":"a","method":"POST","url":"/v1/responses","body":{"model":"m","input":"hello"}}` + "\n" +
			`{"custom_id":"b","method":"POST","url":"/v1/messages","body":{"model":"m","max_tokens":90,"messages":[{"role":"user","content":"hello"}]}}` + "\n" +
			`{"custom_id":"c","method":"POST","url":"/v1/completions","body":{"model":"m","prompt":"hello"}}` + "\n"))
	p.untilStatus(batch.id, "completed")
	rows := p.rows(batch.output)
	for id, want := range map[string]string{
		"a": `"reason":"max_output_tokens"`, "b": `"stop_reason":"max_tokens"`, "c": `"finish_reason":"length"`,
	} {
		if body := string(rows[id].Response.Body); !strings.Contains(body, want) {
			t.Errorf("%s: %s", id, body)
		}
	}
}

func TestALineStandsTwice(t *testing.T) {
	t.Parallel()
	p := start(t, named(simulator.Fault{Kind: simulator.FaultDuplicateRow}))
	batch := p.create(p.upload(chatRows(3)))
	done := p.untilStatus(batch.id, "completed")
	a := p.content(batch.output, "")
	if strings.Count(a.body, `"row-0001"`) != 2 || strings.Count(a.body, "\n") != 4 || a.header.Get("X-Last-Line") != "4" {
		t.Errorf("%v %s", a.header, a.body)
	}
	if counts := done["request_counts"].(map[string]any); counts["completed"] != 3.0 {
		t.Errorf("%v", counts)
	}
}

func TestAnErrorIsJSONInAStringThreeLayersDeep(t *testing.T) {
	t.Parallel()
	p := start(t, named(simulator.Fault{Kind: simulator.FaultNestedError, Status: 422, Text: "the reason"}))
	batch := p.create(p.upload(chatRows(3)))
	p.untilStatus(batch.id, "completed")
	failed := p.rows(batch.errors)
	if len(failed) != 1 || failed["row-0001"].Error == nil {
		t.Fatalf("%v", failed)
	}
	var reason struct {
		Type    string `json:"type"`
		Details struct {
			Status int    `json:"status"`
			Body   string `json:"body"`
		} `json:"details"`
	}
	type wrapped struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	var outer, inner wrapped
	for _, layer := range []struct {
		text func() string
		into any
	}{
		{func() string { return failed["row-0001"].Error.Message }, &reason},
		{func() string { return reason.Details.Body }, &outer},
		{func() string { return outer.Error.Message }, &inner},
	} {
		if err := json.Unmarshal([]byte(layer.text()), layer.into); err != nil {
			t.Fatalf("%v in %q", err, layer.text())
		}
	}
	if inner.Error.Message != "the reason" || reason.Details.Status != 422 || reason.Type != "NonRetriableHttpStatus" {
		t.Errorf("%+v %+v", reason, inner)
	}
}

func TestARowIsTriedAgainUntilTheDeadlineAndOnceAfterIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := named(simulator.Fault{Kind: simulator.FaultRetriedRow})
		p := start(t, f)
		batch := p.create(p.upload(chatRows(3)))
		time.Sleep(23 * time.Hour)
		if done, failed := p.counts(batch.id); done != 2 || failed != 0 || p.status(batch.id) != "in_progress" {
			t.Errorf("before: %v, %v, %s", done, failed, p.status(batch.id))
		}
		time.Sleep(time.Hour + time.Second)
		if done, failed := p.counts(batch.id); done != 2 || failed != 1 || p.status(batch.id) != "completed" {
			t.Errorf("after: %v, %v, %s", done, failed, p.status(batch.id))
		}
		if got := p.rows(batch.errors)["row-0001"].Error.Message; !strings.HasPrefix(got, `{"type":"RetriableHttpStatus","details":{"status":404,`) {
			t.Errorf("%s", got)
		}
		p.call(http.MethodPost, "/v1/batches/"+batch.id+"/retry", "")
		time.Sleep(time.Second)
		if _, failed := p.counts(batch.id); failed != 1 || p.status(batch.id) != "completed" {
			t.Errorf("the one attempt: %v, %s", failed, p.status(batch.id))
		}
		if err := p.sim.SetFaults(); err != nil {
			t.Fatal(err)
		}
		p.call(http.MethodPost, "/v1/batches/"+batch.id+"/retry", "")
		time.Sleep(time.Second)
		if done, _ := p.counts(batch.id); done != 3 {
			t.Errorf("with the model back: %v", done)
		}
	})
}

func TestACancelEndsARowThatIsTriedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := start(t, named(simulator.Fault{Kind: simulator.FaultRetriedRow}))
		batch := p.create(p.upload(chatRows(3)))
		time.Sleep(time.Hour)
		p.cancel(batch.id)
		if err := p.sim.SetFaults(); err != nil {
			t.Fatal(err)
		}
		p.call(http.MethodPost, "/v1/batches/"+batch.id+"/retry", "")
		time.Sleep(time.Second)
		if done, _ := p.counts(batch.id); done != 3 || p.status(batch.id) != "completed" {
			t.Errorf("%v, %s", done, p.status(batch.id))
		}
	})
}

func TestTheModelIsSubstitutedNearTheDeadlineOnly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, cold, warm := pair(t, simulator.Config{Faults: []simulator.Fault{
			{Kind: simulator.FaultModelSubstituted, Count: 2, Text: "smaller", Delay: time.Hour}, {Kind: simulator.FaultColdModel},
		}}, chatRows(3))
		time.Sleep(25 * time.Hour)
		late, early := p.content(cold.output, "").body, p.content(warm.output, "").body
		if strings.Count(late, `"model":"smaller"`) != 3 || strings.Contains(early, "smaller") {
			t.Errorf("late %s\nearly %s", late, early)
		}
	})
}

func TestAShareOfRowsIsHitTheSameWayEveryTime(t *testing.T) {
	t.Parallel()
	count := func(seed uint64) string {
		p := start(t, simulator.Config{Seed: seed, Faults: []simulator.Fault{{Kind: simulator.FaultNullBody, Share: 0.2, Count: -1}}})
		batch := p.create(p.upload(chatRows(400)))
		p.untilStatus(batch.id, "completed")
		var hit []string
		for _, line := range lines(p.content(batch.output, "").body) {
			if strings.Contains(line, `"body":null`) {
				_, id, _ := strings.Cut(line, `"custom_id":"`)
				hit = append(hit, id[:8])
			}
		}
		if len(hit) < 50 || len(hit) > 110 {
			t.Errorf("%d of 400", len(hit))
		}
		return strings.Join(hit, " ")
	}
	if count(1) == count(2) {
		t.Error("another seed chose the same rows")
	}
}

func TestFaultsOfOneRowCombine(t *testing.T) {
	t.Parallel()
	p := start(t, simulator.Config{Faults: []simulator.Fault{
		{Kind: simulator.FaultTruncated}, {Kind: simulator.FaultModelSubstituted, Text: "other"}, {Kind: simulator.FaultDuplicateRow},
	}})
	batch := p.create(p.upload(chatRows(1)))
	p.untilStatus(batch.id, "completed")
	out := p.content(batch.output, "").body
	if strings.Count(out, "\n") != 2 || strings.Count(out, `"model":"other"`) != 2 || !strings.Contains(out, `"finish_reason":"length"`) {
		t.Errorf("%s", out)
	}
}

func TestOddRowsAreTheSameAfterARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := start(t, simulator.Config{Dir: dir, Faults: []simulator.Fault{
		{Kind: simulator.FaultNullBody, CustomIDs: []string{"row-0001"}},
		{Kind: simulator.FaultNestedError, CustomIDs: []string{"row-0002"}},
		{Kind: simulator.FaultDuplicateRow, CustomIDs: []string{"row-0003"}},
	}})
	batch := first.create(first.upload(chatRows(5)))
	first.untilStatus(batch.id, "completed")
	out, bad := first.content(batch.output, "").body, first.content(batch.errors, "").body
	if err := first.sim.Close(); err != nil {
		t.Fatal(err)
	}
	second := start(t, simulator.Config{Dir: dir})
	if second.content(batch.output, "").body != out || second.content(batch.errors, "").body != bad || bad == "" {
		t.Error("they changed")
	}
}
