package binary

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
)

// buildFlags make a small, reproducible, static binary.
var buildFlags = []string{"-trimpath", "-ldflags"}

// needBytes is what the build writes at most: object files in Go's cache, and the binary. Tests build something small.
var needBytes uint64 = 2 << 30

// Progress gets how far a build is: done of total packages, and which one was finished last.
type Progress func(done, total int, what string)

// Ensure returns the path of the binary and builds it when it is not there. Progress may be nil.
//
// Two callers at once build once: the second waits for the first. A build that fails or is cancelled leaves nothing
// that could be taken for a binary.
func Ensure(ctx context.Context, progress Progress) (string, error) {
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
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if progress == nil {
		progress = func(int, int, string) {}
	}
	unlock, err := lock(ctx, path, progress)
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, err := os.Stat(path); err == nil {
		return path, nil // built while we waited
	}
	return path, build(ctx, source, path, progress)
}

func build(ctx context.Context, source, path string, progress Progress) error {
	if err := checkSpace(filepath.Dir(path), needBytes); err != nil {
		return err
	}
	version, err := kubernetesVersion(source)
	if err != nil {
		return err
	}
	total, err := countPackages(ctx, source)
	if err != nil {
		return err
	}
	temporary := fmt.Sprintf("%s.%d", path, os.Getpid())
	defer os.Remove(temporary) // gone after the rename
	args := append([]string{"build", "-v", "-o", temporary}, buildFlags...)
	command := exec.CommandContext(ctx, "go", append(args, linkerFlags(version), ".")...)
	// Interrupted rather than killed, go removes its temporary folder.
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.Dir = source
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
	if err := run(command, total, progress); err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("build the control-plane binary: %w", ctx.Err())
		}
		return fmt.Errorf("build the control-plane binary in %q: %w", source, err)
	}
	if err := os.Rename(temporary, path); err != nil {
		return fmt.Errorf("put the control-plane binary into the cache: %w", err)
	}
	return nil
}

// run counts the packages that "go build -v" names when it has built them. What it says otherwise is the error.
func run(command *exec.Cmd, total int, progress Progress) error {
	reader, writer := io.Pipe()
	command.Stdout, command.Stderr = writer, writer
	said := make(chan string, 1)
	go func() {
		var other bytes.Buffer
		done := 0
		lines := bufio.NewScanner(reader)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			switch line := lines.Text(); {
			case line == mainPackage: // packages in Go's cache are not named, so it may come early
				progress(total, total, "linking")
			case packageLine.MatchString(line):
				done++
				progress(min(done, total), total, line)
			default:
				fmt.Fprintln(&other, line)
			}
		}
		_, _ = io.Copy(io.Discard, reader) // never block the build, whatever it writes
		said <- other.String()
	}()
	err := command.Run()
	_ = writer.Close()
	text := strings.TrimSpace(<-said)
	if err != nil && strings.Contains(text, syscall.ENOSPC.Error()) {
		return fmt.Errorf("%w: %w: %s", ErrDiskFull, err, text)
	}
	if err != nil {
		return fmt.Errorf("%w: %s", err, text)
	}
	return nil
}

// packageLine is an import path and nothing else.
var packageLine = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9_./~+-]*$`)

func countPackages(ctx context.Context, source string) (int, error) {
	command := exec.CommandContext(ctx, "go", "list", "-deps", ".")
	command.Dir = source
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
	var stderr bytes.Buffer
	command.Stderr = &stderr
	output, err := command.Output()
	if err != nil {
		return 0, fmt.Errorf("list the packages of the control-plane binary: %w: %s", err, strings.TrimSpace(stderr.String()))
	}
	return bytes.Count(output, []byte("\n")), nil
}

func checkSpace(dir string, need uint64) error {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(dir, &disk); err != nil {
		return fmt.Errorf("look at the disk of %q: %w", dir, err)
	}
	if free := disk.Bavail * uint64(disk.Bsize); free < need {
		return fmt.Errorf("build the control-plane binary: %w: %d MiB are free in %q, %d MiB are needed", ErrDiskFull,
			free>>20, dir, need>>20)
	}
	return nil
}
