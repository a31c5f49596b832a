package doubleword_test

import (
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/batchbus/batchbus/pkg/doubleword"
)

// hang begins a download that brings no byte, or no other one than its first, and reports its error when it has ended.
func (p *play) hang(c *doubleword.Client, id string, ended func(error)) func() {
	return func() {
		content, err := c.Content(p.t.Context(), id, doubleword.ContentQuery{})
		if err == nil {
			_, err = io.Copy(io.Discard, content.Body)
			_ = content.Body.Close()
		}
		ended(err)
	}
}

func TestDownloadsThatHangGiveWayToOthersWithinSeconds(t *testing.T) {
	t.Parallel()
	for _, hung := range []string{"before the answer", "in the body"} {
		t.Run(hung, func(t *testing.T) {
			t.Parallel()
			inPlay(t, doubleword.BudgetConfig{}, func(p *play) {
				c, gate := p.client("a"), p.stage.hold
				if hung == "in the body" {
					gate = p.stage.drip
				}
				gaveWay := make(chan error, 12)
				for i := range 12 { // two more than there are places for downloads
					gate(fmt.Sprintf("/files/hung%d/content", i))
					p.start(p.hang(c, fmt.Sprint("hung", i), func(err error) { gaveWay <- err }))
				}
				begin := time.Now()
				p.collect(c, "healthy")()
				if waited := time.Since(begin); waited > 8*time.Second {
					t.Errorf("the healthy one waited for %s", waited)
				}
				for range 3 { // the two that waited and the healthy one had to get in
					if err := <-gaveWay; !errors.Is(err, doubleword.ErrCrowded) || doubleword.ClassOf(err) != doubleword.Retryable {
						t.Errorf("one gave way with %v", err)
					}
				}
				for range 9 {
					if err := <-gaveWay; !errors.Is(err, doubleword.ErrIdle) {
						t.Errorf("when nobody waits they end with %v", err)
					}
				}
			})
		})
	}
}

func TestDownloadsThatAreSlowGetTheirAnswerThoughOthersWait(t *testing.T) {
	t.Parallel()
	inPlay(t, doubleword.BudgetConfig{MaxCalls: 6}, func(p *play) {
		c := p.client("a")
		answer := p.stage.hold("/files/slow/content")
		p.start(p.collect(c, "slow"))
		time.AfterFunc(90*time.Second, answer)
		p.stage.hold("/files/hung/content")
		for range 20 { // one after the other, each in the one place that is left, and another waits for it
			p.start(p.hang(c, "hung", func(error) {}))
		}
	})
}

func TestADownloadThatHangsAloneKeepsItsPlace(t *testing.T) {
	t.Parallel()
	inPlay(t, doubleword.BudgetConfig{}, func(p *play) {
		c := p.client("a")
		answer := p.stage.hold("/files/slow/content")
		begin := time.Now()
		time.AfterFunc(100*time.Second, answer)
		p.collect(c, "slow")()
		if time.Since(begin) != 100*time.Second || len(p.stage.calls()) != 1 {
			t.Errorf("after %s: %v", time.Since(begin), p.stage.calls())
		}
		synctest.Wait()
	})
}
