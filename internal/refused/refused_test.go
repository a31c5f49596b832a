package refused_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/batchbus/batchbus/internal/refused"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

func TestPayloadsComeAsTheyWereReceivedWhereverTheyLie(t *testing.T) {
	t.Parallel()
	r := start(t)
	r.open(queue, job, nil)
	odd := []byte("{\"custom_id\": \"odd\", \"x\":1E5,\xff <&> \u2028}")
	huge := append(bytes.Repeat([]byte("é"), 9<<20/2), 0xff)
	tail := `,"method":"POST","url":"/v1/embeddings","body":{"model":"m",  "input":"<\u0041>"}}`
	r.letter(job, "not_json", "", time.Now(), odd)
	r.letter(job, events.DLConflict, "huge letter", time.Now(), huge)
	r.letter(job, events.DLObjectMissing, "", time.Now(), nil)
	r.reject(job, bad("odd \" id", odd), good("later", tail))
	r.rejectBig(job, bad("huge row", huge))
	want := map[string][]byte{
		"deadletter not_json": odd, "deadletter conflict huge letter": huge, "deadletter object_missing": {},
		"rejected missing_body odd \" id": odd, "rejected provider_refused later": []byte(`{"custom_id":"later"` + tail),
		"rejected missing_body huge row": huge,
	}
	seen := 0
	for _, e := range r.entries(refused.Filter{}, true) {
		seen++
		name := strings.TrimSpace(fmt.Sprint(e.Kind, " ", e.Code, " ", e.CustomID))
		if payload, known := want[name]; !known || !bytes.Equal(e.Payload, payload) || e.Lost != "" {
			t.Errorf("%s: %.60q (%d bytes) %s", name, e.Payload, len(e.Payload), e.Lost)
		}
		alone := e
		alone.Payload = nil
		if e.Kind == refused.DeadLetter {
			alone.Payload = e.Payload
		}
		r.check(r.Fetch(t.Context(), &alone))
		if !bytes.Equal(alone.Payload, want[name]) || e.Kind == refused.Rejected && (alone.Sequence != 9 || alone.Subject != "batchbus.requests.default.nightly") {
			t.Errorf("%s, fetched alone: %.60q, %+d on %s", name, alone.Payload, alone.Sequence, alone.Subject)
		}
	}
	if seen != len(want) {
		t.Errorf("%d of %d entries", seen, len(want))
	}
}

func TestAPayloadThatIsGoneSaysWhy(t *testing.T) {
	t.Parallel()
	r := start(t)
	end := time.Date(2026, 11, 1, 2, 3, 4, 0, time.UTC)
	for name, how := range map[string]func(*events.Job){
		"ended":     func(j *events.Job) { j.State, j.SinceAt = events.JobCompleted, end },
		"forgotten": func(j *events.Job) { j.State, j.ForgottenAt = events.JobCompleted, &end },
		"damaged":   func(j *events.Job) { j.State = events.JobPlanned },
	} {
		r.open(queue, name, how)
		r.result(name, bad("r", []byte("{")))
	}
	r.letter("big", events.DLConflict, "", end, bytes.Repeat([]byte("x"), 9<<20))
	for m, err := range r.Store.Read(t.Context(), jetstore.StreamDeadletters, events.DeadlettersFilter(queue, "big"), 1) {
		r.check(err)
		object, _ := jetstore.ObjectOf(m.Header)
		r.check(deleteObject(t, r, object.Name))
	}
	for name, want := range map[string]string{
		"ended": "kept for 168h0m0s after its end, which was 2026-11-01T02:03:04Z", "forgotten": "was forgotten",
		"damaged": "not in BATCHBUS_ROWS", "big": "object that held it is gone",
	} {
		all := r.entries(refused.Filter{Queue: queue, Jobs: []string{name}}, true)
		if len(all) != 1 || !strings.Contains(all[0].Lost, want) || all[0].Payload != nil {
			t.Errorf("%s: %+v", name, all)
		}
		var line struct {
			Gone string `json:"payload_gone"`
		}
		if err := json.Unmarshal(all[0].AppendJSON(nil, true), &line); err != nil || !strings.Contains(line.Gone, want) {
			t.Errorf("%s: %q, %v", name, line.Gone, err)
		}
	}
}

func deleteObject(t *testing.T, r *rig, name string) error {
	t.Helper()
	objects, err := r.Store.JetStream().ObjectStore(t.Context(), jetstore.BucketObjects)
	if err != nil {
		return err
	}
	return objects.Delete(t.Context(), name)
}

