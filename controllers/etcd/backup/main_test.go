package backup_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/transplant-sim/transplant/clusters/embedded/binary"
)

// TestMain lets package etcdtest know where etcd is.
func TestMain(m *testing.M) {
	path, err := binary.Find(context.Background())
	if err == nil {
		err = os.Setenv(binary.Variable, path)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}
