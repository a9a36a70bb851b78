package e2e

import (
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
	if got, want := l.seedsReady(t), "a=True b=True c=True first=True"; got != want {
		t.Errorf("the seeds are %q, want %q", got, want)
	}
	if got := l.on(t, "a", "get", "namespace", "shoot--p--b", "-o", "name"); got != "namespace/shoot--p--b\n" {
		t.Errorf("the control plane of b is not on a: %q", got)
	}
}

func (l *landscape) seedsReady(t *testing.T) string {
	t.Helper()
	return strings.TrimSpace(l.on(t, "garden", "get", "seeds", "-o", `jsonpath={range .items[*]}{.metadata.name}=`+
		`{.status.conditions[?(@.type=="GardenletReady")].status} {end}`))
}

// startsCold loses all seeds of the ring and the one outside, and starts the ring again with one control plane outside
// any seed.
func (l *landscape) startsCold(t *testing.T) {
	l.run(t, program, "lose", "first", "a", "b", "c", "--landscape", "e2e")
	l.run(t, program, "return", "a", "b", "c", "--landscape", "e2e")
	for deadline := time.Now().Add(3 * time.Minute); ; time.Sleep(time.Second) {
		said, err := l.try(t, nil, program, "restore-control-plane", "a", "--hand-over", "c", "--landscape", "e2e")
		if err == nil {
			break
		}
		if !strings.Contains(said, "its gardenlet reports") || time.Now().After(deadline) {
			t.Fatalf("restore-control-plane: %v\n%s", err, said)
		}
	}
	said, _ := l.try(t, nil, program, "status", "--landscape", "e2e") // an error: the seed outside is lost
	if !regexp.MustCompile(`p/a +c +4 +Restore Succeeded`).MatchString(said) {
		t.Errorf("status does not show that c has a in the epoch after the next:\n%s", said)
	}
	want := "a=True b=True c=True first=Unknown"
	for deadline := time.Now().Add(3 * time.Minute); l.seedsReady(t) != want; time.Sleep(time.Second) {
		if time.Now().After(deadline) {
			t.Fatalf("the seeds are %q, want %q", l.seedsReady(t), want)
		}
	}
	if got := l.on(t, "a", "get", "namespace", "kept", "-o", "name"); got != "namespace/kept\n" {
		t.Errorf("what was on a before is not there: %q", got)
	}
}
