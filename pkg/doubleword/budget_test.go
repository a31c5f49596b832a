package doubleword_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/batchbus/batchbus/pkg/doubleword"
)

// P58: a call beyond the budget waits, and the first that came is the first to go.
func TestP58TheCallBeyondTheBudgetWaitsAndOfAKeyTheFirstGoesFirst(t *testing.T) {
	t.Parallel()
	inPlay(t, doubleword.BudgetConfig{MaxCalls: 8}, func(p *play) {
		c := p.client("a")
		// Of eight places two are kept for downloads, one for creates and one for uploads.
		opened := make([]func(), 8)
		for i := range 8 {
			opened[i] = p.stage.hold(fmt.Sprintf("/batches/%d", i))
			p.start(p.poll(c, strconv.Itoa(i)))
		}
		if n := len(p.stage.calls()); n != 4 {
			t.Fatalf("%d calls went out, want 4", n)
		}
		for i, open := range opened {
			open()
			synctest.Wait()
			want := min(5+i, 8)
			if came := p.stage.calls(); len(came) != want || !strings.HasSuffix(came[want-1], fmt.Sprint("/", want-1)) {
				t.Fatalf("after %d ended there came %v", i+1, came)
			}
		}
	})
}

func TestKeysTakeTurns(t *testing.T) {
	t.Parallel()
	inPlay(t, doubleword.BudgetConfig{MaxCalls: 6}, func(p *play) {
		busy, other := p.client("busy"), p.client("other")
		first, second := p.stage.hold("/batches/0"), p.stage.hold("/batches/00")
		p.start(p.poll(busy, "0"), p.poll(busy, "00")) // all that small calls have
		for i := range 5 {
			p.start(p.poll(busy, strconv.Itoa(i+1)))
		}
		p.start(p.poll(other, "x"))
		first()
		synctest.Wait()
		second()
		synctest.Wait()
		at := slices.Index(p.stage.calls(), "other GET /batches/x")
		if at > 3 { // two that ran, one of the busy key, and then it
			t.Errorf("the other key's one call came at place %d of %v", at, p.stage.calls())
		}
	})
}

func TestLongCallsOfAnyKindDoNotKeepTheOthersWaiting(t *testing.T) {
	t.Parallel()
	inPlay(t, doubleword.BudgetConfig{MaxCalls: 6}, func(p *play) {
		c := p.client("a")
		openFiles, openHung := p.stage.hold("/files"), p.stage.drip("/files/hung/content")
		p.start(p.upload(c), p.upload(c), p.upload(c), p.collect(c, "hung"))
		begin := time.Now()
		for i := range 10 {
			p.start(p.collect(c, fmt.Sprint("file", i)), p.poll(c, fmt.Sprint("batch", i)))
		}
		if _, err := c.CreateBatch(p.t.Context(), doubleword.NewBatch{InputFileID: "f"}); err != nil {
			t.Errorf("create: %v", err)
		}
		came := p.stage.calls()
		for i := range 10 {
			for _, path := range []string{fmt.Sprintf("a GET /files/file%d/content", i), fmt.Sprintf("a GET /batches/batch%d", i)} {
				if !slices.Contains(came, path) {
					t.Errorf("%s has not come", path)
				}
			}
		}
		if time.Since(begin) != 0 || count(came, "a POST /files") != 1 {
			t.Errorf("after %s: %v", time.Since(begin), came)
		}
		openHung()
		openFiles()
	})
}

func count(all []string, one string) (n int) {
	for _, s := range all {
		if s == one {
			n++
		}
	}
	return n
}

func TestNeverMoreCallsAreUnderWayThanTheBudgetHas(t *testing.T) {
	t.Parallel()
	inPlay(t, doubleword.BudgetConfig{MaxCalls: 7}, func(p *play) {
		c := p.client("a")
		open := []func(){p.stage.hold("/files"), p.stage.hold("/batches/b"), p.stage.hold("/files/f/content")}
		for range 10 {
			p.start(p.upload(c), p.poll(c, "b"), p.collect(c, "f"))
		}
		if p.stage.now != 6 { // the seventh is kept for a create
			t.Errorf("%d calls are under way", p.stage.now)
		}
		for _, o := range open {
			o()
		}
		p.group.Wait()
		if p.stage.most > 7 || len(p.stage.calls()) != 30 {
			t.Errorf("%d at once, %d in all", p.stage.most, len(p.stage.calls()))
		}
	})
}

func TestContentHasItsPlaceUntilItIsClosed(t *testing.T) {
	t.Parallel()
	inPlay(t, doubleword.BudgetConfig{MaxCalls: 6}, func(p *play) {
		c := p.client("a")
		var bodies []io.Closer
		for range 2 {
			content, err := c.Content(p.t.Context(), "f", doubleword.ContentQuery{})
			if err != nil {
				t.Fatal(err)
			}
			bodies = append(bodies, content.Body)
		}
		p.start(p.collect(c, "g"))
		if came := p.stage.calls(); len(came) != 2 {
			t.Errorf("a third came: %v", came)
		}
		_ = bodies[0].Close()
		_ = bodies[0].Close() // twice gives back one place
		synctest.Wait()
		if came := p.stage.calls(); len(came) != 3 {
			t.Errorf("the third has not come: %v", came)
		}
		_ = bodies[1].Close()
	})
}

