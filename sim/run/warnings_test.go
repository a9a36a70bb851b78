package run

import (
	"errors"
	"strings"
	"testing"
)

const (
	twoSeeds = "{seeds: [{name: a}, {name: b}], shoots: [{name: alpha, seed: a}]}"
	// doubtful gives too little time to settle, unless a multiplier stretches it, and promises what nothing puts to the
	// test.
	doubtful = `  steps: [{wait: {for: 1ms, because: of nothing}}]
  settleWithin: 2s
  always: [MigrationEnds]
`
	tooShort = `:9:17: spec.settleWithin: Invalid value: "2s": is too short`
	untested = `:10:12: spec.always[0]: Invalid value: "MigrationEnds": is about moves`
)

// A time out of reach is a mistake in a file; a promise that is not tested is only a warning.
func TestValidate_TimeOutOfReach_IsAMistake(t *testing.T) {
	t.Parallel()
	file := scene(t, t.TempDir(), "doubtful", twoSeeds, doubtful)
	reached := scene(t, t.TempDir(), "reached", twoSeeds, strings.Replace(doubtful, "2s", "3s", 1))
	out, err := asked(t, NewValidateCommand(map[string]Backend{"embedded": &small{t: t}}, nil), file, reached)
	coder := interface{ ExitCode() int }(nil)
	if err == nil || !errors.As(err, &coder) || coder.ExitCode() != 2 || !strings.HasPrefix(err.Error(), file+tooShort) ||
		strings.Contains(err.Error(), "\n") {
		t.Errorf("error %v", err)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != 3 || !strings.HasPrefix(lines[0], "warning: "+file+untested) ||
		!strings.HasPrefix(lines[1], "warning: "+reached+untested) || lines[2] != reached+": scenario reached is fine" {
		t.Errorf("said\n%s", out)
	}
}

// run warns of a time out of reach, unless the multiplier gives as much as it takes, and goes on.
func TestRun_TimeOutOfReach_IsWarnedOf(t *testing.T) {
	t.Parallel()
	file := scene(t, t.TempDir(), "doubtful", twoSeeds, doubtful)
	for multiplier, want := range map[string]int{"1": 2, "2": 1} {
		folder := t.TempDir()
		out, err := asked(t, newRunCommand(map[string]Backend{"embedded": &small{t: t}}, nil, impatient), file, "--out",
			folder, "--timeout-multiplier", multiplier, "--landscape", "doubtful-"+multiplier)
		warnings := strings.Count(out, "warning: "+file)
		if warnings != want || strings.Contains(out, tooShort) != (want == 2) {
			t.Errorf("with %s: %d warnings, want %d\n%s", multiplier, warnings, want, out)
		}
		if !strings.Contains(out, "kept in "+folder) {
			t.Errorf("it was not run: %v\n%s", err, out)
		}
	}
}
