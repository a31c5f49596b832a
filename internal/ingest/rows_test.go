package ingest_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/batchbus/batchbus/internal/block"
	"github.com/batchbus/batchbus/internal/ingest"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
	"github.com/batchbus/batchbus/pkg/jetstore/jetstoretest"
	"github.com/batchbus/batchbus/pkg/rows"
)

func TestRowsBecomeBlocksOfTheirJobs(t *testing.T) {
	t.Parallel()
	r := newRig(t, jetstoretest.Start(t))
	r.publish("default.one", row("a")+"\n"+row("b"))
	r.publish("default.two", row("a"), events.HeaderWindow, "1h")
	sequence := r.publish("default.one", "\n"+row("c"), events.HeaderFirstLine, "41")
	r.publish("default.one", "{\n \"custom_id\" : \"pretty\",\n"+strings.TrimPrefix(row("x"), `{"custom_id":"x",`))
	pretty := "{\n \"custom_id\" : \"refused\",\n" + strings.TrimPrefix(row("x"), `{"custom_id":"x",`)
	r.publish("default.file", pretty, events.HeaderFirstLine, "1")
	r.publish("default.file", "\ufeff"+row("marked"), events.HeaderFirstLine, "9")
	r.publish("default.file", "\ufeff"+row("first"), events.HeaderFirstLine, "1")
	defer r.run(nil)()
	r.ingested()

	r.want("default", "one", "a b c pretty")
	var verdicts []string
	for _, e := range r.stored("default", "file") {
		verdict := e.CustomID
		if e.Fault != nil {
			verdict += " " + e.Fault.Code
		}
		verdicts = append(verdicts, verdict)
	}
	if got := strings.Join(verdicts, ", "); got != "refused multiline_object, marked bom_inside, first" {
		t.Errorf("parts of a file are judged %s", got)
	}
	r.want("default", "two", "a")
	one, two := r.stored("default", "one"), r.stored("default", "two")
	if group := (events.GroupKey{Window: "24h", URL: "/v1/embeddings", Model: "m"}); one[0].Group != group {
		t.Errorf("got group %v", one[0].Group)
	}
	if two[0].Group.Window != "1h" {
		t.Errorf("got window %s", two[0].Group.Window)
	}
	if one[2].Sequence != sequence || one[2].Line != 42 || one[0].Line != 1 || one[1].Line != 2 {
		t.Errorf("got places %+v", one)
	}
	for _, e := range one {
		if string(e.Tail) != tailWith("x") || e.ID != block.Hash(rows.HashID(e.CustomID)) {
			t.Errorf("got %+v with tail %s", e, e.Tail)
		}
	}
	if j, ok := r.job("default", "one"); !ok || j.State != events.JobOpen || j.Policy.Key != "default" {
		t.Errorf("the job is not open: %+v", j)
	}
}

func TestBadInputIsRefusedWithoutHarmToOthers(t *testing.T) {
	t.Parallel()
	r := newRig(t, jetstoretest.Start(t))
	anonymous := `{"method":"POST","url":"/v1/embeddings","body":{}}`
	broken := row("b")[:50]
	r.publish("default.j", row("a")+"\n"+broken+"\n"+anonymous+"\n"+row("c"))
	r.publish("default.w", row("w")+"\n"+anonymous, events.HeaderWindow, "7d")
	r.publish("default.e", " \n\n")
	r.publish("default.bad.subject", row("a"))
	r.publish("default.auto-mine", row("a"))
	r.publish("sealq", row("q"), events.HeaderSeal, "true", events.HeaderJob, "nightly")
	r.publish("default.j", row("d"), events.HeaderExpectedRows, "many", events.HeaderFirstLine, "first")
	defer r.run(nil)()
	r.ingested()

	r.want("default", "j", "a b!"+rows.CodeInvalidJSON+" c d")
	r.want("default", "w", "w!"+events.DLBadWindow)
	if e := r.stored("default", "j")[1]; string(e.Fault.Payload) != broken || e.Line != 2 || e.Fault.Column == 0 {
		t.Errorf("got %+v %+v", e, e.Fault)
	}
	d := r.wantDeadLetter("default.j.*", rows.CodeMissingCustomID, anonymous)
	if d.Line != 3 || d.Subject != "batchbus.requests.default.j" || d.Sequence == 0 || d.At.IsZero() {
		t.Errorf("got %+v", d)
	}
	r.wantDeadLetter("default.w.*", events.DLBadWindow, anonymous)
	r.wantDeadLetter("default.e.*", events.DLEmpty, " \n\n")
	r.wantDeadLetter("sealq._.*", events.DLBadSubject, row("q"))
	if all := r.deadLetters("default._.*"); len(all) != 2 || all[0].Code != events.DLBadSubject || string(all[1].Payload) != row("a") {
		t.Errorf("got %v", all)
	}
	if _, ok := r.job("sealq", "nightly"); ok {
		t.Error("a refused seal opened a job")
	}
}