func TestAFilterTakesWhatItNames(t *testing.T) {
	t.Parallel()
	r := start(t)
	noon := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for _, name := range []string{job, "other", "clean"} {
		r.open(queue, name, nil)
	}
	r.open(queue, "clean", func(j *events.Job) { j.State, j.Totals = events.JobCompleted, &events.Totals{Rows: 1, Succeeded: 1} })
	r.letter(job, events.DLConflict, "a", noon, []byte("1"))
	r.letter(job, events.DLDuplicate, "b", noon.Add(time.Hour), []byte("2"))
	r.letter("other", events.DLConflict, "a", noon.Add(2*time.Hour), []byte("3"))
	r.reject(job, bad("c.d", []byte("4")))
	r.reject("other", bad("e", []byte("5")))
	r.reject("clean", bad("unseen", []byte("6"))) // of a job that is known to have none: it is not even looked for
	r.store(&nats.Msg{
		Subject: events.DeadletterSubject(queue, "other", "0f"), Header: nats.Header{events.HeaderCode: {"alien"}}, Data: []byte("no JSON"),
	})
	for name, c := range map[string]struct {
		filter refused.Filter
		want   string
	}{
		"all":                 {refused.Filter{}, "a b a alien c.d e"},
		"a job":               {refused.Filter{Queue: queue, Jobs: []string{job}}, "a b c.d"},
		"jobs of any queue":   {refused.Filter{Jobs: []string{"other", job}}, "a alien a b c.d e"},
		"a job that is not":   {refused.Filter{Queue: queue, Jobs: []string{"nobody"}}, ""},
		"another queue":       {refused.Filter{Queue: "fast"}, ""},
		"dead letters":        {refused.Filter{Kind: refused.DeadLetter}, "a b a alien"},
		"rejected":            {refused.Filter{Kind: refused.Rejected}, "c.d e"},
		"a code":              {refused.Filter{Codes: []string{events.DLConflict, "missing_body"}}, "a a c.d e"},
		"not a code":          {refused.Filter{NotCodes: []string{events.DLConflict, "alien"}}, "b c.d e"},
		"an id":               {refused.Filter{CustomIDs: []string{"a", "c.d"}}, "a a c.d"},
		"a source":            {refused.Filter{Sources: []string{source("row e").String()}}, "e"},
		"from a time on":      {refused.Filter{Since: noon.Add(time.Hour), Kind: refused.DeadLetter, NotCodes: []string{"alien"}}, "b a"},
		"before a time":       {refused.Filter{Until: noon.Add(time.Hour)}, "a"},
		"the first two":       {refused.Filter{Limit: 2}, "a b"},
		"the first of a kind": {refused.Filter{Kind: refused.Rejected, Limit: 1}, "c.d"},
	} {
		var got []string
		for _, e := range r.entries(c.filter, false) {
			id := e.CustomID
			if e.Code == "alien" {
				id = e.Code
				if string(e.Payload) != "no JSON" || e.Job != "other" {
					t.Errorf("%+v", e)
				}
			}
			got = append(got, id)
		}
		want := strings.Fields(c.want)
		if strings.HasSuffix(name, "all") || len(want) > 0 && want[len(want)-1] == "e" { // jobs come in the order of their last change
			slices.Sort(got)
			slices.Sort(want)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestFindTakesASubjectASourceOrAnID(t *testing.T) {
	t.Parallel()
	r := start(t)
	r.open(queue, job, nil)
	r.letter(job, events.DLConflict, "a b", time.Now(), []byte("1"))
	r.reject(job, bad("a b", []byte("4")))
	letter, row := source(job+events.DLConflict+"a b").String(), source("row a b").String()
	for ref, want := range map[string]string{
		"a b": "deadletter rejected", letter: "deadletter", row: "rejected", "nobody": "", strings.Repeat("0", 32): "",
		events.DeadletterSubject(queue, job, letter): "deadletter", events.ResultSubject(queue, job, "a b"): "rejected",
		events.ResultSubject(queue, job, "c"): "", events.DeadletterSubject(queue, job, row): "",
	} {
		found, err := r.Find(t.Context(), ref, refused.Filter{})
		r.check(err)
		got := make([]string, len(found))
		for i := range found {
			got[i] = string(found[i].Kind)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", ref, got, want)
		}
	}
}

func TestAnObjectThatIsNotTheOneThatWasMeantIsNoPayload(t *testing.T) {
	t.Parallel()
	r := start(t)
	for name, change := range map[string]func(*jetstore.Object){
		"longer than it says": func(o *jetstore.Object) { o.Size -= 10 },
		"of another digest":   func(o *jetstore.Object) { o.Digest = "SHA-256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU=" },
	} {
		subject := events.DeadletterSubject(queue, "j", source(name).String())
		d := events.DeadLetter{Code: "c", CustomID: name, Queue: queue, Job: "j", Source: source(name).String(), Payload: []byte("payload")}
		object, err := r.Store.PutObject(t.Context(), jetstore.StreamDeadletters, subject, bytes.NewReader(d.Append(nil)))
		r.check(err)
		change(&object)
		m := &nats.Msg{Subject: subject, Header: nats.Header{}, Data: (&events.DeadLetter{CustomID: name, Queue: queue, Job: "j"}).Append(nil)}
		object.SetHeader(m.Header)
		r.store(m)
	}
	all := r.entries(refused.Filter{}, true)
	for _, e := range all {
		if !strings.Contains(e.Lost, "altered") || e.Payload != nil {
			t.Errorf("%s: %q %q", e.CustomID, e.Payload, e.Lost)
		}
	}
	if len(all) != 2 {
		t.Errorf("%d entries", len(all))
	}
}

func TestAnEntrysJSONIsOneLineWithItsPayloadAsItIs(t *testing.T) {
	t.Parallel()
	for _, payload := range []string{"", "{\"a\":\"<\u2028>\"}\n{", "\xff"} {
		e := refused.Entry{Kind: refused.DeadLetter, Code: "c", First: &events.Origin{Sequence: 1}, Payload: []byte(payload)}
		for _, with := range []bool{false, true} {
			line := e.AppendJSON([]byte("x"), with)[1:]
			var got struct {
				First  events.Origin `json:"first"`
				Text   *string       `json:"payload"`
				Base64 []byte        `json:"payload_base64"`
			}
			if err := json.Unmarshal(line, &got); err != nil || bytes.ContainsRune(line, '\n') || got.First.Sequence != 1 {
				t.Errorf("%s: %v", line, err)
			}
			text := string(got.Base64)
			if got.Text != nil {
				text = *got.Text
			}
			if with && text != payload || !with && (got.Text != nil || got.Base64 != nil) {
				t.Errorf("%q became %s", payload, line)
			}
		}
	}
}
