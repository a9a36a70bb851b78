package e2e

import (
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"
)

// A ring that is brought up by hand is closed. When all its seeds have died, none comes back by itself, and an operator
// starts it with what the documentation says.
func TestUp_Ring(t *testing.T) {
	t.Parallel()
	l := newLandscape(t)
	l.up(t, "--ring", "3")
	t.Run("each seed is a shoot on another", l.ringIsClosed)
	l.on(t, "a", "create", "namespace", "kept")
	time.Sleep(10 * time.Second) // there must be a backup that has it
	t.Run("it is started cold", l.startsCold)
}

// ringIsClosed looks whether each seed is a shoot on the one before it, and is ready. A shoot on it is as any other.
func (l *landscape) ringIsClosed(t *testing.T) {
	said := l.run(t, program, "status", "--landscape", "e2e")
	for _, want := range []string{
		`p/a +c +2 +Restore Succeeded`, `p/b +a +1 +Create Succeeded`, `p/c +b +1 +Create Succeeded`,
	} {
		if !regexp.MustCompile(want).MatchString(said) {
			t.Errorf("status does not show %q:\n%s", want, said)
		}
	}
	l.on(t, "garden", "wait", "seed", "first", "a", "b", "c", "--for=condition=GardenletReady=True", "--timeout=0")
	if got := l.on(t, "a", "get", "namespace", "shoot--p--b", "-o", "name"); got != "namespace/shoot--p--b\n" {
		t.Errorf("the control plane of b is not on a: %q", got)
	}
}

// startsCold loses all seeds of the ring and the one outside, and starts the ring again with one control plane outside
// any seed. The first command that runs it is killed when seed c is ready.
func (l *landscape) startsCold(t *testing.T) {
	within := fmt.Sprintf("--timeout=%dm", 3*multiplier)
	l.run(t, program, "lose", "first", "a", "b", "c", "--landscape", "e2e")
	l.run(t, program, "return", "a", "b", "c", "--landscape", "e2e")
	l.on(t, "garden", "wait", "seed", "c", "--for=condition=GardenletReady=Unknown", within)
	restore := []string{"restore-control-plane", "a", "--landscape", "e2e"}
	killed := exec.CommandContext(t.Context(), program, restore...)
	killed.Env = l.environment
	if err := killed.Start(); err != nil {
		t.Fatal(err)
	}
	l.on(t, "garden", "wait", "seed", "c", "--for=condition=GardenletReady=True", within)
	if said, err := l.try(t, nil, program, restore...); err == nil || !strings.Contains(said, "another command runs it") {
		t.Errorf("a second command beside the first: %v\n%s", err, said)
	}
	if err := killed.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = killed.Wait() // it was killed
	l.run(t, program, append(restore, "--hand-over", "c")...)
	if said := l.run(t, program, "status", "--landscape", "e2e"); !regexp.MustCompile(`p/a +c +5 +Restore Succeeded`).
		MatchString(said) {
		t.Errorf("status does not show that c has a in the epoch after two others:\n%s", said)
	}
	l.on(t, "garden", "wait", "seed", "a", "b", "c", "--for=condition=GardenletReady=True", within)
	if got := l.on(t, "a", "get", "namespace", "kept", "-o", "name"); got != "namespace/kept\n" {
		t.Errorf("what was on a before is not there: %q", got)
	}
}
