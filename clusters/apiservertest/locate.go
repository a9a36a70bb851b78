package apiservertest

import (
	"context"
	"fmt"
	"os"

	"github.com/transplant-sim/transplant/clusters/embedded/binary"
)

// Locate finds the control-plane binary, building it if need be, and names it in the environment, for test support that
// may not import the harness. It is for TestMain, and ends the program when there is none.
func Locate() {
	path, err := binary.Find(context.Background())
	if err == nil {
		err = os.Setenv(binary.Variable, path)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
