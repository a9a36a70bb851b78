package profile

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Share is how much processor time the harness has used beside what it watches, in seconds.
type Share struct {
	Harness float64
	// By program of the harness. The engine is there with its links, loads, probes and the observer.
	By map[string]float64
	// Watched are all other programs: API servers, etcds, controllers, guards and sidecars.
	Watched float64
}

// stands are the programs that stand for what surrounds a landscape: kubelets and Services, cloud and name servers,
// machines, and load balancers with their routes.
var stands = []string{"processnode", "cloud", "nodes", "kwok", "gateway"}

// isHarness says that a program simulates or observes, and is not watched. The engine and the process nodes end what
// they run for the simulated system, so that what has ended below them is watched.
func (p Program) isHarness() bool {
	if p.Program == ended {
		return p.Parent == "nodes"
	}
	return p.Parent == "" || slices.Contains(stands, p.Program)
}

// ShareOf phases together.
func ShareOf(phases ...Phase) Share {
	share := Share{By: map[string]float64{}}
	for _, phase := range phases {
		for _, p := range phase.Programs {
			if p.isHarness() {
				share.Harness, share.By[p.Program] = share.Harness+p.CPUSeconds, share.By[p.Program]+p.CPUSeconds
			} else {
				share.Watched += p.CPUSeconds
			}
		}
	}
	return share
}

// Percent of what is watched; 0 if nothing was.
func (s Share) Percent() float64 {
	if s.Watched <= 0 {
		return 0
	}
	return 100 * s.Harness / s.Watched
}

// String is one line, with the program first that has used most.
func (s Share) String() string {
	var by []string
	for _, program := range slices.SortedFunc(maps.Keys(s.By), func(a, b string) int {
		return cmp.Or(cmp.Compare(s.By[b], s.By[a]), strings.Compare(a, b))
	}) {
		by = append(by, fmt.Sprintf("%s %.2f", program, s.By[program]))
	}
	return fmt.Sprintf("harness %.2f CPU s, %.0f %% of the %.2f CPU s that it watches (%s)", s.Harness, s.Percent(),
		s.Watched, strings.Join(by, ", "))
}

// Heavy says where the harness has used more than that many percent of what it watches: in phase recovery, and in all
// phases together. With 0 percent it says nothing.
func Heavy(phases []Phase, most float64) (found []string) {
	judge := func(what string, share Share) {
		if most > 0 && share.Percent() > most {
			found = append(found, fmt.Sprintf("%s: %s; at most %g %% expected", what, share, most))
		}
	}
	judge("all phases", ShareOf(phases...))
	for _, p := range phases {
		if p.Name == Recovery {
			judge("phase "+p.Name, ShareOf(p))
		}
	}
	return found
}
