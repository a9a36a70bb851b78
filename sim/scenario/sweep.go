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

	"github.com/transplant-sim/transplant/clusters/link"
	"github.com/transplant-sim/transplant/sim/fault"
	"github.com/transplant-sim/transplant/sim/step"
)

// Sweep runs a scenario once per crash point: for each write up to a number, with one of its crashes at that write. Of
// several sweeps in a scenario, each leaves the crashes of the others out.
type Sweep struct {
	// Crash is the name of the fault that is laid anew for every point.
	Crash string `json:"crash"`
	// UpTo is the number of points: the crash comes at the first matching write, the second, and so on.
	UpTo int `json:"upTo"`
}

// maxPoints of a sweep: each is a story.
const maxPoints = 1000

// Expand gives one closed story for each point of the sweeps, in order: a scenario like any other, that can be run
// again by itself. Without a sweep it is the story alone.
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
	point.Metadata.Name = pointName(s.Metadata.Name, sweep.Crash, n)
	point.Spec.Sweep = nil
	point.Spec.Steps = slices.DeleteFunc(point.Spec.Steps, func(one step.Spec) bool {
		name := ""
		switch {
		case one.Fault != nil:
			name = one.Fault.Name
		case one.Heal != nil:
			name = string(*one.Heal)
		}
		return name != "" && name != sweep.Crash && s.sweeps(name)
	})
	crashOf(point.Spec.Steps, sweep.Crash).Turn = link.Turn{Nth: n}
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

func pointName(scenario, crash string, n int) string {
	return fmt.Sprintf("%s-%s-%d", scenario, crash, n)
}

// sweeps tells whether a fault is the crash of one of the sweeps.
func (s *Scenario) sweeps(name string) bool {
	return slices.ContainsFunc(s.Spec.Sweep, func(sweep Sweep) bool { return sweep.Crash == name })
}

// crashOf finds a crash by its name; nil if there is none.
func crashOf(steps []step.Spec, name string) *fault.Crash {
	for _, one := range steps {
		if one.Fault != nil && one.Fault.Name == name {
			return one.Fault.Crash
		}
	}
	return nil
}

func (s *Scenario) checkSweep(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	var crashes, sweepable []string
	for _, one := range s.Spec.Steps {
		if one.Fault == nil || one.Fault.Crash == nil {
			continue
		}
		crashes = append(crashes, one.Fault.Name)
		if name := one.Fault.Name; one.Fault.Crash.Turn == (link.Turn{}) && !s.sweeps(name) {
			sweepable = append(sweepable, name)
		}
	}
	seen := map[string]bool{}
	for i, sweep := range s.Spec.Sweep {
		at := path.Index(i)
		crash := crashOf(s.Spec.Steps, sweep.Crash)
		switch {
		case crash == nil && len(crashes) > 0 && len(sweepable) == 0:
			errs = append(errs, field.Invalid(at.Child("crash"), sweep.Crash,
				"the scenario has no other crash that can be swept: leave this one out"))
		case len(crashes) == 0:
			errs = append(errs, field.Invalid(at.Child("crash"), sweep.Crash,
				"the story has no fault that is a crash: add one of this name to its steps"))
		case crash == nil:
			errs = append(errs, field.NotSupported(at.Child("crash"), sweep.Crash, sweepable))
		case seen[sweep.Crash]:
			errs = append(errs, twice(at.Child("crash"), sweep.Crash, leaveOne))
		case crash.Turn != (link.Turn{}):
			errs = append(errs, field.Invalid(at.Child("crash"), sweep.Crash,
				"says by itself at which write it comes; leave nth, from, every and times to the sweep"))
		}
		seen[sweep.Crash] = true
		if sweep.UpTo < 1 || sweep.UpTo > maxPoints {
			errs = append(errs, field.Invalid(at.Child("upTo"), sweep.UpTo, fmt.Sprintf("must be from 1 to %d", maxPoints)))
		} else if crash != nil {
			errs = append(errs, s.checkPointName(at.Child("crash"), sweep)...)
		}
	}
	return errs
}

// checkPointName sees to it that points are stories like any other: their names are those of files and folders too.
func (s *Scenario) checkPointName(path *field.Path, sweep Sweep) field.ErrorList {
	if len(validation.IsDNS1123Label(s.Metadata.Name)) > 0 { // which is told there
		return nil
	}
	name := pointName(s.Metadata.Name, sweep.Crash, sweep.UpTo)
	if len(name) > validation.DNS1123LabelMaxLength {
		return field.ErrorList{field.Invalid(path, sweep.Crash,
			fmt.Sprintf("makes the name %q of a point, which is longer than %d: give the fault or the story a shorter one",
				name, validation.DNS1123LabelMaxLength))}
	}
	if len(checkName(path, name, validation.DNS1123LabelMaxLength)) == 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, sweep.Crash, fmt.Sprintf(
		"makes the name %q of a point, which no story can have: name the fault with lower case letters, digits and '-', "+
			"such as %q", name, asLabel(sweep.Crash)))}
}

// asLabel is the name that is most like this one and can be part of a story's.
func asLabel(name string) string {
	parts := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	return cmp.Or(strings.Join(parts, "-"), "crash")
}
