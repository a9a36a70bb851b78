package scenario

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/transplant-sim/transplant/sim/choice"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/oracle"
	"github.com/transplant-sim/transplant/sim/scenario/fields"
	"github.com/transplant-sim/transplant/sim/step"
)

// What a landscape may need at most; a scenario that needs more has a typing error.
const (
	maxSeeds   = 6 // as many as a landscape has addresses for (ARCHITECTURE, Addresses), beside its garden
	maxShoots  = 1000
	maxWorkers = 100
	maxObjects = 100_000
	// maxRealWorkers leaves room for a roll: 64 nodes of a shoot have addresses for their pods.
	maxRealWorkers = 20
	// minPeriod is the shortest time between two looks, or two backups, that a controller is asked for.
	minPeriod = 10 * time.Millisecond
	// maxName keeps a seed's or shoot's name inside the names that are made of it.
	maxName = 20
)

// Check finds everything that is wrong with a scenario whose defaults are filled in, before anything is started. Of a
// file that could not be read in all its parts, it finds what is wrong whatever stands in those.
func (s *Scenario) Check(unread Unread) field.ErrorList {
	spec := field.NewPath("spec")
	errs := checkHead(s.APIVersion, s.Kind, Kind, s.Metadata.Name, validation.DNS1123LabelMaxLength)
	for _, key := range slices.Sorted(maps.Keys(s.Metadata.Labels)) {
		errs = append(errs, checkLabel(field.NewPath("metadata", "labels").Key(key), key, s.Metadata.Labels[key])...)
	}
	if s.Spec.Why == "" {
		errs = append(errs, field.Required(spec.Child("why"), "a scenario says what it is for"))
	}
	var unfit field.ErrorList
	for _, check := range landscapeChecks {
		unfit = append(unfit, check(spec.Child("landscape"), s.Spec.Landscape)...)
	}
	errs = append(errs, unfit...)
	if s.namesAreKnown(unread, unfit) { // else the steps' mistakes are mere consequences
		errs = append(errs, s.checkSteps(spec.Child("steps"), unread, len(unfit) > 0)...)
	}
	errs = append(errs, s.checkSweep(spec.Child("sweep"))...)
	errs = append(errs, s.checkAlways(spec.Child("always"), len(errs) == 0 && !unread.in(""))...)
	errs = append(errs, s.checkMeasure(spec.Child("measure"))...)
	if len(errs) > 0 || unread.in("") { // what is contradicted may be a consequence
		return slices.DeleteFunc(errs, unread.explains)
	}
	for _, f := range s.contradictions() {
		if f.grade == never {
			errs = append(errs, f.Error)
		}
	}
	return errs
}

// checkHead finds what is wrong with the first lines of a file of this kind.
func checkHead(apiVersion, isKind, kind, name string, longest int) field.ErrorList {
	errs := choice.Check(field.NewPath("apiVersion"), apiVersion, []string{APIVersion})
	errs = append(errs, choice.Check(field.NewPath("kind"), isKind, []string{kind})...)
	return append(errs, checkName(field.NewPath("metadata", "name"), name, longest)...)
}

func checkName(path *field.Path, name string, longest int) field.ErrorList {
	errs := invalid(path, name, validation.IsDNS1123Label(name))
	if len(errs) == 0 && len(name) > longest {
		errs = append(errs, field.TooLong(path, name, longest))
	}
	return errs
}

// invalid is a value with these problems.
func invalid(path *field.Path, value string, problems []string) field.ErrorList {
	var errs field.ErrorList
	for _, problem := range problems {
		errs = append(errs, field.Invalid(path, value, problem))
	}
	return errs
}

// landscapeChecks are made of what a scenario needs.
var landscapeChecks = []func(path *field.Path, l landscape.Landscape) field.ErrorList{
	checkSeeds, checkGarden, checkActors, checkTolerable, checkShoots, checkSettings,
}

