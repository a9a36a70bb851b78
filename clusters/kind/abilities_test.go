package kind

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// holding has a docker command that takes its time to hold a container, and knows which it holds. A file "busy" in its
// folder keeps it from holding once, a file "absent" for good.
func holding(t *testing.T) (folder string, held, begun func() bool) {
	t.Helper()
	folder = t.TempDir()
	script := `#!/bin/sh
cd "` + folder + `"
case "$1" in
pause)
	touch begun
	test -e absent && { echo "Error response from daemon: No such container: $2" >&2; exit 1; }
	rm busy 2>/dev/null && { echo "Error response from daemon: Cannot pause container $2: OCI runtime pause failed: unable to freeze: unknown" >&2; exit 1; }
	sleep 0.5; touch held ;;
unpause) rm held 2>/dev/null || { echo "Error response from daemon: Container $2 is not paused" >&2; exit 1; } ;;
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
	return folder, there("held"), there("begun")
}

// Harm that is cancelled midway is known to have been done when it returns, and none that has not begun is. A thaw of
// what is not frozen does nothing.
func TestFreezeCancelledMidway(t *testing.T) {
	_, held, begun := holding(t)
	c := &Cluster{name: "a", full: "a"}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Freeze(ctx) }()
	for deadline := time.Now().Add(time.Minute); !begun(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("docker was not asked to hold the node")
		}
	}
	cancel()
	if err := <-done; err != nil || !held() {
		t.Errorf("frozen: %v, the node is held: %t", err, held())
	}
	for range 2 {
		if err := c.Thaw(t.Context()); err != nil || held() {
			t.Errorf("thawed: %v, the node is held: %t", err, held())
		}
	}
	if err := c.Freeze(ctx); err == nil || held() {
		t.Errorf("frozen when all was over: %v, the node is held: %t", err, held())
	}
}

// A node that could not be held once, because its processes were too many or too quick, is held all the same; what else
// Docker refuses it refuses for good.
func TestFreezeAgain(t *testing.T) {
	folder, held, _ := holding(t)
	put := func(name string) {
		if err := os.WriteFile(filepath.Join(folder, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := &Cluster{name: "a", full: "a"}
	put("busy")
	if err := c.Freeze(t.Context()); err != nil || !held() {
		t.Errorf("frozen: %v, the node is held: %t", err, held())
	}
	if err := c.Thaw(t.Context()); err != nil {
		t.Error(err)
	}
	put("busy")
	put("absent")
	if err := c.Freeze(t.Context()); err == nil || !strings.Contains(err.Error(), "No such container") || held() {
		t.Errorf("frozen: %v, the node is held: %t", err, held())
	}
}
