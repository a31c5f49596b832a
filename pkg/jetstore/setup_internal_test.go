package jetstore

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

func TestAServerThatAnswersNothingIsAskedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		began, tries := time.Now(), 0
		_, err := patiently(ctx, func(error) bool { return false }, func(ctx context.Context) ([]Difference, error) {
			if tries++; tries > 1 {
				return nil, nil
			}
			<-ctx.Done() // no leader: the request is dropped
			return nil, ctx.Err()
		})
		if took := time.Since(began); err != nil || tries != 2 || took > 6*time.Second {
			t.Errorf("%d tries in %s: %v", tries, took, err)
		}
	})
}

func TestAClusterThatIsNotCompleteIsStarting(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		code  int
		error jetstream.ErrorCode
		want  bool
	}{{400, 10005, true}, {503, 10008, true}, {500, 10049, true}, {500, 10047, false}, {400, 10074, false}} {
		err := fmt.Errorf("create: %w", &jetstream.APIError{Code: c.code, ErrorCode: c.error})
		if starting(err) != c.want {
			t.Errorf("%d/%d is taken for a server that starts: %t", c.code, c.error, !c.want)
		}
	}
}