func checkSeeds(path *field.Path, l landscape.Landscape) field.ErrorList {
	path = path.Child("seeds")
	var errs field.ErrorList
	if len(l.Seeds) == 0 {
		errs = append(errs, field.Required(path, "at least one seed must be given, such as {name: a}"))
	}
	if n := len(l.Seeds); n > maxSeeds {
		errs = append(errs, field.Invalid(path, n,
			fmt.Sprintf("must be at most %d: a landscape has no addresses for more", maxSeeds)))
	}
	seen := map[string]bool{}
	for i, seed := range l.Seeds {
		at := path.Index(i)
		if landscape.IsNoSeed(seed.Name) {
			errs = append(errs, field.Invalid(at.Child("name"), seed.Name,
				"means something else on a landscape: give the seed another name"))
		}
		errs = append(errs, checkUnique(at.Child("name"), seed.Name, seen)...)
		for j, taint := range seed.Taints {
			at := at.Child("taints").Index(j)
			errs = append(errs, checkKey(at.Child("key"), taint.Key)...)
			errs = append(errs, checkValue(at.Child("value"), taint.Value)...)
		}
		if seed.Region != "" {
			errs = append(errs, checkName(at.Child("region"), seed.Region, maxName)...)
		}
	}
	return append(errs, checkHosts(path, l)...)
}

// checkHosts of seeds that are shoots. A circle of two would leave nobody who could restore the one if the other is
// lost.
func checkHosts(path *field.Path, l landscape.Landscape) field.ErrorList {
	var errs field.ErrorList
	outside := slices.ContainsFunc(l.Seeds, func(s landscape.Seed) bool { return s.HostedBy == "" })
	guests := map[string]string{}
	for i, seed := range l.Seeds {
		if seed.HostedBy == "" {
			continue
		}
		at := path.Index(i).Child("hostedBy")
		others := slices.DeleteFunc(l.SeedNames(), func(other string) bool { return other == seed.Name })
		if wrong := choice.Check(at, seed.HostedBy, others); len(wrong) > 0 {
			errs = append(errs, wrong...)
			continue
		}
		if !outside {
			errs = append(errs, field.Invalid(at, seed.HostedBy, "every seed is hosted by another one: add a seed without "+
				"hostedBy, on which the first of them can be made"))
			break
		}
		if circle := l.Circle(seed.Name); len(circle) == 2 {
			errs = append(errs, field.Invalid(at, seed.HostedBy, fmt.Sprintf("%s and %s would host each other, and nobody "+
				"could restore the one if the other is lost: a ring has three seeds or more", seed.Name, seed.HostedBy)))
		}
		if other, taken := guests[seed.HostedBy]; taken && l.IsHosted(seed.HostedBy) {
			errs = append(errs, field.Invalid(at, seed.HostedBy, fmt.Sprintf("hosts the seed %q already: a seed that is a "+
				"shoot itself may host one other seed", other)))
		}
		guests[seed.HostedBy] = seed.Name
	}
	return errs
}

func checkActors(path *field.Path, l landscape.Landscape) field.ErrorList {
	if twice := l.TwoActors(); twice != "" {
		return field.ErrorList{field.Invalid(path.Child("seeds"), twice,
			"would be two actors, with the extensions that are given: give a seed or an extension another name")}
	}
	return nil
}

func checkTolerable(path *field.Path, l landscape.Landscape) field.ErrorList {
	var errs field.ErrorList
	for i, key := range l.Tolerable {
		errs = append(errs, checkKey(path.Child("tolerable").Index(i), key)...)
	}
	return errs
}

func checkShoots(path *field.Path, l landscape.Landscape) field.ErrorList {
	path = path.Child("shoots")
	errs := tooMany(path, len(l.Shoots), maxShoots)
	// The nodes of a seed have the addresses of the seed.
	if real := slices.DeleteFunc(l.RealNodes(), l.IsHosted); len(real) > 0 && len(real) > maxSeeds-len(l.Seeds) {
		errs = append(errs, field.Invalid(path, len(real), fmt.Sprintf("have real nodes: a landscape has addresses for %d, "+
			"seeds and shoots with real nodes together", maxSeeds)))
	}
	seen := map[string]bool{}
	for i, shoot := range l.Shoots {
		errs = append(errs, checkUnique(path.Index(i).Child("name"), shoot.Name, seen)...)
		errs = append(errs, checkShoot(path.Index(i), shoot, l.SeedNames())...)
		errs = append(errs, checkHosted(path.Index(i), shoot, l)...)
	}
	return errs
}

