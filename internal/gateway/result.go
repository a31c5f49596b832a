package gateway

import (
	"context"
	"fmt"

	"github.com/batchbus/batchbus/pkg/events"
	"github.com/batchbus/batchbus/pkg/jetstore"
)

// result reads the result of a call's row, for which there is room until release is called. [jetstore.ErrNotFound] when there is none.
func (s *Service) result(ctx context.Context, c *call) (r *events.Result, release func(), err error) {
	release, err = s.answers.take(ctx, smallAnswer)
	if err != nil {
		return nil, nil, err
	}
	m, err := s.cfg.Bus.Last(ctx, jetstore.StreamResults, c.resultSubject())
	if err != nil {
		release()
		return nil, nil, err
	}
	if object, external := jetstore.ObjectOf(m.Header); external {
		release() // what is held while more is waited for could be all that there is
		return s.bigResult(ctx, c, object.Size)
	}
	read, err := events.ParseResult(m.Data)
	if err != nil {
		release()
		return nil, nil, err
	}
	return &read, release, nil
}

// bigResult reads a result that is an object.
func (s *Service) bigResult(ctx context.Context, c *call, size int64) (r *events.Result, release func(), err error) {
	release, err = s.answers.take(ctx, max(size, smallAnswer))
	if err != nil {
		return nil, nil, err
	}
	for read, err := range s.results.RowResults(ctx, c.Queue, c.Job, c.id) {
		if err != nil {
			release()
			return nil, nil, fmt.Errorf("read result: %w", err)
		}
		return &read.Result, release, nil
	}
	release()
	return nil, nil, jetstore.ErrNotFound
}
