// Command generate writes the JSON Schema of scenario files. It is called by go generate.
package main

import (
	"fmt"
	"os"

	"github.com/transplant-sim/transplant/sim/scenario"
)

func main() {
	if err := write(); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

func write() error {
	if len(os.Args) != 2 {
		return fmt.Errorf("usage: %s FILE", os.Args[0])
	}
	schema, err := scenario.Schema()
	if err != nil {
		return err
	}
	return os.WriteFile(os.Args[1], schema, 0o644)
}
