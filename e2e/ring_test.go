package e2e

import (
	"regexp"
	"strings"
	"testing"
)

// A ring that is brought up by hand is closed: each seed is a shoot on the one before it, and is ready. A shoot on it
// is as any other.
func TestUp_Ring_EachSeedIsAShootOnAnother(t *testing.T) {
	t.Parallel()
	l := newLandscape(t)
	l.up(t, "--ring", "3")
	said := l.run(t, program, "status", "--landscape", "e2e")
	for _, want := range []string{
		`p/a +c +2 +Restore Succeeded`, `p/b +a +1 +Create Succeeded`, `p/c +b +1 +Create Succeeded`,
	} {
		if !regexp.MustCompile(want).MatchString(said) {
			t.Errorf("status does not show %q:\n%s", want, said)
		}
	}
	const ready = `jsonpath={range .items[*]}{.metadata.name}=` +
		`{.status.conditions[?(@.type=="GardenletReady")].status} {end}`
	if got, want := l.on(t, "garden", "get", "seeds", "-o", ready), "a=True b=True c=True first=True"; strings.TrimSpace(
		got) != want {
		t.Errorf("the seeds are %q, want %q", got, want)
	}
	if got := l.on(t, "a", "get", "namespace", "shoot--p--b", "-o", "name"); got != "namespace/shoot--p--b\n" {
		t.Errorf("the control plane of b is not on a: %q", got)
	}
}
