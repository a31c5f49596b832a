package jetstore

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestAServerThatAnswersNothingIsAskedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		began, tries := time.Now(), 0
		_, err := patiently(ctx, func(ctx context.Context) ([]Difference, error) {
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
