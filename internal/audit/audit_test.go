package audit_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/batchbus/batchbus/internal/audit"
	"github.com/batchbus/batchbus/internal/jobs"
	"github.com/batchbus/batchbus/internal/manifest"
	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
	"github.com/batchbus/batchbus/pkg/jetstore/jetstoretest"
)

func run(t *testing.T, f *jetstoretest.Fixture) *audit.Report {
	t.Helper()
	report, err := audit.Job(t.Context(), audit.Config{Bus: f.Store, Jobs: jobs.New(f.Store)}, queue, job)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func TestACompletedJobIsProvenRowByRow(t *testing.T) {
	t.Parallel()
	f := jetstoretest.Start(t)
	newWorld().store(t, f)
	r := run(t, f)
	if r.Verdict != audit.Proven || r.Basis != audit.ByRows || r.ProblemCount != 0 || len(r.Open) != 0 {
		t.Fatalf("%+v", r)
	}
	if r.RowsIn != 6 || r.Owners != 4 || r.Refused != 1 || !r.Sealed || r.Batches != 2 || r.Results.Succeeded != 3 || r.Results.Rejected != 1 {
		t.Errorf("counts: %+v", r)
	}
	if r.DeadLetters[events.DLDuplicate] != 1 || r.DeadLetters["not_json"] != 1 {
		t.Errorf("dead letters: %v", r.DeadLetters)
	}
}

// TestWhatDoesNotAddUpIsFoundAndNamed doctors one thing in each case.
func TestWhatDoesNotAddUpIsFoundAndNamed(t *testing.T) {
	t.Parallel()
	b := place(1, 1, "2", "b")
	for name, c := range map[string]struct {
		doctor          func(w *world)
		code, row, of   string
		andAlsoTheTotal bool
	}{
		"a result is missing":                              {func(w *world) { w.results = w.results[1:] }, audit.MissingResult, "a", "1", true},
		"the result of a refused row is missing":           {func(w *world) { w.results = w.results[:3] }, audit.MissingResult, "refused", "", true},
		"the result of a long custom_id is gone":           {func(w *world) { w.results = slices.Delete(w.results, 2, 3) }, audit.MissingResult, "c d", "1", true},
		"a result has a foreign source":                    {func(w *world) { w.results[0] = result("5", "a", events.Succeeded) }, audit.ForeignSource, "a", "", false},
		"a result is of no row":                            {func(w *world) { w.results = append(w.results, result("9", "z", events.Succeeded)) }, audit.ForeignResult, "z", "", true},
		"a refused row succeeded":                          {func(w *world) { w.results[3] = result("4", "refused", events.Failed) }, audit.WrongOutcome, "refused", "", true},
		"a header contradicts the result":                  {func(w *world) { w.results[0].Header.Set(events.HeaderOutcome, "failed") }, audit.WrongOutcome, "a", "", false},
		"the dead letter of a second row is gone":          {func(w *world) { w.letters = w.letters[1:] }, audit.MissingDeadLetter, "a", "", false},
		"the publisher published more than there is":       {func(w *world) { w.job.ExpectedRows = new(7) }, audit.RowsUnaccounted, "", "", false},
		"the dead letter of what was no row is gone":       {func(w *world) { w.letters = w.letters[:1] }, audit.RowsUnaccounted, "", "", false},
		"a row has a result and a dead letter":             {func(w *world) { w.letters = append(w.letters, deadLetter("2", "b", "conflict")) }, audit.DoubleEnd, "b", "", false},
		"a follow-up takes an answered row":                {func(w *world) { w.cursors["1"] = bits(0, 1, 2) }, audit.PlannedTwice, "b", "1-1", false},
		"a manifest names a refused row":                   {func(w *world) { w.entries["1"][2] = place(1, 3, "4", "refused") }, audit.ForeignRow, "refused", "1", false},
		"a manifest is shorter than its batch":             {func(w *world) { w.entries["1-1"] = nil }, audit.ManifestUnread, "", "1-1", false},
		"a batch has a row twice":                          {func(w *world) { w.entries["1"] = []manifest.Entry{b, b, place(1, 2, "3", "c d")} }, audit.PlannedTwice, "b", "1", false},
		"a row is in no batch":                             {func(w *world) { w.entries["1"] = w.entries["1"][:2] }, audit.NotPlanned, "c d", "", false},
		"a follow-up is named by nobody":                   {func(w *world) { w.batches[0].FollowUps = nil }, audit.BatchMissing, "", "1-1", false},
		"a planned batch has no state":                     {func(w *world) { w.job.Batches = 2 }, audit.BatchMissing, "", "2", false},
		"a batch forgot a row":                             {func(w *world) { w.batches[0].Totals = new(succeeded(1)) }, audit.BatchTotals, "", "1", true},
		"an ended job has a running batch":                 {func(w *world) { w.batches[0].State = events.BatchSubmitted }, audit.BatchTotals, "", "1", true},
		"the job's totals are wrong":                       {func(w *world) { w.job.Totals.Succeeded-- }, audit.JobTotals, "", "", true},
		"the job's tokens are wrong":                       {func(w *world) { w.job.Totals.Usage.TotalTokens++ }, audit.JobTotals, "", "", true},
		"the job counts more rows than there are":          {func(w *world) { w.job.Rows++ }, audit.JobRows, "", "", true},
		"the rows are not those of the state":              {func(w *world) { w.job.Walked = events.Place{Sequence: 2, At: time.Unix(1, 0)} }, audit.RowsMissing, "", "", false},
		"an ended batch neither answered nor counts a row": {func(w *world) { w.results, w.cursors["1"] = w.results[1:], bits(2) }, audit.MissingResult, "a", "1", true},
		"a follow-up takes what its parent never had":      {func(w *world) { w.entries["1"] = slices.Delete(w.entries["1"], 1, 2) }, audit.ForeignRow, "b", "1-1", false},
		"a follow-up takes what another one has": {func(w *world) {
			w.batches[0].FollowUps, w.cursors["1-1"] = append(w.batches[0].FollowUps, "1-2"), bits()
			w.batches, w.entries["1-2"], w.cursors["1-2"] = append(w.batches, batch("1-2", "1", 1, succeeded(1))), []manifest.Entry{b}, bits(0)
		}, audit.PlannedTwice, "b", "1-2", false},
		"the job counts another number of follow-ups": {func(w *world) { w.job.FollowUps++ }, audit.BatchMissing, "", "", false},
		"a planned job has no seal":                   {func(w *world) { w.noSeal = true }, audit.SealMissing, "", "", false},
		"two batches of the planner share one row":    {func(w *world) { w.batches[1].Parent = ""; w.batches[0].FollowUps = nil; w.job.FollowUps = 0 }, audit.PlannedTwice, "b", "1-1", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := jetstoretest.Start(t)
			w := newWorld()
			c.doctor(w)
			w.store(t, f)
			r := run(t, f)
			if r.Verdict != audit.Contradicted || r.ProblemCount != len(r.Problems) {
				t.Fatalf("verdict %s with %d problems, %d told", r.Verdict, r.ProblemCount, len(r.Problems))
			}
			found := slices.ContainsFunc(r.Problems, func(p audit.Problem) bool {
				return p.Code == c.code && p.CustomID == c.row && p.Batch == c.of && p.Message != "" && (c.row == "" || p.Place != nil || p.Code == audit.ForeignResult || p.Code == audit.WrongOutcome)
			})
			totals := slices.ContainsFunc(r.Problems, func(p audit.Problem) bool { return p.Code == audit.JobTotals })
			if !found || c.andAlsoTheTotal && !totals {
				t.Errorf("not found %s, row %q, batch %q: %+v", c.code, c.row, c.of, r.Problems)
			}
		})
	}
}

