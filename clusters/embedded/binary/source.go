package binary

import (
	"context"
	"crypto/sha256"
	_ "embed" // for the sources
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"

	"github.com/transplant-sim/transplant/api/unpacked"
)

// sourceFolder is where the sources are, below the repository's root.
var sourceFolder = filepath.Join("clusters", "controlplane")

// mainPackage is the binary's import path; module is the first line of its go.mod, which distinguishes the right
// folder from another of the same name.
const (
	mainPackage = "github.com/transplant-sim/transplant/clusters/controlplane"
	module      = "module " + mainPackage
)

//go:generate go run ./generate ../../controlplane controlplane.txtar

// archive has the sources that this program was built with.
//
//go:embed controlplane.txtar
var archive []byte

// findSource returns the folder of the sources: below TRANSPLANT_SOURCE, or where those that this program was built
// with are unpacked.
func findSource() (string, error) {
	if root := os.Getenv(SourceVariable); root != "" {
		if folder := filepath.Join(root, sourceFolder); isSource(folder) {
			return folder, nil
		}
		return "", fmt.Errorf("look into %s=%q: %w: let it name the repository, or unset it", SourceVariable, root,
			ErrNoSource)
	}
	files, err := txtar.FS(txtar.Parse(archive))
	if err != nil {
		return "", fmt.Errorf("read the sources of the control-plane binary: %w", err)
	}
	return unpacked.Folder("source", files)
}

func isSource(folder string) bool {
	content, err := os.ReadFile(filepath.Join(folder, "go.mod"))
	return err == nil && strings.HasPrefix(string(content), module+"\n")
}

// Key names what the binary is built from: the sources, the Go version, the flags and the platform.
func Key(ctx context.Context, source string) (string, error) {
	version, err := goVersion(ctx, source)
	if err != nil {
		return "", err
	}
	kubernetes, err := kubernetesVersion(source)
	if err != nil {
		return "", err
	}
	files, err := filepath.Glob(filepath.Join(source, "*.go"))
	if err != nil {
		return "", fmt.Errorf("list the sources in %q: %w", source, err)
	}
	files = slices.DeleteFunc(files, func(file string) bool { return strings.HasSuffix(file, "_test.go") })
	files = append(files, filepath.Join(source, "go.mod"), filepath.Join(source, "go.sum"))
	slices.Sort(files)

	hash := sha256.New()
	fmt.Fprintf(hash, "%s %s %q %s\n", version, runtime.GOARCH, buildFlags, linkerFlags(kubernetes))
	for _, file := range files {
		if err := hashFile(hash, file); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(hash.Sum(nil))[:16], nil
}

func hashFile(hash io.Writer, file string) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read the source %q: %w", file, err)
	}
	// The length keeps the end of one file from passing for the beginning of the next.
	fmt.Fprintf(hash, "%s %d\n", filepath.Base(file), len(content))
	_, err = hash.Write(content)
	return err
}

// goVersion asks the go command in the sources' folder, where go.mod may select another toolchain.
func goVersion(ctx context.Context, source string) (string, error) {
	if _, err := exec.LookPath("go"); err != nil {
		return "", fmt.Errorf("find the go command: %w: install Go, or let %s name a prebuilt binary", ErrNoGo, Variable)
	}
	command := exec.CommandContext(ctx, "go", "env", "GOVERSION")
	command.Dir = source
	output, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("ask for the Go version: %w", err)
	}
	return strings.TrimSpace(string(output)), nil
}
