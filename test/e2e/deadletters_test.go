//go:build unix

package e2e_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// refusedRow is a line of deadletters list --json.
type refusedRow struct {
	Entry    string `json:"entry"`
	Kind     string `json:"kind"`
	Code     string `json:"code"`
	CustomID string `json:"custom_id"`
	Job      string `json:"job"`
	Source   string `json:"source"`
	Sequence uint64 `json:"sequence"`
	Line     int    `json:"line"`
	First    *struct {
		Sequence uint64 `json:"sequence"`
		Line     int    `json:"line"`
	} `json:"first"`
	Payload *string `json:"payload"`
}

func (d *dev) refused(t *testing.T, flags ...string) (all []refusedRow) {
	t.Helper()
	o := d.do(t, append([]string{"deadletters", "list", "--json"}, flags...)...)
	o.want(t, 0)
	for line := range strings.Lines(o.stdout) {
		var row refusedRow
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		all = append(all, row)
	}
	return all
}

// words are the kinds, codes and ids of refused rows, sorted.
func words(all []refusedRow) []string {
	list := make([]string, len(all))
	for i, r := range all {
		list[i] = r.Kind + " " + r.Code + " " + r.CustomID
	}
	slices.Sort(list)
	return list
}

const (
	noBody = `{"custom_id":"bad","method":"POST","url":"/v1/chat/completions"}`
	noID   = `{"method":"POST","url":"/v1/chat/completions","body":{"model":"m","messages":[{"role":"user","content":"hello"}],"max_tokens":64,"seed":1E5}}`
)

// refusing is a deployment with a job that has refused a row for each of several reasons, and is complete.
func refusing(t *testing.T) *dev {
	t.Helper()
	d := startDev(t)
	subject := "batchbus.requests.default.nightly"
	good := fmt.Sprintf(goodRow, "a")
	d.publish(t, subject, good+noBody+"\n"+noID+"\n")                                            // message 1
	d.publish(t, subject, strings.TrimSpace(good))                                               // 2: a duplicate
	d.publish(t, subject, strings.Replace(good, "hello", "another", 1))                          // 3: a conflict
	d.publish(t, subject, "", "Batchbus-Seal", "true")                                           // 4
	d.publish(t, subject, strings.Replace(fmt.Sprintf(goodRow, "late"), "64}", "64 } ", 1)+"\n") // 5
	waitUntil(t, d.process, "the job is open", func() bool { return d.do(t, "status", "nightly").code == 0 })
	d.do(t, "wait", "nightly", "--timeout", "1m").want(t, 1)
	waitUntil(t, d.process, "the late row has its dead letter", func() bool {
		return len(d.refused(t, "--code", "job_sealed")) == 1
	})
	return d
}

func (d *dev) proven(t *testing.T, job string) {
	t.Helper()
	if o := d.do(t, "audit", job); o.code != 0 || !strings.Contains(o.stdout, "proven by rows") {
		t.Errorf("audit of %s: %d\n%s%s", job, o.code, o.stdout, o.stderr)
	}
}

