package scenario

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/transplant-sim/transplant/clusters/link/requests"
	"github.com/transplant-sim/transplant/sim/step"
)

// Sweep runs a scenario once per request: first with a fault at the first request that matches, then at the second, and
// so on. The fault is a crash, or begins with a request. Of several sweeps in a scenario, each leaves the faults of the
// others out.
type Sweep struct {
	// Fault is the name of the fault that begins at another request in every run.
	Fault string `json:"fault"`
	// UpTo is the number of runs, called points: in the last one the fault begins at the request of this number.
	UpTo int `json:"upTo"`
}

// maxPoints of a sweep: each is a run.
const maxPoints = 1000

// Expand gives one closed scenario for each point of the sweeps, in order: it can be run again by itself. Without a
// sweep it is the scenario alone.
func (s *Scenario) Expand() ([]*Scenario, error) {
	if len(s.Spec.Sweep) == 0 {
		return []*Scenario{s}, nil
	}
	var points []*Scenario
	for _, sweep := range s.Spec.Sweep {
		for n := 1; n <= sweep.UpTo; n++ {
			point, err := s.point(sweep, n)
			if err != nil {
				return nil, err
			}
			points = append(points, point)
		}
	}
	return points, nil
}

// Sample chooses n of the points of a scenario, the same for the same random seed and name, and keeps their order; 0
// means all.
func Sample(points []*Scenario, n int, randomSeed uint64, name string) []*Scenario {
	if n == 0 || n >= len(points) {
		return points
	}
	stream := fnv.New64a()
	_, _ = stream.Write([]byte("sample of " + name)) // never fails
	chosen := rand.New(rand.NewPCG(randomSeed, stream.Sum64())).Perm(len(points))[:n]
	slices.Sort(chosen)
	sample := make([]*Scenario, 0, n)
	for _, i := range chosen {
		sample = append(sample, points[i])
	}
	return sample
}

func (s *Scenario) point(sweep Sweep, n int) (*Scenario, error) {
	point, err := s.copied()
	if err != nil {
		return nil, err
	}
	point.Metadata.Name = pointName(s.Metadata.Name, sweep.Fault, n)
	point.Spec.Sweep = nil
	point.Spec.Steps = slices.DeleteFunc(point.Spec.Steps, func(one step.Spec) bool {
		name := ""
		switch {
		case one.Fault != nil:
			name = one.Fault.Name
		case one.Heal != nil:
			name = string(*one.Heal)
		}
		return name != "" && name != sweep.Fault && s.sweeps(name)
	})
	turnOf(point.Spec.Steps, sweep.Fault).Nth = n
	return point, nil
}

// copied is the scenario once more, to be changed.
func (s *Scenario) copied() (*Scenario, error) {
	content, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("copy the scenario %q: %w", s.Metadata.Name, err)
	}
	another := &Scenario{}
	if err := json.Unmarshal(content, another); err != nil {
		return nil, fmt.Errorf("copy the scenario %q: %w", s.Metadata.Name, err)
	}
	another.Spec.Landscape.Extensions = s.Spec.Landscape.Extensions // they are of no file of scenarios
	return another, nil
}

func pointName(scenario, fault string, n int) string {
	return fmt.Sprintf("%s-%s-%d", scenario, fault, n)
}

// sweeps says whether a fault is that of one of the sweeps.
func (s *Scenario) sweeps(name string) bool {
	return slices.ContainsFunc(s.Spec.Sweep, func(sweep Sweep) bool { return sweep.Fault == name })
}

// turnOf says at which request a fault of this name begins; nil if there is none that begins at a request.
func turnOf(steps []step.Spec, name string) *requests.Turn {
	for _, one := range steps {
		if one.Fault != nil && one.Fault.Name == name {
			return one.Fault.Turn()
		}
	}
	return nil
}

func (s *Scenario) checkSweep(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	var atRequests, sweepable []string
	for _, one := range s.Spec.Steps {
		if one.Fault == nil || one.Fault.Turn() == nil {
			continue
		}
		name := one.Fault.Name
		atRequests = append(atRequests, name)
		if *one.Fault.Turn() == (requests.Turn{}) && !s.sweeps(name) {
			sweepable = append(sweepable, name)
		}
	}
	seen := map[string]bool{}
	for i, sweep := range s.Spec.Sweep {
		at := path.Index(i)
		turn := turnOf(s.Spec.Steps, sweep.Fault)
		switch {
		case turn == nil && len(atRequests) > 0 && len(sweepable) == 0:
			errs = append(errs, field.Invalid(at.Child("fault"), sweep.Fault,
				"the scenario has no other fault that can be swept: leave this one out"))
		case len(atRequests) == 0:
			errs = append(errs, field.Invalid(at.Child("fault"), sweep.Fault,
				"the scenario has no fault that is a crash or has when.request: add one of this name to its steps"))
		case turn == nil:
			errs = append(errs, field.NotSupported(at.Child("fault"), sweep.Fault, sweepable))
		case seen[sweep.Fault]:
			errs = append(errs, twice(at.Child("fault"), sweep.Fault, leaveOne))
		case *turn != (requests.Turn{}):
			errs = append(errs, field.Invalid(at.Child("fault"), sweep.Fault,
				"says by itself at which request it begins; leave nth, from, every and times to the sweep"))
		}
		seen[sweep.Fault] = true
		if sweep.UpTo < 1 || sweep.UpTo > maxPoints {
			errs = append(errs, field.Invalid(at.Child("upTo"), sweep.UpTo, fmt.Sprintf("must be from 1 to %d", maxPoints)))
		} else if turn != nil {
			errs = append(errs, s.checkPointName(at.Child("fault"), sweep)...)
		}
	}
	return errs
}

// checkPointName refuses points whose names could not be those of scenarios: files and folders have them, too.
func (s *Scenario) checkPointName(path *field.Path, sweep Sweep) field.ErrorList {
	if len(validation.IsDNS1123Label(s.Metadata.Name)) > 0 { // which is reported there
		return nil
	}
	name := pointName(s.Metadata.Name, sweep.Fault, sweep.UpTo)
	if len(name) > validation.DNS1123LabelMaxLength {
		return field.ErrorList{field.Invalid(path, sweep.Fault,
			fmt.Sprintf("makes the name %q of a point, which is longer than %d: give the fault or the scenario a shorter one",
				name, validation.DNS1123LabelMaxLength))}
	}
	if len(checkName(path, name, validation.DNS1123LabelMaxLength)) == 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, sweep.Fault, fmt.Sprintf(
		"makes the name %q of a point, which no scenario can have: name the fault with lower case letters, digits and '-', "+
			"such as %q", name, asLabel(sweep.Fault)))}
}

// asLabel is the name that is most like this one and can be part of a scenario's.
func asLabel(name string) string {
	parts := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	return cmp.Or(strings.Join(parts, "-"), "fault")
}
