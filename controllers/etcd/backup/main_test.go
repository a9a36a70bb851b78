package backup_test

import (
	"os"
	"testing"

	"github.com/transplant-sim/transplant/clusters/apiservertest"
)

// TestMain lets package etcdtest know where etcd is.
func TestMain(m *testing.M) {
	apiservertest.Locate()
	os.Exit(m.Run())
}
