package transplant_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// SEED=N repeats the dice of stories, and which points of sweeps are a sample, in whatever tells stories.
func TestMakeHandsTheSeedOn(t *testing.T) {
	t.Parallel()
	for _, target := range []string{"scenario", "catalogue", "sweep", "soak"} {
		for seed, want := range map[string]bool{"7": true, "": false} {
			command := exec.CommandContext(t.Context(), "make", "--dry-run", target)
			command.Env = append(os.Environ(), "MAKEFLAGS=", "SEED="+seed) // not those of "make test"
			out, err := command.CombinedOutput()
			if err != nil {
				t.Fatalf("make %s: %v\n%s", target, err, out)
			}
			if strings.Contains(string(out), " --seed 7 ") != want || strings.Contains(string(out), "--seed") != want {
				t.Errorf("make %s with SEED=%q:\n%s", target, seed, out)
			}
		}
	}
}
