package transplant_test

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// dryRun is what make would run for a target, with more in its environment.
func dryRun(t *testing.T, target string, environment ...string) string {
	t.Helper()
	// The test reads the file, and make does not: so a cached result is not used when the file has changed.
	makefile, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), "make", "--dry-run", "--file=-", target)
	command.Stdin = bytes.NewReader(makefile)
	command.Env = append(append(os.Environ(), "MAKEFLAGS="), environment...) // not those of "make test"
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("make %s: %v\n%s", target, err, out)
	}
	return string(out)
}

// SEED=N repeats the dice of stories, and which points of sweeps are a sample, in whatever tells stories.
func TestMakeHandsTheSeedOn(t *testing.T) {
	t.Parallel()
	for _, target := range []string{"scenario", "catalogue", "sweep", "soak"} {
		for seed, want := range map[string]bool{"7": true, "": false} {
			out := dryRun(t, target, "SEED="+seed)
			if strings.Contains(out, " --seed 7 ") != want || strings.Contains(out, "--seed") != want {
				t.Errorf("make %s with SEED=%q:\n%s", target, seed, out)
			}
		}
	}
}

// TestMake_TestsOfEverything_AreNotShort wants the targets that run every test to say so on the command line, where it
// wins over GOFLAGS=-short: tests that are skipped unnoticed would pass.
func TestMake_TestsOfEverything_AreNotShort(t *testing.T) {
	t.Parallel()
	for target, want := range map[string]string{
		"unit": "go test -short $(go list ",
		"test": "go test -short=false ", "race": "go test -short=false ", "test-kind": "go test -short=false ",
	} {
		if out := dryRun(t, target); !strings.Contains(out, want) {
			t.Errorf("make %s has no %q:\n%s", target, want, out)
		}
	}
}