func TestAJobThatRunsIsOpenAndNotWrong(t *testing.T) {
	t.Parallel()
	f := jetstoretest.Start(t)
	w := newWorld()
	w.job.State, w.job.Totals, w.job.FollowUps = events.JobPlanned, nil, 0
	w.batches = w.batches[:1]
	w.batches[0].State, w.batches[0].FollowUps = events.BatchSubmitted, nil
	w.cursors["1"] = bits(0)
	w.results = []*nats.Msg{w.results[0], w.results[3]}
	w.store(t, f)
	publish(t, f, &nats.Msg{Subject: events.RequestSubject(queue, job), Data: []byte("late")})
	r := run(t, f)
	want := []string{"2 rows have no result yet", "1 messages wait in BATCHBUS_REQUESTS", "the job is not completed"}
	if r.Verdict != audit.Open || r.ProblemCount != 0 {
		t.Fatalf("%+v", r)
	}
	for _, text := range want {
		if !slices.Contains(r.Open, text) {
			t.Errorf("open %q lacks %q", r.Open, text)
		}
	}
}

func TestARunningJobThatCountsAnAnswerItLacksIsWrong(t *testing.T) {
	t.Parallel()
	f := jetstoretest.Start(t)
	w := newWorld()
	w.job.State, w.job.Totals, w.job.FollowUps = events.JobPlanned, nil, 0
	w.batches = w.batches[:1]
	w.batches[0].State, w.batches[0].FollowUps = events.BatchSubmitted, nil
	w.results = w.results[1:]
	w.store(t, f)
	r := run(t, f)
	if r.Verdict != audit.Contradicted || r.ProblemCount != 1 || r.Problems[0].Code != audit.MissingResult || r.Problems[0].CustomID != "a" {
		t.Errorf("%+v", r)
	}
}

