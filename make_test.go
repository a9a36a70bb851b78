package transplant_test

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// dryRun is what make would run for its arguments, with more in its environment.
func dryRun(t *testing.T, arguments string, environment ...string) string {
	t.Helper()
	// The test reads the file, and make does not: so a cached result is not used when the file has changed.
	makefile, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), "make",
		append([]string{"--dry-run", "--file=-"}, strings.Fields(arguments)...)...)
	command.Stdin = bytes.NewReader(makefile)
	command.Env = append(append(os.Environ(), "MAKEFLAGS="), environment...) // not those of "make test"
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("make %s: %v\n%s", arguments, err, out)
	}
	return string(out)
}

// SEED=N repeats the random choices of scenarios, and which points of sweeps are a sample, in all targets that run
// scenarios.
func TestMakeHandsTheSeedOn(t *testing.T) {
	t.Parallel()
	for _, target := range []string{"scenario", "catalogue", "nightly", "sweep", "soak"} {
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
		"unit": "go test -short -parallel 8 $(go list ",
		"test": "go test -short=false ", "race": "go test -short=false ", "test-kind": "go test -short=false ",
		"attack-kind": "go test -short=false ", "contract-kind": "go test -short=false ",
	} {
		if out := dryRun(t, target); !strings.Contains(out, want) {
			t.Errorf("make %s has no %q:\n%s", target, want, out)
		}
	}
}

// What variables choose is what transplant run is asked for.
func TestMake_Variables_SelectScenarios(t *testing.T) {
	t.Parallel()
	for arguments, want := range map[string]string{
		"scenario":                           "seed-loss --out out/seed-loss",
		"scenario SCENARIO=planned":          "planned --out out/planned",
		"scenario SCENARIO=my/planned.yaml":  "my/planned.yaml --out out/planned",
		"scenario SCENARIO=planned OUT=kept": "planned --out kept",

		"catalogue":                           "-l tier --jobs 1",
		"catalogue TIER=core":                 "-l 'tier in (core)' --jobs 1",
		"catalogue TIER=smoke,core JOBS=2":    "-l 'tier in (smoke,core)' --jobs 2",
		"catalogue SCENARIOS=planned":         "planned --jobs 1",
		"catalogue SCENARIOS=planned TIER=in": "planned -l 'tier in (in)' --jobs 1",
		"catalogue SHARD=1/3":                 "-l tier --shard 1/3 --jobs 1",
		"nightly":                             "-l 'tier in (nightly)' --jobs 1",
		"nightly SHARD=2/5":                   "-l 'tier in (nightly)' --shard 2/5 --jobs 1",
	} {
		out := dryRun(t, arguments, "SEED=", "TIMEOUT_MULTIPLIER=1")
		run := strings.Join(strings.Fields(out), " ")
		if !strings.Contains(run, "--timeout-multiplier 1 "+want) {
			t.Errorf("make %s:\n%s\nwant %s", arguments, out, want)
		}
	}
}
