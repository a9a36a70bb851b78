package processnode_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/spf13/cobra"

	"github.com/transplant-sim/transplant/clusters/embedded/processnode"
)

// The test binary is also the process node, and its container init.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "processnode" {
		root := &cobra.Command{Use: "test", SilenceErrors: true}
		root.AddCommand(processnode.NewCommand())
		if err := root.ExecuteContext(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	flag.Parse()
	// Pods mostly wait, and more of them at a time than there are cores.
	if err := flag.Set("test.parallel", "16"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}
