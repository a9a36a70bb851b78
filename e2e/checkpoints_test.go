package e2e

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// A checkpoint is started again any number of times. Its shoot, its nodes and their machines are the same each time, no
// seed was silent in between, and what runs on it keeps all promises.
func TestCheckpoint_StartedAgain_HasTheSameShoot(t *testing.T) {
	t.Parallel()
	l := newLandscape(t)
	const scenario = "../scenarios/loss/seed-loss.yaml"
	kept, out := filepath.Join(t.TempDir(), "kept"), t.TempDir()
	l.run(t, program, "checkpoint", "make", kept, scenario, "--landscape", "e2e", "--out", out,
		"--timeout-multiplier", strconv.Itoa(multiplier))
	first := l.identities(t, kept)
	for kind, lines := range map[string]int{"Shoot": 1, "Seed": 2, "Node": 3, "Pod": 12, "Machine": 3} {
		if got := strings.Count(first, kind+" "); got != lines {
			t.Errorf("there are %d of kind %s, want %d:\n%s", got, kind, lines, first)
		}
	}
	if second := l.identities(t, kept); second != first {
		t.Errorf("they are not the same:\n%s\nand were before:\n%s", second, first)
	}
	said := l.run(t, program, "run", "--from", kept, scenario, "--out", out, "--timeout-multiplier",
		strconv.Itoa(multiplier))
	if !strings.Contains(said, "Passed  seed-loss") || !strings.Contains(said, "--from="+kept) {
		t.Errorf("the run has not passed, or does not name the checkpoint:\n%s", said)
	}
	const other = "../scenarios/migration/planned-migration.yaml"
	if said, err := l.try(t, nil, program, "run", "--from", kept, other); err == nil ||
		!strings.Contains(said, other) || !strings.Contains(said, "spec.landscape.shoots: the checkpoint") {
		t.Errorf("a scenario with another shoot: %v\n%s", err, said)
	}
}

// identities starts a checkpoint, and gives the UIDs of what is in it.
func (l *landscape) identities(t *testing.T, kept string) string {
	t.Helper()
	l.run(t, program, "up", "--from", kept)
	defer l.run(t, program, "down", "--landscape", "e2e")
	const uids = `jsonpath={range .items[*]}{.kind} {.metadata.name} {.metadata.uid}{"\n"}{end}`
	if said, err := l.try(t, nil, program, "up", "--from", kept); err == nil || !strings.Contains(said,
		"the landscape is up already") {
		t.Errorf("started while it is up: %v\n%s", err, said)
	}
	l.await(t, "Create/Succeeded a")
	l.awaits(t, `{.status.conditions[?(@.type=="EveryNodeReady")].status}`, "True")
	if logs := l.on(t, "garden", "logs", "-n", "garden", "deployment/garden-controller-manager"); strings.Contains(logs,
		"The seed is silent") {
		t.Errorf("a seed was silent:\n%s", logs)
	}
	return l.on(t, "garden", "get", "shoots,seeds", "-n", "garden-p", "-o", uids) +
		l.on(t, "alpha", "get", "nodes", "-o", uids) + l.on(t, "alpha", "get", "pods", "-A", "-o", uids) +
		l.on(t, "a", "get", "machines", "-n", "shoot--p--alpha", "-o", uids) +
		l.on(t, "alpha", "get", "nodes", "-o",
			`jsonpath={range .items[*]}{.spec.providerID} {.status.nodeInfo.bootID}{"\n"}{end}`)
}