func TestPurgedRowsAreJudgedByTotals(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		age     time.Duration
		doctor  func(w *world)
		verdict audit.Verdict
		basis   audit.Basis
	}{
		"after the keep time it is proven":     {8 * 24 * time.Hour, func(*world) {}, audit.Proven, audit.ByTotals},
		"a result too few is still found":      {8 * 24 * time.Hour, func(w *world) { w.results = w.results[1:] }, audit.Contradicted, audit.ByTotals},
		"before the keep time they are lost":   {time.Hour, func(*world) {}, audit.Contradicted, audit.ByTotals},
		"after forgetting, by states":          {time.Hour, func(w *world) { w.job.ForgottenAt, w.results = new(time.Now()), nil }, audit.Proven, audit.ByStates},
		"wrong states are found by states too": {31 * 24 * time.Hour, func(w *world) { w.job.Totals.Rows++ }, audit.Contradicted, audit.ByStates},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := jetstoretest.Start(t)
			w := newWorld()
			w.job.SinceAt = time.Now().Add(-c.age)
			w.job.OpenedAt = w.job.SinceAt
			c.doctor(w)
			w.store(t, f)
			if err := f.Store.Purge(t.Context(), jetstore.StreamRows, events.RowsSubject(queue, job), 0); err != nil {
				t.Fatal(err)
			}
			if r := run(t, f); r.Verdict != c.verdict || r.Basis != c.basis || r.Why == "" {
				t.Errorf("%+v", r)
			}
		})
	}
}

func TestAllAuditsEveryJobAndRowsWithoutAState(t *testing.T) {
	t.Parallel()
	f := jetstoretest.Start(t)
	newWorld().store(t, f)
	m, err := f.Store.At(t.Context(), jetstore.StreamRows, 1)
	if err != nil {
		t.Fatal(err)
	}
	publish(t, f, &nats.Msg{Subject: events.RowsSubject(queue, "another"), Data: m.Data})
	verdicts := map[string]audit.Verdict{}
	for r, err := range audit.All(t.Context(), audit.Config{Bus: f.Store, Jobs: jobs.New(f.Store)}) {
		if err != nil {
			t.Fatal(err)
		}
		verdicts[r.Job] = r.Verdict
	}
	if len(verdicts) != 2 || verdicts[job] != audit.Proven || verdicts["another"] != audit.Open {
		t.Errorf("%v", verdicts)
	}
}

func TestAnUnknownJobIsNotFound(t *testing.T) {
	t.Parallel()
	f := jetstoretest.Start(t)
	_, err := audit.Job(t.Context(), audit.Config{Bus: f.Store, Jobs: jobs.New(f.Store)}, queue, "nobody")
	if !errors.Is(err, jetstore.ErrNotFound) {
		t.Errorf("%v", err)
	}
}