// checkHosted is about a shoot that is a seed: where it is, stands at the seed.
func checkHosted(path *field.Path, shoot landscape.Shoot, l landscape.Landscape) field.ErrorList {
	if !slices.Contains(l.SeedNames(), shoot.Name) {
		return nil
	}
	if !l.IsHosted(shoot.Name) {
		return field.ErrorList{field.Invalid(path.Child("name"), shoot.Name,
			"is the name of a seed: give the shoot another name, or the seed hostedBy")}
	}
	var errs field.ErrorList
	for _, rule := range []struct {
		field string
		value any
		fine  bool
		must  string
	}{
		{"seed", shoot.Seed, shoot.Seed == l.HostOf(shoot.Name), "must be the hostedBy of the seed of this name"},
		{"purpose", string(shoot.Purpose), shoot.Purpose == landscape.Infrastructure, "must be infrastructure: it is a seed"},
		{"workers", shoot.Workers, shoot.Workers == 0 || shoot.Nodes == landscape.RealNodes,
			"must be left out, or the nodes be real: they run the pods of a seed"},
		{"hibernated", shoot.Hibernated, !shoot.Hibernated, "must be left out: a seed does not sleep"},
	} {
		if !rule.fine {
			errs = append(errs, field.Invalid(path.Child(rule.field), rule.value, rule.must))
		}
	}
	return errs
}

func checkKey(path *field.Path, key string) field.ErrorList {
	return invalid(path, key, validation.IsQualifiedName(key))
}

func checkValue(path *field.Path, value string) field.ErrorList {
	return invalid(path, value, validation.IsValidLabelValue(value))
}

// checkLabel finds what Kubernetes would refuse.
func checkLabel(path *field.Path, key, value string) field.ErrorList {
	return append(checkKey(path, key), checkValue(path, value)...)
}

func checkUnique(path *field.Path, name string, seen map[string]bool) field.ErrorList {
	if seen[name] {
		return field.ErrorList{twice(path, name, "give this one another name")}
	}
	seen[name] = true
	return checkName(path, name, maxName)
}

const leaveOne = "leave one out"

// twice is a value that only one may have, and what to do about it.
func twice(path *field.Path, value any, remedy string) *field.Error {
	err := field.Duplicate(path, value)
	err.Detail = remedy
	return err
}

func checkShoot(path *field.Path, shoot landscape.Shoot, seeds []string) field.ErrorList {
	errs := choice.Check(path.Child("seed"), shoot.Seed, seeds)
	for _, given := range []struct {
		field, chosen string
		from          []string
	}{
		{"purpose", string(shoot.Purpose), shoot.Purpose.Values()},
		{"kubernetes", shoot.Kubernetes, landscape.Kubernetes()},
		{"image", shoot.Image, landscape.Images()},
		{"updateStrategy", string(shoot.UpdateStrategy), shoot.UpdateStrategy.Values()},
		{"nodes", string(shoot.Nodes), shoot.Nodes.Values()},
	} {
		if given.chosen != "" {
			errs = append(errs, choice.Check(path.Child(given.field), given.chosen, given.from)...)
		}
	}
	errs = append(errs, tooMany(path.Child("workers"), shoot.Workers, maxWorkers)...)
	if shoot.Nodes == landscape.RealNodes && (shoot.Workers == 0 || shoot.Workers > maxRealWorkers) {
		errs = append(errs, field.Invalid(path.Child("workers"), shoot.Workers,
			fmt.Sprintf("must be from 1 to %d where nodes are real", maxRealWorkers)))
	}
	return append(errs, tooMany(path.Child("objects"), shoot.Objects, maxObjects)...)
}

func tooMany(path *field.Path, number, most int) field.ErrorList {
	if number < 0 || number > most {
		return field.ErrorList{field.Invalid(path, number, fmt.Sprintf("must be from 0 to %d", most))}
	}
	return nil
}

