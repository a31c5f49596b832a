package app_test

import (
	"os"
	"testing"

	"github.com/batchbus/batchbus/pkg/jetstore/jetstoretest"
)

func TestMain(m *testing.M) {
	if role, ok := os.LookupEnv(roleVariable); ok {
		os.Exit(child(role, os.Args[len(os.Args)-1]))
	}
	jetstoretest.Verify(m)
}
