package app

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Service is what the composition root needs of each service.
type Service interface {
	// Name is the service's name, as in [Names].
	Name() string
	// Run blocks until ctx ends and what is in flight is drained, and returns nil then. Returning earlier is a fault.
	Run(ctx context.Context) error
}

// errStoppedEarly is the fault of a service that returns before it was told to.
var errStoppedEarly = errors.New("stopped by itself")

// supervise runs the services until ctx ends. The first that stops by itself stops all; faults are joined.
func supervise(ctx context.Context, services []Service) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	faults := make([]error, len(services))
	var group sync.WaitGroup
	for i, service := range services {
		group.Go(func() {
			defer stop()
			err := service.Run(ctx)
			if err == nil && ctx.Err() == nil {
				err = errStoppedEarly
			}
			if err != nil {
				faults[i] = fmt.Errorf("run %s: %w", service.Name(), err)
			}
		})
	}
	group.Wait()
	return errors.Join(faults...)
}
