// Package chaos_test kills batchbus at chosen and at random points and judges what survives, by the streams and by the simulator's ledger
// alone. The services are processes of their own, built with the tag failpoint, so that they can end themselves at a point of
// internal/failpoint.
//
// matrix_test.go is the crash matrix: every point, before and after, by one command that docs/failure-model.md names.
package chaos_test

import (
	"os"
	"testing"

	"github.com/batchbus/batchbus/test/rig"
)

func TestMain(m *testing.M) { os.Exit(rig.Run(m, "failpoint")) }
