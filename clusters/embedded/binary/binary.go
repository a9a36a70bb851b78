// Package binary finds the control-plane binary, the multi-call program of clusters/controlplane, or builds it once
// and caches it.
//
// It is not a general build cache: one program, one key, and nothing is ever deleted from the cache.
package binary

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
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

// program is the binary's file name in the cache, and Beside the one that it has in the archive of a release, beside
// the program that needs it.
const (
	program = "controlplane"
	Beside  = "transplant-controlplane"
)

// Errors that callers distinguish.
var (
	ErrNotBuilt = errors.New("the control-plane binary has not been built")
	ErrNoGo     = errors.New("the go command is not in PATH")
	ErrNoSource = errors.New("the sources of the control-plane binary were not found")
	ErrUnusable = errors.New("the control-plane binary does not work")
	ErrDiskFull = errors.New("too little space on the disk")
)

// Find returns the path of a binary that exists already: a prebuilt one, after a check that it runs, or the cached one.
// It is ErrNotBuilt when there is none.
func Find(ctx context.Context) (string, error) {
	if path, err := prebuilt(ctx); path != "" || err != nil {
		return path, err
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

// prebuilt returns the path of a binary that somebody else has built: the one that TRANSPLANT_KUBERNETES_BIN names, or
// that of the release, which lies beside this program. Of the latter only the version of Kubernetes is compared with
// what this program needs, so that one of another release is refused if that differs. It is empty if there is none.
func prebuilt(ctx context.Context) (string, error) {
	if path := os.Getenv(Variable); path != "" {
		_, err := check(ctx, path)
		return path, err
	}
	if os.Getenv(SourceVariable) != "" {
		return "", nil
	}
	executable, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find the folder of this program: %w", err)
	}
	path := filepath.Join(filepath.Dir(executable), Beside)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	wanted, err := Version(kubernetesModule)
	if err != nil {
		return "", err
	}
	version, err := check(ctx, path)
	if err == nil && version != wanted {
		err = fmt.Errorf("use the control-plane binary %q: %w: it is Kubernetes %s, this program needs %s: unpack all of "+
			"one release, or remove the file", path, ErrUnusable, version, wanted)
	}
	return path, err
}

// checkTimeout bounds the check of a prebuilt binary, which may be read from a cold disk.
const checkTimeout = 30 * time.Second

// answer of the binary to the question for its version.
const answer = "Client Version: "

// check runs the binary's smallest program, and returns the version of Kubernetes that it says.
func check(ctx context.Context, path string) (version string, err error) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	output, err := exec.CommandContext(ctx, path, "kubectl", "version", "--client").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("run the control-plane binary %q%s: %w: %w: %s", path, named(), ErrUnusable, err,
			strings.TrimSpace(string(output)))
	}
	for line := range strings.Lines(string(output)) {
		if version, is := strings.CutPrefix(line, answer+"v"); is {
			return "v" + strings.TrimSpace(version), nil
		}
	}
	return "", fmt.Errorf("run the control-plane binary %q%s: %w: it answers %q to \"kubectl version --client\"", path,
		named(), ErrUnusable, output)
}

// named says who has named the binary, if somebody has.
func named() string {
	if os.Getenv(Variable) == "" {
		return ""
	}
	return " of " + Variable
}
