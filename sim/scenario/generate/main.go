// Command generate writes the JSON Schemas of scenario files and of files about extensions, and the
// reference of scenario files for people. It is called by go generate.
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/transplant-sim/transplant/sim/scenario/reference"
)

func main() {
	if err := write(); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

func write() error {
	if len(os.Args) != 4 {
		return fmt.Errorf("usage: %s SCHEMA EXTENSION-SCHEMA PAGE", os.Args[0])
	}
	schema, err := reference.Schema()
	if err != nil {
		return err
	}
	extensionSchema, err := reference.ExtensionSchema()
	if err != nil {
		return err
	}
	page, err := reference.Page()
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(os.Args[1], schema, 0o644), os.WriteFile(os.Args[2], extensionSchema, 0o644),
		os.WriteFile(os.Args[3], page, 0o644))
}
