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
	for _, target := range []string{"scenario", "catalogue", "nightly", "sweep", "soak"} {
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

// What variables choose is what transplant run is asked for.
func TestMake_Variables_SelectScenarios(t *testing.T) {
	t.Parallel()
	for arguments, want := range map[string]string{
		"scenario":                           "seed-loss --out out/seed-loss",
		"scenario SCENARIO=planned":          "planned --out out/planned",
		"scenario SCENARIO=my/planned.yaml":  "my/planned.yaml --out out/planned",
		"scenario SCENARIO=planned OUT=kept": "planned --out kept",

		"catalogue":                         "-l tier --jobs 1",
		"catalogue TIER=core":               "-l 'tier in (core)' --jobs 1",
		"catalogue TIER=smoke,core JOBS=2":  "-l 'tier in (smoke,core)' --jobs 2",
		"catalogue STORIES=planned":         "planned --jobs 1",
		"catalogue STORIES=planned TIER=in": "planned -l 'tier in (in)' --jobs 1",
		"catalogue SHARD=1/3":               "-l tier --shard 1/3 --jobs 1",
		"nightly":                           "-l 'tier in (nightly)' --jobs 1",
		"nightly SHARD=2/5":                 "-l 'tier in (nightly)' --shard 2/5 --jobs 1",
	} {
		command := exec.CommandContext(t.Context(), "make", append([]string{"--dry-run"}, strings.Fields(arguments)...)...)
		command.Env = append(os.Environ(), "MAKEFLAGS=", "SEED=", "TIMEOUT_MULTIPLIER=1")
		out, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("make %s: %v\n%s", arguments, err, out)
		}
		run := strings.Join(strings.Fields(string(out)), " ")
		if !strings.Contains(run, "--timeout-multiplier 1 "+want) {
			t.Errorf("make %s:\n%s\nwant %s", arguments, out, want)
		}
	}
}
