package app

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/batchbus/batchbus/pkg/jetstore"
)

const (
	answerInterval = 5 * time.Second // at most so often the bus is asked for /readyz while it answers
	answerTimeout  = 2 * time.Second
)

// answerCheck asks the leader of the state's stream for the bus' name. A connection alone says nothing: a node that is cut off from the
// other two keeps its clients, and stores nothing. It is safe for concurrent use.
type answerCheck struct {
	bus *jetstore.Store

	mu     sync.Mutex
	nextAt time.Time
}

// fault is why the bus is not there for us, if it is not. It blocks for [answerTimeout] at most.
func (c *answerCheck) fault() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Now().Before(c.nextAt) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), answerTimeout)
	defer cancel()
	if _, err := c.bus.Get(ctx, "bus"); err != nil {
		return fmt.Errorf("the bus does not answer (a node without the others, or one that starts): %w", err)
	}
	c.nextAt = time.Now().Add(answerInterval)
	return nil
}
