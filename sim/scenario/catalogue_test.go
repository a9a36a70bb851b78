package scenario_test

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/scenario"
)

// whereItIs finds where an expectation wants a shoot to be.
var whereItIs = regexp.MustCompile(`shoot\('([^']+)'\)\.seed == '([^']+)'`)

// moves says whether a shoot that is no seed changes its seed, or is restored, by what the scenario does and expects.
func moves(s *scenario.Scenario) bool {
	l := s.Spec.Landscape
	harmed := func(seed string) bool {
		return len(l.HostedSeeds()) == 0 || slices.ContainsFunc(l.Shoots, func(shoot landscape.Shoot) bool {
			return shoot.Seed == seed && !l.IsHosted(shoot.Name)
		})
	}
	for i := range s.Spec.Steps {
		spec := &s.Spec.Steps[i]
		if m := spec.Migrate; m != nil && !m.Refused && !l.IsHosted(m.Shoot) {
			return true
		}
		if f := spec.Fault; f != nil && f.LoseCluster != nil && f.LoseCluster.Cluster.Cluster != landscape.Garden &&
			harmed(f.LoseCluster.Cluster.Cluster) {
			return true
		}
		if spec.Expect == nil {
			continue
		}
		for _, found := range whereItIs.FindAllStringSubmatch(spec.Expect.That, -1) {
			if shoot, known := s.Spec.Landscape.Shoot(found[1]); known && shoot.Seed != found[2] && !l.IsHosted(found[1]) {
				return true
			}
		}
	}
	return false
}

// What lies in a shoot is promised wherever one moves.
func TestCatalogue_MovesKeepShootsUntouched(t *testing.T) {
	t.Parallel()
	// What is in a shoot that is deleted while it moves goes with it.
	excepted := []string{"seed-loss-during-deletion"}
	files, err := filepath.Glob("../../scenarios/*/*.yaml")
	if err != nil || len(files) < 50 {
		t.Fatalf("%d scenarios, %v", len(files), err)
	}
	for _, file := range files {
		s, err := scenario.ParseFile(file)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		promised := slices.Contains(s.Spec.Always, "ShootUntouched")
		if want := moves(s) && !slices.Contains(excepted, name); promised != want {
			t.Errorf("%s promises ShootUntouched: %t, want %t", name, promised, want)
		}
	}
}
