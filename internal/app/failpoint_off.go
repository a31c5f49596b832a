//go:build !failpoint

package app

import "github.com/batchbus/batchbus/internal/failpoint"

// failpoints of a program as people use it: none, and no way to have any.
func failpoints(Env) (*failpoint.Registry, error) { return nil, nil } //nolint:nilnil // a nil registry is one that nobody listens to
