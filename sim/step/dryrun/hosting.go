package dryrun

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// KeepsSeed refuses a step about a shoot that is a seed, for this reason.
func (s *State) KeepsSeed(path *field.Path, shoot, why string) field.ErrorList {
	if !s.Landscape.IsHosted(shoot) {
		return nil
	}
	return field.ErrorList{field.Invalid(path, shoot, "is a seed of the landscape, "+why)}
}

// Host refuses a seed as the host of a shoot that is a seed itself, as the garden does
// (docs/specification/nodes-and-seeds.md#spec-7-7). A shoot of which it is not known where it is stands in no way.
func (s *State) Host(path *field.Path, shoot, to string) field.ErrorList {
	if !s.Landscape.IsHosted(shoot) || !s.Landscape.IsHosted(to) {
		return nil
	}
	why := ""
	for _, guest := range s.Landscape.SeedNames() {
		switch on := s.Shoots[guest]; {
		case on == nil || !s.Landscape.IsHosted(guest) || guest == shoot:
		case on.Seed == to:
			why = fmt.Sprintf("hosts the seed %q at this step, and a seed that is a shoot may host one other", guest)
		case guest == to && on.Seed == shoot:
			why = fmt.Sprintf("is hosted by %q at this step: the two would host each other", shoot)
		}
	}
	if shoot == to {
		why = "cannot host itself"
	}
	if why == "" {
		return nil
	}
	return field.ErrorList{field.Invalid(path, to, why+"; name another seed, or expect it with refused: true")}
}
