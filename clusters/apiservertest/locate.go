package apiservertest

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/transplant-sim/transplant/clusters/embedded/binary"
)

// Locate finds the control-plane binary, building it if need be, and names it in the environment, for test support that
// may not import the harness. It is for TestMain, and ends the program when there is none. With -short, no test needs
// it, and nothing is looked for.
func Locate() {
	flag.Parse() // TestMain runs before the flags are read
	if testing.Short() {
		return
	}
	path, err := binary.Find(context.Background())
	if err == nil {
		err = os.Setenv(binary.Variable, path)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
