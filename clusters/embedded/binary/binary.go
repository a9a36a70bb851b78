// Package binary finds the control-plane binary, the multi-call program of clusters/controlplane, or builds it once
// and caches it.
//
// It is not a general build cache: one program, one key, and nothing is ever deleted from the cache.
package binary

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Variable names the environment variable that points to a prebuilt binary.
const Variable = "TRANSPLANT_KUBERNETES_BIN"

// SourceVariable names the environment variable that points to a repository whose sources are to be built, instead of
// those that this program was built with.
const SourceVariable = "TRANSPLANT_SOURCE"

// program is the binary's file name in the cache.
const program = "controlplane"

// Errors that callers distinguish.
var (
	ErrNotBuilt = errors.New("the control-plane binary has not been built")
	ErrNoGo     = errors.New("the go command is not in PATH")
	ErrNoSource = errors.New("the sources of the control-plane binary were not found")
	ErrUnusable = errors.New("the control-plane binary does not work")
	ErrDiskFull = errors.New("too little space on the disk")
)

// Find returns the path of a binary that exists already: the one TRANSPLANT_KUBERNETES_BIN names, after a check that
// it runs, or the cached one. It is ErrNotBuilt when there is none.
func Find(ctx context.Context) (string, error) {
	if path := os.Getenv(Variable); path != "" {
		return path, check(ctx, path)
	}
	source, err := findSource()
	if err != nil {
		return "", err
	}
	path, err := cached(ctx, source)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("find the control-plane binary %q: %w: run \"transplant controlplane\", or let %s name one",
			path, ErrNotBuilt, Variable)
	}
	return path, nil
}

// cached is where the binary of these sources is, or will be.
func cached(ctx context.Context, source string) (string, error) {
	key, err := Key(ctx, source)
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir() // $XDG_CACHE_HOME, or ~/.cache
	if err != nil {
		return "", fmt.Errorf("find the cache folder: %w", err)
	}
	return filepath.Join(cache, "transplant", program, key, program), nil
}

// checkTimeout bounds the check of a prebuilt binary, which may be read from a cold disk.
const checkTimeout = 30 * time.Second

// check runs the binary's smallest program.
func check(ctx context.Context, path string) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	output, err := exec.CommandContext(ctx, path, "kubectl", "version", "--client").CombinedOutput()
	if err != nil {
		return fmt.Errorf("run the control-plane binary %q of %s: %w: %w: %s", path, Variable, ErrUnusable, err,
			strings.TrimSpace(string(output)))
	}
	if !strings.Contains(string(output), "Client Version: v") {
		return fmt.Errorf("run the control-plane binary %q of %s: %w: it answers %q to \"kubectl version --client\"", path,
			Variable, ErrUnusable, output)
	}
	return nil
}