func checkSettings(path *field.Path, l landscape.Landscape) field.ErrorList {
	path = path.Child("settings")
	s := l.Settings
	var errs field.ErrorList
	if len(l.HostedSeeds()) > 0 && !s.SecondSign {
		errs = append(errs, field.Invalid(path.Child("secondSign"), false, "must be true where a seed is hosted by another: "+
			"else its shoots are evacuated, though they live, whenever its API server is away"))
	}
	if n := s.RestoresAtOnce; n < 1 {
		errs = append(errs, field.Invalid(path.Child("restoresAtOnce"), n, "must be at least 1"))
	}
	settings := reflect.ValueOf(s)
	for i := range settings.NumField() {
		period, is := settings.Field(i).Interface().(metav1.Duration)
		if name, _ := fields.Tag(settings.Type().Field(i)); is && period.Duration < minPeriod {
			errs = append(errs, field.Invalid(path.Child(name), period.Duration.String(),
				"must be at least "+minPeriod.String()))
		}
	}
	for _, rule := range []struct {
		field string
		is    metav1.Duration
		fine  bool
		must  string
	}{
		// As the guards have it (ownership.Timing), whom the harness does not import.
		{"ownerCheckTimeout", s.OwnerCheckTimeout, s.OwnerCheckTimeout.Duration >= 2*s.OwnerCheckInterval.Duration,
			"must be at least twice ownerCheckInterval, " + s.OwnerCheckInterval.Duration.String()},
		// A seed is silent after four renewals that are missed, but after the grace period at the latest.
		{"seedLossGracePeriod", s.SeedLossGracePeriod, s.SeedLossGracePeriod.Duration >= 2*s.SeedLeaseRenew.Duration,
			"must be at least twice seedLeaseRenew, " + s.SeedLeaseRenew.Duration.String() +
				": else a seed that is well would count as lost between two renewals"},
		{"dnsTTL", s.DNSTTL, s.DNSTTL.Duration%time.Second == 0, "must be whole seconds"},
	} {
		if !rule.fine {
			errs = append(errs, field.Invalid(path.Child(rule.field), rule.is.Duration.String(), rule.must))
		}
	}
	return errs
}

// namesAreKnown says whether the seeds and shoots have the names by which steps refer to them.
func (s *Scenario) namesAreKnown(unread Unread, unfit field.ErrorList) bool {
	seeds, shoots := "spec.landscape.seeds", "spec.landscape.shoots"
	return !unread.lacks(seeds) && !unread.lacks(shoots) && !slices.Contains(s.Spec.Landscape.SeedNames(), "") &&
		!slices.Contains(s.Spec.Landscape.ShootNames(), "") &&
		!slices.ContainsFunc(unfit, func(problem *field.Error) bool {
			return problem.Field == seeds || problem.Field == shoots || strings.HasSuffix(problem.Field, ".name")
		})
}

// checkSteps that could be read. If others could not, or the landscape has mistakes, nothing is refused for what steps
// before it have done or left undone.
func (s *Scenario) checkSteps(path *field.Path, unread Unread, unfit bool) field.ErrorList {
	var errs field.ErrorList
	if len(s.Spec.Steps) == 0 && !unread.lacks(path.String()) {
		errs = append(errs, field.Required(path, "a scenario in which nothing happens proves nothing"))
	}
	state := step.NewState(s.Spec.Landscape, s.Spec.Steps)
	state.Unsure = unfit || unread.in("spec.landscape") || unread.in(path.String())
	for i := range s.Spec.Steps {
		if at := path.Index(i); !unread.in(at.String()) {
			errs = append(errs, s.Spec.Steps[i].Check(at, state)...)
		}
	}
	return append(errs, state.End()...)
}

// checkAlways finds unknown and repeated promises. If the rest of the scenario is possible, it lists those that nothing
// contradicts.
func (s *Scenario) checkAlways(path *field.Path, possible bool) field.ErrorList {
	var errs field.ErrorList
	seen := map[Oracle]bool{}
	for i, name := range s.Spec.Always {
		switch {
		case !slices.Contains(oracle.Names(), string(name)):
			errs = append(errs, field.NotSupported(path.Index(i), name, s.fitting(possible)))
		case seen[name]:
			errs = append(errs, twice(path.Index(i), name, leaveOne))
		}
		seen[name] = true
	}
	return errs
}

// fitting are the promises that may be added.
func (s *Scenario) fitting(possible bool) []string {
	names := slices.DeleteFunc(oracle.Names(), func(name string) bool {
		return slices.Contains(s.Spec.Always, Oracle(name))
	})
	if !possible {
		return names
	}
	c := courseOf(s)
	return slices.DeleteFunc(names, func(name string) bool {
		b := c.breaks(name, goal{})
		return b != nil && b.grade == never
	})
}

func (s *Scenario) checkMeasure(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if c := s.Spec.Measure.LostWrites; c != nil {
		errs = append(errs, tooMany(path.Child("lostWrites", "max"), c.Max, maxObjects)...)
	}
	if c := s.Spec.Measure.RestoresAtOnce; c != nil {
		errs = append(errs, tooMany(path.Child("restoresAtOnce", "max"), c.Max, maxShoots)...)
	}
	return errs
}

// Seconds of a bound.
func (b *Bound) Seconds() float64 { return b.Max.Seconds() }