func TestARowMayNameTheRollingJobItBelongsTo(t *testing.T) {
	t.Parallel()
	r := newRig(t, jetstoretest.Start(t))
	const never = "auto-21000101T000000Z-1"
	soon := events.RollingAt(time.Now().Add(30*time.Minute), time.Second).Job()
	r.publish("default", row("a"), events.HeaderJob, soon)
	r.publish("default", row("b"), events.HeaderJob, never)
	r.publish("default", row("c"), events.HeaderJob, "nightly")
	r.publish("default.nightly", row("d"), events.HeaderJob, soon)
	defer r.run(nil)()
	r.ingested()

	r.want("default", soon, "a")
	r.want("default", "nightly", "d")
	if all := r.deadLetters("default._.*"); len(all) != 2 || all[0].Code != events.DLBadSubject || all[1].Code != events.DLBadSubject {
		t.Errorf("got %v", all)
	}
	if _, ok := r.job("default", never); ok {
		t.Error("a job was opened that would not be sealed for a lifetime")
	}
}

func TestTwentyThousandRowsInBulkMessages(t *testing.T) {
	t.Parallel()
	r := newRig(t, jetstoretest.Start(t))
	const messages, each = 200, 100
	for i := range messages {
		var payload strings.Builder
		for k := range each {
			payload.WriteString(row(fmt.Sprintf("row-%d", i*each+k)) + "\n")
		}
		r.publish("default.bulk", payload.String(), "Nats-Msg-Id", fmt.Sprint("bulk-", i))
	}
	r.publish("default.bulk", "", events.HeaderSeal, "true", events.HeaderExpectedRows, strconv.Itoa(messages*each))
	defer r.run(nil)()
	r.ingested()
	stored := r.stored("default", "bulk")
	if len(stored) != messages*each+1 || stored[len(stored)-1] != nil {
		t.Fatalf("got %d entries", len(stored))
	}
	for i, e := range stored[:messages*each] {
		if want := fmt.Sprintf("row-%d", i); e.CustomID != want || string(e.Tail) != tailWith("x") {
			t.Fatalf("entry %d is %s", i, e.CustomID)
		}
	}
	counts, err := r.Store.SubjectCounts(context.Background(), jetstore.StreamRows, events.RowsSubject("default", "bulk"))
	if blocks := counts[events.RowsSubject("default", "bulk")]; err != nil || blocks > messages {
		t.Errorf("%d blocks for %d messages, %v", blocks, messages, err)
	}
}

func TestARowThatNoBlockHoldsGoesThroughTheObjectStore(t *testing.T) {
	t.Parallel()
	r := newRig(t, jetstoretest.Start(t))
	input := strings.Repeat("y", 5<<20) // fits a message of 8 MiB, but not half of one
	r.publish("default.big", row("a"))
	r.publish("default.big", rowWith("big", input))
	anonymous := `{"method":"` + strings.Repeat("z", 8<<20-len(`{"method":""}`)-100) + `"}` // its dead letter is over 8 MiB
	r.publish("default.big", anonymous)
	defer r.run(func(c *ingest.Config) { c.FetchMessages = 10 })()
	r.ingested()

	stored := r.stored("default", "big")
	if len(stored) != 2 {
		t.Fatalf("got %s", names(stored))
	}
	objects := 0
	for m, err := range r.Store.Read(context.Background(), jetstore.StreamRows, events.RowsSubject("default", "big"), 1) {
		if err != nil {
			t.Fatal(err)
		}
		if len(m.Data) > r.Store.MaxPayload()/2 {
			t.Errorf("a block of %d bytes", len(m.Data))
		}
		object, ok := jetstore.ObjectOf(m.Header)
		if !ok {
			continue
		}
		objects++
		for e := range block.Read(r.object(object)) {
			if e.CustomID != "big" || string(e.Tail) != tailWith(input) {
				t.Errorf("the object holds %s with a tail of %d bytes", e.CustomID, len(e.Tail))
			}
		}
		for e := range block.Read(m.Data) {
			if e.CustomID != "big" || !e.Absent || e.Size != len(tailWith(input)) {
				t.Errorf("the envelope holds %s, absent %v, size %d", e.CustomID, e.Absent, e.Size)
			}
		}
	}
	if objects != 1 {
		t.Errorf("%d rows are objects", objects)
	}
	for m, err := range r.Store.Read(context.Background(), jetstore.StreamDeadletters, "batchbus.deadletters.default.big.*", 1) {
		object, ok := jetstore.ObjectOf(m.Header)
		if err != nil || !ok {
			t.Fatal(err, ok)
		}
		d, err := events.ParseDeadLetter(r.object(object))
		if err != nil || string(d.Payload) != anonymous {
			t.Errorf("the dead letter holds %d bytes of %d, %v", len(d.Payload), len(anonymous), err)
		}
		return
	}
	t.Error("no dead letter")
}

