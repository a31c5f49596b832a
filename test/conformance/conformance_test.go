package conformance_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/batchbus/batchbus/pkg/doubleword/simulator"
)

// ask goes through all claims. An error means that the server could not be asked to the end; the report holds what was found till then.
func ask(ctx context.Context, a *asking) (*report, error) {
	host := "the server"
	if u, err := url.Parse(a.baseURL); err == nil {
		host = u.Hostname()
	}
	r := &report{server: host, spending: a.spending()}
	try := func(claims []claim) {
		for _, c := range claims {
			r.add(line{claim: c, finding: c.check(ctx, a)})
		}
	}
	defer a.cleanUp(context.WithoutCancel(ctx))
	try(callClaims())
	try(uploadClaims())
	var err error
	if a.input, err = a.client.UploadFile(ctx, a.token+".jsonl", writes(a.rows())); err != nil {
		return r, fmt.Errorf("upload six plain rows: %w", err)
	}
	a.made = append(a.made, a.input.ID)
	try(fileClaims())
	if a.created, a.batch, err = a.create(ctx); err != nil {
		return r, err
	}
	if id, ok := a.created.field("output_file_id").(string); ok {
		a.early = a.content(ctx, id, "")
	}
	try(newBatchClaims())
	try(cancelClaims())
	if err := a.await(ctx); err != nil {
		return r, err
	}
	try(resultClaims())
	try(deletionClaims())
	return r, nil
}

// simulated asks a simulator over real HTTP.
func simulated(t *testing.T, cfg simulator.Config) *report {
	t.Helper()
	sim, err := simulator.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(sim)
	t.Cleanup(func() {
		server.Close()
		if err := sim.Close(); err != nil {
			t.Error(err)
		}
	})
	a := newAsking(t, settings{
		baseURL: server.URL + "/v1", key: "good", model: "openai/gpt-oss-20b", window: "24h",
		patience: time.Minute, settle: time.Second, interval: 5 * time.Millisecond,
	})
	found, err := ask(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s", found.markdown())
	if rows := sim.Ledger().RowsRun; rows > 2*(goodRows+1) {
		t.Errorf("%d rows ran, more than was said", rows)
	}
	return found
}

// simulators answer so slowly that what is read early and cancelled at once is seen to be.
func slowly(cfg simulator.Config) simulator.Config {
	cfg.Latency, cfg.RowsPerSecond, cfg.Keys = 300*time.Millisecond, 50, []string{"good"}
	return cfg
}

func TestTheSimulatorKeepsTheContract(t *testing.T) {
	t.Parallel()
	found := simulated(t, slowly(simulator.Config{}))
	for _, l := range found.lines {
		early := l.verdict == notDeterminable && (l.name == "what was read early comes first" || l.name == "output is read while rows run")
		if l.verdict != agrees && !early {
			t.Errorf("%s: %s: %s", l.name, l.verdict, l.seen)
		}
	}
}

func TestAPlainServerDiffersInWhatBatchbusCanLiveWith(t *testing.T) {
	t.Parallel()
	found := simulated(t, slowly(simulator.Config{Dialect: simulator.DialectOpenAI}))
	for _, l := range found.broken() {
		t.Errorf("%s: %s", l.name, l.seen)
	}
	differing := found.differing()
	for _, name := range []string{
		"errors are plain text", "a create says 201 and a bare UUID", "both result files have ids from the start", "skip is the cursor",
		"a list of batches is searched by metadata", "a refused row's error is JSON in a string", "analytics bill the tokens of the answers",
	} {
		if !differing[name] {
			t.Errorf("not noticed: %s", name)
		}
	}
}

func TestAServerThatBreaksWhatBatchbusReliesOnIsFoundOut(t *testing.T) {
	t.Parallel()
	const always = -1
	for name, tc := range map[string]struct {
		fault  simulator.Fault
		broken string
	}{
		"a row is in neither file": {
			simulator.Fault{Kind: simulator.FaultMissingRow, CustomIDs: []string{"row-2"}}, "every row stands in one of the two files, once, with its custom_id",
		},
		"a row stands twice": {
			simulator.Fault{Kind: simulator.FaultDuplicateRow, CustomIDs: []string{"row-2"}}, "every row stands in one of the two files, once, with its custom_id",
		},
		"lists are blind": {
			simulator.Fault{Kind: simulator.FaultListLag, Delay: time.Hour, Count: always}, "a batch is found by a token in its metadata",
		},
		"pages begin again": {
			simulator.Fault{Kind: simulator.FaultAfterIgnored, Count: always}, "the page after a file begins behind it",
		},
	} {
		t.Run("when "+name, func(t *testing.T) {
			t.Parallel()
			found := simulated(t, simulator.Config{Faults: []simulator.Fault{tc.fault}})
			if !slices.ContainsFunc(found.broken(), func(l line) bool { return l.name == tc.broken }) {
				t.Errorf("%d lines say that something is broken, not this one", len(found.broken()))
			}
		})
	}
}

// TestServer asks the server of the environment.
func TestServer(t *testing.T) {
	t.Parallel()
	s, named := fromEnvironment()
	if !named {
		t.Skip("SKIPPED: it asks the server that CONFORMANCE_BASE_URL names; see the package's comment")
	}
	if s.key == "" || s.model == "" {
		t.Fatal("DOUBLEWORD_API_KEY and CONFORMANCE_MODEL are needed too")
	}
	t.Log(s.spending())
	if os.Getenv("CONFORMANCE_SPEND") != "yes" {
		t.Skip("SKIPPED: nothing was sent; set CONFORMANCE_SPEND=yes to spend that")
	}
	found, err := ask(t.Context(), newAsking(t, s))
	t.Logf("%s", found.markdown())
	if name := reportName(); name != "" {
		if err := os.WriteFile(name, []byte(found.markdown()), 0o600); err != nil {
			t.Error(err)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range found.broken() {
		t.Errorf("batchbus relies on it: %s (contract %s): expected %s, seen %s", l.name, l.section, l.expected, l.seen)
	}
}

func TestTheDocumentsShowTheReportAsItIs(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/provider.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := regexp.MustCompile("(?s)```markdown\n(# Conformance of .*?)```").FindSubmatch(page)
	if shown == nil {
		t.Fatal("docs/provider.md shows no report")
	}
	headings := regexp.MustCompile(`(?m)^(?:#+ .*|\| Claim .*|Spends at most .*)$`)
	written := simulated(t, slowly(simulator.Config{})).markdown()
	want, got := headings.FindAllString(written, -1), headings.FindAllString(string(shown[1]), -1)
	if !slices.Equal(want, got) {
		t.Errorf("docs/provider.md shows\n%q\na report has\n%q", got, want)
	}
}
