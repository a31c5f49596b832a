// Package deploy_test runs batchbus as people deploy it: a real nats-server, the provider's simulator and each service as processes of
// their own, several of each, killed at bad moments. It publishes by subjects and pkg/client, and judges by what stands in the streams
// and by the simulator's ledger.
package deploy_test

import (
	"os"
	"testing"

	"github.com/batchbus/batchbus/test/rig"
)

func TestMain(m *testing.M) { os.Exit(rig.Run(m)) }
