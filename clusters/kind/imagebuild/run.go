package imagebuild

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// Tools says which of the programs is not in PATH.
func Tools(names ...string) error {
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil {
			return fmt.Errorf("find %q, which this needs: %w", name, err)
		}
	}
	return nil
}

// Run runs a command in a folder, with more in its environment than this process has, and returns what it said; an
// error repeats the end of that.
func Run(ctx context.Context, folder string, environment []string, name string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, name, args...)
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = 10 * time.Second
	command.Dir = folder
	command.Env = append(os.Environ(), environment...)
	output, err := command.CombinedOutput()
	if err != nil {
		said := strings.TrimSpace(string(output))
		return said, fmt.Errorf("run %s %s: %w: %s", name, strings.Join(args, " "), err, said[max(0, len(said)-4000):])
	}
	return string(output), nil
}

// Step is a part of a long work.
type Step struct {
	Name string
	Do   func(context.Context) error
}

// Steps takes them in order, and prints when each begins and when all are done; the first error ends them.
func Steps(ctx context.Context, what, done string, steps ...Step) error {
	begin := time.Now()
	report := func(text string) { fmt.Printf("%s: %3.0fs %s\n", what, time.Since(begin).Seconds(), text) }
	for _, step := range steps {
		report(step.Name)
		if err := step.Do(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.Name, err)
		}
	}
	report(done)
	return nil
}
