package doubleword_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/batchbus/batchbus/pkg/doubleword"
)

const slots = `{"error":"too_many_requests","message":"Too many file uploads in progress","retry_after_seconds":30}`

// tries are calls of every sort, by name, and whether each is kept back.
func (p *play) tries(c *doubleword.Client) map[string]bool {
	ctx := p.t.Context()
	kept := map[string]bool{}
	for name, call := range map[string]func() error{
		"list":    func() error { _, err := c.Batches(ctx, doubleword.BatchQuery{}); return err },
		"poll":    func() error { _, err := c.Batch(ctx, "other"); return err },
		"collect": func() error { return p.tryContent(ctx, c, "other") },
		"create":  func() error { _, err := c.CreateBatch(ctx, doubleword.NewBatch{}); return err },
		"upload":  func() error { return p.tryUpload(c) },
	} {
		before := len(p.stage.calls())
		err := call()
		sent := len(p.stage.calls()) > before
		if sent == errors.Is(err, doubleword.ErrPaused) {
			p.t.Errorf("%s: sent %v, error %v", name, sent, err)
		}
		if !sent {
			kept[name] = true
		}
	}
	return kept
}

func (p *play) tryContent(ctx context.Context, c *doubleword.Client, id string) error {
	content, err := c.Content(ctx, id, doubleword.ContentQuery{})
	if err == nil {
		_ = content.Body.Close()
	}
	return err
}

func (p *play) tryUpload(c *doubleword.Client) error {
	_, err := c.UploadFile(p.t.Context(), "rows", nothing)
	return err
}

func TestEachKindOf429KeepsBackWhatItIsAbout(t *testing.T) {
	t.Parallel()
	all := []string{"collect", "create", "list", "poll", "upload"}
	for _, c := range []struct {
		name, path, text string
		call             func(p *play, c *doubleword.Client) error
		want             []string
		wait             time.Duration
	}{
		{"upload slots keep uploads back, for the longer of header and body", "/files", slots, func(p *play, c *doubleword.Client) error { return p.tryUpload(c) }, []string{"upload"}, time.Minute},
		{"capacity is the batch's own business", "/batches", `{"message":"Insufficient capacity for 24h completion window"}`, create, nil, 0},
		{"the unverified quota too", "/batches", `{"message":"Unverified accounts can submit at most 24000"}`, create, nil, 0},
		{"any other keeps back all of the key", "/batches", "slow down", create, all, time.Minute},
		{"also on a list", "/batches", "slow down", list, all, time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			inPlay(t, doubleword.BudgetConfig{}, func(p *play) {
				client, other := p.client("a"), p.client("b")
				p.stage.refuse(c.path, refusal{429, "60", c.text})
				asked := time.Now()
				if err := c.call(p, client); err == nil || errors.Is(err, doubleword.ErrPaused) {
					t.Fatalf("error %v", err)
				}
				p.stage.refuse(c.path, refusal{})
				p.wantKept(client, c.want)
				p.wantKept(other, nil)
				if until := p.budget.PausedUntil(); c.wait > 0 && until.Sub(asked) != c.wait {
					t.Errorf("paused for %s", until.Sub(asked))
				}
				<-time.NewTimer(c.wait).C
				p.wantKept(client, nil)
			})
		})
	}
}

func (p *play) wantKept(c *doubleword.Client, want []string) {
	p.t.Helper()
	var got []string
	for name := range p.tries(c) {
		got = append(got, name)
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		p.t.Errorf("kept back %v, want %v", got, want)
	}
}

func create(p *play, c *doubleword.Client) error {
	_, err := c.CreateBatch(p.t.Context(), doubleword.NewBatch{})
	return err
}

func list(p *play, c *doubleword.Client) error {
	_, err := c.Batches(p.t.Context(), doubleword.BatchQuery{})
	return err
}

func TestA429OfOneBatchKeepsBackThatBatchAlone(t *testing.T) {
	t.Parallel()
	inPlay(t, doubleword.BudgetConfig{}, func(p *play) {
		c, ctx := p.client("a"), p.t.Context()
		bad := []string{"/files/output/content", "/files/errors/content", "/batches/bad"}
		for _, path := range bad {
			p.stage.refuse(path, refusal{429, "60", "slow down"})
		}
		ask := func() {
			_ = p.tryContent(ctx, c, "output")
			_ = p.tryContent(ctx, c, "errors")
			_, _ = c.Batch(ctx, "bad")
		}
		ask()
		p.wantKept(c, nil)
		before := len(p.stage.calls())
		ask()
		if after := len(p.stage.calls()); after != before {
			t.Errorf("%d calls about it were sent in its pause", after-before)
		}
		p.stage.refuse("/batches/another", refusal{429, "60", "slow down"})
		_, _ = c.Batch(ctx, "another") // more than one batch: it is the key
		p.wantKept(c, []string{"collect", "create", "list", "poll", "upload"})
	})
}

func TestAPausedCallFailsAsTheAnswerDidWithTheTimeThatIsLeft(t *testing.T) {
	t.Parallel()
	inPlay(t, doubleword.BudgetConfig{}, func(p *play) {
		c := p.client("a")
		p.stage.refuse("/files", refusal{429, "60", slots})
		_ = p.tryUpload(c)
		<-time.NewTimer(20 * time.Second).C
		err := p.tryUpload(c)
		e := asError(t, err)
		if e.RetryAfter != 40*time.Second || e.Class != doubleword.Retryable || doubleword.RefusalOf(err) != doubleword.RefusedUploadSlots {
			t.Errorf("%+v", e)
		}
	})
}

func TestA429WithoutATimePausesForLongerEachTime(t *testing.T) {
	t.Parallel()
	inPlay(t, doubleword.BudgetConfig{}, func(p *play) {
		c := p.client("a")
		p.stage.refuse("/batches", refusal{429, "", "slow down"})
		for _, seconds := range []int{1, 2, 4, 8, 16, 32, 60, 60} {
			want := time.Duration(seconds) * time.Second
			_ = list(p, c)
			if got := time.Until(p.budget.PausedUntil()); got != want {
				t.Errorf("a pause of %s, want %s", got, want)
			}
			<-time.NewTimer(want).C
		}
		<-time.NewTimer(2 * time.Minute).C
		_ = list(p, c)
		if got := time.Until(p.budget.PausedUntil()); got != time.Second {
			t.Errorf("after two quiet minutes a pause of %s", got)
		}
	})
}

func TestACallThatWaitedForItsPlaceIsNotSentIntoAPause(t *testing.T) {
	t.Parallel()
	inPlay(t, doubleword.BudgetConfig{MaxCalls: 6}, func(p *play) {
		c := p.client("a")
		open := p.stage.hold("/files")
		p.stage.refuse("/files", refusal{429, "60", slots})
		failed := make(chan error, 2)
		try := func() { failed <- p.tryUpload(c) }
		p.start(try, try)
		open()
		synctest.Wait()
		if first, second := <-failed, <-failed; errors.Is(first, doubleword.ErrPaused) == errors.Is(second, doubleword.ErrPaused) {
			t.Errorf("%v, and %v", first, second)
		}
		if came := p.stage.calls(); len(came) != 1 {
			t.Error(fmt.Sprint(came))
		}
	})
}
