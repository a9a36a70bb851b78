// Package fence_test shows the rules of docs/ownership.md#spec-9-2 on real processes: a guard, an etcd, an API server
// and a gateway are frozen in the middle of writes, ownership is handed on meanwhile, and what they do after they were
// thawed is judged by the properties (P) and (F).
package fence_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/spf13/cobra"

	"github.com/transplant-sim/transplant/clusters/apiservertest"
	"github.com/transplant-sim/transplant/controllers/etcd"
	"github.com/transplant-sim/transplant/controllers/gateway"
)

// asCommand makes the test binary run a command of the product, so that it can be frozen as a process.
const asCommand = "TRANSPLANT_TEST_AS_COMMAND"

var commands = map[string]func() *cobra.Command{"guard": etcd.NewGuardCommand, "gateway": gateway.NewCommand}

func TestMain(m *testing.M) {
	if name := os.Getenv(asCommand); name != "" {
		command := commands[name]()
		command.SetArgs(os.Args[1:])
		if err := command.ExecuteContext(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	apiservertest.Locate() // for package etcdtest
	os.Exit(m.Run())
}
