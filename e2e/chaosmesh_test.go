//go:build docker

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
	"github.com/transplant-sim/transplant/sim/scenario"
	"github.com/transplant-sim/transplant/sim/verdict"
)

// withChaosMesh runs a scenario on kind with a real Chaos Mesh, as "make chaos-mesh" has built it.
func (l *landscape) withChaosMesh(t *testing.T, file string) (judged verdict.Report, said string) {
	t.Helper()
	folder := t.TempDir()
	t.Cleanup(func() { _, _ = l.try(t, nil, program, "down", "--landscape", "e2e") }) // what a failed run has left
	// Deadlines are as long as the slowest machine needs.
	said, failed := l.try(t, nil, program, "run", "--backend", rundir.Kind, "--chaos-mesh", "../out/chaos-mesh",
		"--landscape", "e2e", "--timeout-multiplier", "12", "--out", folder, file)
	content, err := os.ReadFile(filepath.Join(folder, verdict.FileName))
	if err != nil {
		t.Fatalf("%v\n%v\n%s", err, failed, said)
	}
	if err := json.Unmarshal(content, &judged); err != nil {
		t.Fatal(err)
	}
	return judged, said
}

// Each kind that the images of "make chaos-mesh" do has a scenario, which a real Chaos Mesh carries out: each of its
// faults hits, nothing of it is left after the heal, and the run has Passed.
func TestChaosMesh_EachKindThatItServes_Hits(t *testing.T) {
	files, err := filepath.Glob("../clusters/kind/chaosmesh/scenarios/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("find the scenarios: %v", err)
	}
	l := newLandscape(t)
	for _, file := range files {
		s, err := scenario.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(s.Metadata.Name, func(t *testing.T) {
			judged, said := l.withChaosMesh(t, file)
			idle := func(f verdict.Fault) bool { return f.Hits == 0 }
			if judged.Verdict != verdict.Passed || len(judged.Faults) == 0 || slices.ContainsFunc(judged.Faults, idle) {
				t.Errorf("%s, with the faults %+v\n%s", judged.Verdict, judged.Faults, said)
			}
			t.Logf("faults: %+v", judged.Faults)
		})
	}
}

// An experiment that selects no pod hits nothing, although Chaos Mesh is there: the run shows nothing.
func TestChaosMesh_SelectsNothing_IsInconclusive(t *testing.T) {
	file := filepath.Join(t.TempDir(), "nobody.yaml")
	if err := os.WriteFile(file, []byte(`apiVersion: transplant.dev/v1alpha1
kind: Scenario
metadata: {name: nobody}
spec:
  why: An experiment on pods that there are not shows nothing.
  landscape: {seeds: [{name: a}], shoots: [{name: alpha, seed: a}]}
  steps:
  - fault:
      name: nobody
      chaos:
        cluster: a
        object:
          apiVersion: chaos-mesh.org/v1alpha1
          kind: StressChaos
          metadata: {name: nobody, namespace: shoot--p--alpha}
          spec: {mode: all, selector: {labelSelectors: {role: nobody}}, stressors: {cpu: {workers: 1}}}
  - wait: {for: 1s, because: the fault is to last}
  always: [SingleWriter]
`), 0o600); err != nil {
		t.Fatal(err)
	}
	judged, said := newLandscape(t).withChaosMesh(t, file)
	if judged.Verdict != verdict.Inconclusive || len(judged.Faults) != 1 || judged.Faults[0].Hits != 0 ||
		len(judged.Reasons) != 1 {
		t.Errorf("%s for %q, with the faults %+v\n%s", judged.Verdict, judged.Reasons, judged.Faults, said)
	}
}