func (r *rig) object(o jetstore.Object) []byte {
	r.t.Helper()
	reader, err := r.Store.OpenObject(context.Background(), o)
	if err != nil {
		r.t.Fatal(err)
	}
	defer reader.Close()
	data, err := io.ReadAll(reader)
	if err != nil {
		r.t.Fatal(err)
	}
	return data
}

// claimed stores a payload as an object and returns the headers of a message that names it.
func (r *rig) claimed(payload string) []string {
	r.t.Helper()
	o, err := r.Store.PutObject(context.Background(), jetstore.StreamRequests, "batchbus.requests.default.j", bytes.NewReader([]byte(payload)))
	if err != nil {
		r.t.Fatal(err)
	}
	return []string{jetstore.HeaderObject, o.Name, jetstore.HeaderDigest, o.Digest, jetstore.HeaderSize, strconv.FormatInt(o.Size, 10)}
}

func TestAMessageMayNameAnObject(t *testing.T) {
	t.Parallel()
	r := newRig(t, jetstoretest.Start(t))
	input, tooBig := strings.Repeat("y", 6<<20), strings.Repeat("y", 10<<20)
	r.publish("default.j", "", r.claimed(rowWith("a", input)+"\n"+rowWith("b", tooBig)+"\n"+row("c"))...)
	wrong := r.claimed(row("a"))
	wrong[3] = "SHA-256=AAAA"
	r.publish("default.wrong", "", wrong...)
	short := r.claimed(row("a"))
	short[5] = "3"
	r.publish("default.short", "", short...)
	huge := r.claimed(row("a"))
	huge[5] = strconv.Itoa(1 << 40)
	r.publish("default.huge", "", huge...)
	r.publish("default.odd", "", jetstore.HeaderObject, "x", jetstore.HeaderSize, "large")
	r.publish("default.sealed", "", append(r.claimed(row("a")), events.HeaderSeal, "true")...)
	r.publish("default.both", row("beside"), r.claimed(row("a"))...)
	r.publish("default.neither", row("beside"), jetstore.HeaderObject, "x", jetstore.HeaderSize, "large")
	defer r.run(nil)()
	r.ingested()

	stored := r.stored("default", "j")
	if len(stored) != 3 || stored[0].CustomID != "a" && stored[1].CustomID != "a" {
		t.Fatalf("got %s", names(stored))
	}
	codes := map[string]string{}
	for _, e := range stored {
		codes[e.CustomID] = ""
		if e.Fault != nil {
			codes[e.CustomID] = e.Fault.Code
		}
	}
	if codes["a"] != "" || codes["c"] != "" || codes["b"] != rows.CodeRowTooLarge {
		t.Errorf("got %v", codes)
	}
	r.want("default", "sealed", "a seal")
	r.want("default", "both", "a")
	r.wantDeadLetter("default.both.*", events.DLPayloadBesideObject, row("beside"))
	if both := r.deadLetters("default.neither.*"); len(both) != 2 {
		t.Errorf("%d dead letters of an object that is none and the payload beside it, want one each", len(both))
	}
	r.wantDeadLetter("default.wrong.*", events.DLObjectDigest, "")
	r.wantDeadLetter("default.short.*", events.DLObjectDigest, "")
	r.wantDeadLetter("default.huge.*", rows.CodeRowTooLarge, "")
	r.wantDeadLetter("default.odd.*", events.DLObjectDigest, "")
}
