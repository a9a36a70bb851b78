//go:build e2e

// Package suites runs the catalogue, and tests the controllers, as suites of sigs.k8s.io/e2e-framework: `make e2e`.
// Its flags choose, such as -args -labels fault=loseCluster. What failed leaves its evidence and the log of every
// process in out/e2e.
package suites

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"sigs.k8s.io/e2e-framework/pkg/env"
)

var environment env.Environment

// Places, from the root of the repository.
var (
	root    = filepath.Join("..", "..")
	program = filepath.Join(root, "bin", "transplant")
	results = filepath.Join(root, "out", "e2e")
)

// Settings that the Makefile hands on.
var (
	backend  = setting("BACKEND", "embedded")
	patience = setting("TIMEOUT_MULTIPLIER", "1")
)

func setting(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}

func TestMain(m *testing.M) {
	if _, err := os.Stat(program); err != nil {
		fmt.Fprintln(os.Stderr, "The program is not built; run make build:", err)
		os.Exit(2)
	}
	var err error
	if environment, err = env.NewFromFlags(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	os.Exit(environment.Run(m))
}
