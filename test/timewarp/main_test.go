// Package timewarp_test runs all services together in fake time, by the settings that a deployment has by default: a day passes in a
// moment, and what is waited for comes when it would.
package timewarp_test

import (
	"testing"

	"github.com/batchbus/batchbus/pkg/jetstore/jetstoretest"
)

func TestMain(m *testing.M) { jetstoretest.Verify(m) }