func TestACallThatGaveUpWaitingLeavesItsPlaceToTheNext(t *testing.T) {
	t.Parallel()
	inPlay(t, doubleword.BudgetConfig{MaxCalls: 6}, func(p *play) {
		c := p.client("a")
		open := p.stage.hold("/batches/0")
		p.start(p.poll(c, "0"), p.poll(c, "0"))
		ctx, cancel := context.WithCancel(p.t.Context())
		failed := make(chan error, 1)
		p.start(func() { _, err := c.Batch(ctx, "given up"); failed <- err }, p.poll(c, "next"))
		cancel()
		err := <-failed
		if !errors.Is(err, doubleword.ErrNoPlace) || !errors.Is(err, context.Canceled) || doubleword.ClassOf(err) != doubleword.Retryable {
			t.Errorf("error %v", err)
		}
		open()
		p.group.Wait()
		if came := p.stage.calls(); len(came) != 3 || came[2] != "a GET /batches/next" {
			t.Errorf("%v", came)
		}
	})
}

func TestACallThatIsOverBeforeItBeginsTakesNoPlace(t *testing.T) {
	t.Parallel()
	inPlay(t, doubleword.BudgetConfig{MaxCalls: 6}, func(p *play) {
		c := p.client("a")
		ctx, cancel := context.WithCancel(p.t.Context())
		cancel()
		for range 50 { // a free place and the end of the context come at once: either may win
			if _, err := c.Batch(ctx, "b"); !errors.Is(err, context.Canceled) {
				t.Errorf("error %v", err)
			}
		}
		p.start(p.poll(c, "next"))
		if n := len(p.stage.calls()); n != 1 {
			t.Errorf("%d calls came", n)
		}
	})
}

func TestACreateThatFindsNoPlaceForFiveSecondsIsNotSent(t *testing.T) {
	t.Parallel()
	inPlay(t, doubleword.BudgetConfig{MaxCalls: 6}, func(p *play) {
		c := p.client("a")
		open := p.stage.hold("/batches")
		create := func() error {
			_, err := c.CreateBatch(p.t.Context(), doubleword.NewBatch{InputFileID: "f"})
			return err
		}
		p.start(func() { _ = create() })
		begin := time.Now()
		err := create()
		if !errors.Is(err, doubleword.ErrNoPlace) || doubleword.ClassOf(err) != doubleword.Retryable || time.Since(begin) != 5*time.Second {
			t.Errorf("after %s: %v", time.Since(begin), err)
		}
		open()
		p.group.Wait()
		if n := len(p.stage.calls()); n != 1 {
			t.Errorf("%d were sent", n)
		}
	})
}

func TestTheTimeoutOfACallBeginsWithItsPlace(t *testing.T) {
	t.Parallel()
	inPlay(t, doubleword.BudgetConfig{MaxCalls: 6}, func(p *play) {
		c := p.client("a")
		open := p.stage.hold("/files")
		p.start(p.upload(c), p.upload(c)) // the second waits for longer than the idle timeout
		<-time.NewTimer(doubleword.DefaultIdleTimeout - time.Second).C
		open()
		p.group.Wait()
		if n := len(p.stage.calls()); n != 2 {
			t.Errorf("%d uploads came", n)
		}
	})
}

func TestCallsBeginNoFasterThanTheRate(t *testing.T) {
	t.Parallel()
	inPlay(t, doubleword.BudgetConfig{MaxPerSecond: 4}, func(p *play) {
		c := p.client("a")
		<-time.NewTimer(time.Hour).C // saves up no more than a second's worth
		begin := time.Now()
		for i := range 24 {
			p.start(p.poll(c, strconv.Itoa(i)))
		}
		p.group.Wait()
		for i, at := range p.stage.at {
			if want := time.Duration(max(0, i-3)) * time.Second / 4; (at.Sub(begin) - want).Abs() > time.Millisecond {
				t.Errorf("call %d came after %s, want %s", i, at.Sub(begin), want)
			}
			if want := fmt.Sprint("a GET /batches/", i); p.stage.came[i] != want {
				t.Errorf("call %d was %s", i, p.stage.came[i])
			}
		}
	})
}

func TestABudgetTellsHowLongCallsWait(t *testing.T) {
	t.Parallel()
	inPlay(t, doubleword.BudgetConfig{MaxCalls: 6}, func(p *play) {
		c := p.client("a")
		open := p.stage.hold("/files")
		p.start(p.upload(c))
		since := time.Now()
		p.start(p.upload(c))
		<-time.NewTimer(time.Minute).C
		p.start(p.upload(c))
		for _, s := range p.budget.Stats() {
			want := doubleword.CallStats{Kind: s.Kind}
			if s.Kind == doubleword.CallUpload {
				want.InFlight, want.Waiting, want.OldestSince = 1, 2, since
			}
			if s != want {
				t.Errorf("%s: %+v, want %+v", s.Kind, s, want)
			}
		}
		open()
	})
}

func TestABudgetNeedsPlacesForEveryKindOfCall(t *testing.T) {
	t.Parallel()
	for _, c := range []doubleword.BudgetConfig{{MaxCalls: 5}, {MaxCalls: -1}, {MaxPerSecond: -0.1}} {
		if _, err := doubleword.NewBudget(c); err == nil {
			t.Errorf("%+v is taken", c)
		}
	}
	var none *doubleword.Budget
	if none.Stats() != nil || !none.PausedUntil().IsZero() {
		t.Error("the nil budget has stats")
	}
}