func TestRefusedRowsAreListedAndShown(t *testing.T) {
	t.Parallel()
	d := refusing(t)
	all := d.refused(t, "--job", "nightly")
	want := []string{
		"deadletter conflict a", "deadletter duplicate a", "deadletter job_sealed late", "deadletter missing_custom_id ",
		"rejected missing_body bad",
	}
	if got := words(all); !slices.Equal(got, want) {
		t.Fatalf("got %q, want %q", got, want)
	}
	for _, r := range all {
		first := map[string]uint64{"conflict": 1, "duplicate": 1, "job_sealed": 4}[r.Code]
		if (r.First != nil) != (first > 0) || first > 0 && r.First.Sequence != first || r.Payload != nil {
			t.Errorf("%+v", r)
		}
	}
	for name, c := range map[string]struct {
		flags []string
		want  []string
	}{
		"by kind":            {[]string{"--kind", "rejected"}, want[4:]},
		"by codes":           {[]string{"--code", "duplicate,conflict"}, want[:2]},
		"by custom_id":       {[]string{"--custom-id", "a"}, want[:2]},
		"of another job":     {[]string{"--job", "other"}, nil},
		"since a day":        {[]string{"--since", "24h", "--kind", "deadletter"}, want[:4]},
		"until a day ago":    {[]string{"--until", "24h"}, nil},
		"of another queue":   {[]string{"--queue", "other"}, nil},
		"of any job, by ids": {[]string{"--custom-id", "bad", "--custom-id", "late"}, []string{want[2], want[4]}},
	} {
		if got := words(d.refused(t, c.flags...)); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if n := len(d.refused(t, "--limit", "2")); n != 2 {
		t.Errorf("--limit 2 lists %d", n)
	}
	count := d.do(t, "deadletters", "list", "--count")
	if count.stdout != "deadletter conflict: 1\ndeadletter duplicate: 1\ndeadletter job_sealed: 1\ndeadletter missing_custom_id: 1\nrejected missing_body: 1\n" {
		t.Errorf("--count: %s", count.stdout)
	}
	table := d.do(t, "deadletters", "list")
	if strings.Count(table.stdout, "\n") != 6 || strings.Contains(table.stdout, "hello") {
		t.Errorf("table: %s", table.stdout)
	}

	for name, ref := range map[string]string{"by its custom_id": "bad", "by the subject of its result": "batchbus.results.default.nightly.bad"} {
		if o := d.do(t, "deadletters", "show", ref, "--payload"); o.code != 0 || o.stdout != noBody {
			t.Errorf("%s: %d %q %s", name, o.code, o.stdout, o.stderr)
		}
	}
	for _, r := range all {
		switch r.Code {
		case "missing_custom_id":
			if o := d.do(t, "deadletters", "show", r.Source, "--payload"); o.stdout != noID {
				t.Errorf("by its source: %q %s", o.stdout, o.stderr)
			}
		case "job_sealed":
			o := d.do(t, "deadletters", "show", r.Entry)
			o.want(t, 0)
			for _, text := range []string{"job_sealed", "behind the seal, message 4", "message 5 of BATCHBUS_REQUESTS", r.Source, "publish it to another job"} {
				if !strings.Contains(o.stdout, text) {
					t.Errorf("show does not say %q: %s", text, o.stdout)
				}
			}
		}
	}
	d.do(t, "deadletters", "show", "a").want(t, 2, "more than one", "conflict", "duplicate")
	d.do(t, "deadletters", "show", "nobody").want(t, 2, "nobody")
}

func TestARefusedRowIsCorrectedAndAnsweredInALinkedJob(t *testing.T) {
	t.Parallel()
	d := refusing(t)
	requeue := func(code int, flags ...string) outcome {
		t.Helper()
		o := d.do(t, append([]string{"deadletters", "requeue", "nightly"}, flags...)...)
		if o.code != code {
			t.Fatalf("exit code %d, want %d\n%s%s", o.code, code, o.stdout, o.stderr)
		}
		return o
	}
	if o := requeue(2); !strings.Contains(o.stdout, "missing_body") || !strings.Contains(o.stdout, "missing_custom_id") ||
		!strings.Contains(o.stderr, "2 of 4 rows cannot be published") {
		t.Errorf("as they were: %s%s", o.stdout, o.stderr)
	}
	d.do(t, "status", "nightly-fix1").want(t, 2, "no job nightly-fix1")

	export := d.do(t, "deadletters", "list", "--job", "nightly", "--code", "missing_custom_id,missing_body,conflict", "--payload")
	export.want(t, 0)
	edited := strings.NewReplacer(
		noBody, strings.TrimSpace(fmt.Sprintf(goodRow, "bad")),
		noID, `{"custom_id":"named",`+noID[1:],
	).Replace(export.stdout)
	file := writeFile(t, filepath.Join(d.dir, "edited.jsonl"), edited)
	if o := requeue(0, "--edit", file, "--dry-run"); o.stdout != "nightly-fix1\n" || !strings.Contains(o.stderr, "takes up 3 rows") {
		t.Errorf("dry run: %s%s", o.stdout, o.stderr)
	}
	d.do(t, "status", "nightly-fix1").want(t, 2)
	if o := requeue(0, "--edit", file); o.stdout != "nightly-fix1\n" || !strings.Contains(o.stderr, "batchbus wait nightly-fix1") {
		t.Errorf("%s%s", o.stdout, o.stderr)
	}
	d.do(t, "wait", "nightly-fix1", "--timeout", "1m").want(t, 0)
	if o := requeue(0, "--edit", file); o.stdout != "nightly-fix1\n" || !strings.Contains(o.stderr, "nothing is sent") {
		t.Errorf("once more: %s%s", o.stdout, o.stderr)
	}

	if o := requeue(0, "--code", "conflict,job_sealed"); o.stdout != "nightly-fix2\n" ||
		!strings.Contains(o.stderr, "takes up 1 rows") || !strings.Contains(o.stderr, "1 rows are in job nightly-fix1 already") {
		t.Errorf("what is left: %s%s", o.stdout, o.stderr)
	}
	d.do(t, "wait", "nightly-fix2", "--timeout", "1m").want(t, 0)
	results := d.do(t, "results", "nightly-fix2")
	if strings.Count(results.stdout, "\n") != 1 || !strings.Contains(results.stdout, `"custom_id":"late"`) {
		t.Errorf("results of nightly-fix2: %s", results.stdout)
	}
	status := d.do(t, "status", "nightly-fix2", "--json")
	if !strings.Contains(strings.Join(strings.Fields(status.stdout), ""), `"fixes":{"queue":"default","job":"nightly"}`) {
		t.Errorf("status: %s", status.stdout)
	}
	if o := d.do(t, "status", "nightly-fix2"); !strings.Contains(o.stdout, "takes up rows that job nightly, queue default, refused") {
		t.Errorf("status: %s", o.stdout)
	}
	for _, job := range []string{"nightly", "nightly-fix1", "nightly-fix2"} {
		d.proven(t, job)
	}

	if o := requeue(2, "--code", "missing_custom_id", "--set", "body.messages.here.x=1", "--set", "custom_id=set"); !strings.Contains(o.stdout, "no_place") {
		t.Errorf("a path that leads nowhere: %s%s", o.stdout, o.stderr)
	}
	requeue(2, "--set", "custom_id")
	set := []string{"--code", "missing_custom_id", "--set", "custom_id=set, by = sign", "--set", "body.temperature=0", "--set", `body.messages.0.content="again"`}
	for range 2 {
		if o := requeue(0, set...); o.stdout != "nightly-fix3\n" {
			t.Errorf("set: %s%s", o.stdout, o.stderr)
		}
	}
	d.do(t, "wait", "nightly-fix3", "--timeout", "1m").want(t, 0)
	if o := d.do(t, "results", "nightly-fix3"); strings.Count(o.stdout, "\n") != 1 || !strings.Contains(o.stdout, `"custom_id":"set, by = sign"`) {
		t.Errorf("results of nightly-fix3: %s", o.stdout)
	}
	d.proven(t, "nightly-fix3")

	requeue(2, "--job", "nightly-fix2")
	requeue(2, "--job", "nightly")
	requeue(2, "--again")
	requeue(2, "--code", "conflict,job_sealed", "--limit", "1")
}

func TestARequeueThatWasLeftOpenIsJoinedAndSealed(t *testing.T) {
	t.Parallel()
	d := refusing(t)
	one := []string{"deadletters", "requeue", "nightly", "--job", "more", "--no-seal", "--code"}
	if o := d.do(t, append(one, "conflict")...); o.code != 0 || !strings.Contains(o.stderr, "batchbus seal more") {
		t.Fatalf("%d %s", o.code, o.stderr)
	}
	d.do(t, append(one, "job_sealed", "--replace-model", "other-model")...).want(t, 0)
	d.do(t, "seal", "more").want(t, 0)
	d.do(t, "wait", "more", "--timeout", "1m").want(t, 0)
	s := decode[jobStatus](t, d.do(t, "status", "more", "--json"))
	if s.Totals.Rows != 2 || len(s.Batches) != 2 {
		t.Errorf("%+v", s)
	}
	d.proven(t, "more")

	begun := []string{"deadletters", "requeue", "nightly", "--code", "conflict", "--kind", "deadletter"}
	if o := d.do(t, begun...); o.code != 0 || o.stdout != "more\n" || !strings.Contains(o.stderr, "nothing is sent") {
		t.Errorf("what the job was first made of: %d %s%s", o.code, o.stdout, o.stderr)
	}
	if o := d.do(t, "deadletters", "requeue", "nightly", "--code", "job_sealed"); o.code != 2 || !strings.Contains(o.stderr, "nothing left to take up") {
		t.Errorf("what was added to it: %d %s%s", o.code, o.stdout, o.stderr)
	}
	late := writeFile(t, filepath.Join(d.dir, "late.jsonl"), fmt.Sprintf(goodRow, "bad")+fmt.Sprintf(goodRow, "new"))
	edit := []string{"deadletters", "requeue", "nightly", "--edit", late}
	if o := d.do(t, append(edit, "--no-seal")...); o.code != 0 || o.stdout != "nightly-fix1\n" || !strings.Contains(o.stderr, "1 rows of") {
		t.Fatalf("begun: %d %s%s", o.code, o.stdout, o.stderr)
	}
	if o := d.do(t, edit...); o.code != 0 || o.stdout != "nightly-fix1\n" {
		t.Fatalf("taken up again: %d %s%s", o.code, o.stdout, o.stderr)
	}
	if o := d.do(t, "wait", "nightly-fix1", "--timeout", "1m", "--json"); o.code != 0 || o.summary(t).Rows.Total != 2 {
		t.Errorf("%d %s%s", o.code, o.stdout, o.stderr)
	}
	d.proven(t, "nightly-fix1")
}

func TestOnlyDeadLettersArePurgedAndOnlyWhenConfirmed(t *testing.T) {
	t.Parallel()
	d := refusing(t)
	purge := func(flags ...string) outcome { return d.do(t, append([]string{"deadletters", "purge"}, flags...)...) }
	purge("--job", "nightly").want(t, 2, "4 dead letters", "--yes")
	purge("--kind", "rejected", "--job", "nightly", "--yes").want(t, 2, "final result")
	purge("--yes").want(t, 2, "--all")
	if n := len(d.refused(t)); n != 5 {
		t.Fatalf("%d are left without --yes", n)
	}
	purge("--job", "nightly", "--code", "missing_custom_id", "--yes").want(t, 0, "deleted 1 dead letters")
	d.proven(t, "nightly")
	purge("--job", "nightly", "--yes").want(t, 0, "deleted 3 dead letters", "missing_dead_letter")
	if got := words(d.refused(t)); !slices.Equal(got, []string{"rejected missing_body bad"}) {
		t.Errorf("left: %q", got)
	}
	if o := d.do(t, "audit", "nightly"); o.code != 1 || !strings.Contains(o.stdout, "missing_dead_letter") {
		t.Errorf("audit: %d %s", o.code, o.stdout)
	}
	purge("--job", "nightly", "--yes").want(t, 0, "no dead letter")
}
