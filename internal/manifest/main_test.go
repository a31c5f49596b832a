package manifest_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/batchbus/batchbus/pkg/jetstore/jetstoretest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(jetstoretest.Held{M: m}) }
