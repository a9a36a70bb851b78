package kind

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
)

// slowPause has a docker command that takes its time to pause a container, and knows whether it is paused. A file
// "busy" in its folder makes pausing fail once, a file "absent" for good.
func slowPause(t *testing.T) (folder string, paused, begun func() bool) {
	t.Helper()
	folder = t.TempDir()
	script := `#!/bin/sh
cd "` + folder + `"
case "$1" in
pause)
	touch begun
	test -e absent && { echo "Error response from daemon: No such container: $2" >&2; exit 1; }
	rm busy 2>/dev/null && { echo "Error response from daemon: Cannot pause container $2: ` +
		`OCI runtime pause failed: unable to freeze: unknown" >&2; exit 1; }
	sleep 0.5; touch paused ;;
unpause) rm paused 2>/dev/null || { echo "Error response from daemon: Container $2 is not paused" >&2; exit 1; } ;;
esac
`
	if err := os.WriteFile(filepath.Join(folder, "docker"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", folder+":"+os.Getenv("PATH"))
	there := func(name string) func() bool {
		return func() bool {
			_, err := os.Stat(filepath.Join(folder, name))
			return err == nil
		}
	}
	return folder, there("paused"), there("begun")
}

// Harm that is cancelled midway is known to have been done when it returns, and none that has not begun is. A thaw of
// what is not frozen does nothing.
func TestFreezeCancelledMidway(t *testing.T) {
	_, paused, begun := slowPause(t)
	c := &Cluster{name: "a", full: "a", landscape: &Landscape{}}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Freeze(ctx) }()
	for deadline := time.Now().Add(time.Minute); !begun(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("docker was not asked to pause the node")
		}
	}
	cancel()
	if err := <-done; err != nil || !paused() || c.Outage() != rundir.Frozen {
		t.Errorf("frozen: %v, the node is paused: %t, the outage is %q", err, paused(), c.Outage())
	}
	for range 2 {
		if err := c.Thaw(t.Context()); err != nil || paused() || c.Outage() != "" {
			t.Errorf("thawed: %v, the node is paused: %t, the outage is %q", err, paused(), c.Outage())
		}
	}
	if err := c.Freeze(ctx); err == nil || paused() || c.Outage() != "" {
		t.Errorf("frozen when all was over: %v, the node is paused: %t", err, paused())
	}
}

// A node that could not be paused once, because its processes were too many or too quick, is paused by another attempt.
// Whatever else Docker refuses, it refuses for good.
func TestFreezeAgain(t *testing.T) {
	folder, paused, _ := slowPause(t)
	put := func(name string) {
		if err := os.WriteFile(filepath.Join(folder, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := &Cluster{name: "a", full: "a", landscape: &Landscape{}}
	put("busy")
	if err := c.Freeze(t.Context()); err != nil || !paused() {
		t.Errorf("frozen: %v, the node is paused: %t", err, paused())
	}
	if err := c.Thaw(t.Context()); err != nil {
		t.Error(err)
	}
	put("busy")
	put("absent")
	if err := c.Freeze(t.Context()); err == nil || !strings.Contains(err.Error(), "No such container") || paused() {
		t.Errorf("frozen: %v, the node is paused: %t", err, paused())
	}
}
