package scenario

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/oracle"
	"github.com/transplant-sim/transplant/sim/step"
)

// What a landscape may need at most; a scenario that needs more has a typing error.
const (
	maxSeeds   = 6 // as many as a landscape has addresses for (ARCHITECTURE, Addresses), beside its garden
	maxShoots  = 1000
	maxWorkers = 100
	maxObjects = 100_000
	// minPeriod is the shortest time between two looks, or two backups, that a controller is asked for.
	minPeriod = 10 * time.Millisecond
	// maxName keeps a seed's or shoot's name inside the names that are made of it.
	maxName = 20
)

// reserved names of targets that are no seeds.
var reserved = []string{landscape.Garden, "cloud", "shoots"}

// Check finds everything that is wrong with a scenario whose defaults are filled in, before anything is started.
func (s *Scenario) Check() field.ErrorList {
	var errs field.ErrorList
	if s.APIVersion != APIVersion {
		errs = append(errs, field.NotSupported(field.NewPath("apiVersion"), s.APIVersion, []string{APIVersion}))
	}
	if s.Kind != Kind {
		errs = append(errs, field.NotSupported(field.NewPath("kind"), s.Kind, []string{Kind}))
	}
	errs = append(errs, checkName(field.NewPath("metadata", "name"), s.Metadata.Name, validation.DNS1123LabelMaxLength)...)
	for _, key := range slices.Sorted(maps.Keys(s.Metadata.Labels)) {
		errs = append(errs, checkLabel(field.NewPath("metadata", "labels").Key(key), key, s.Metadata.Labels[key])...)
	}
	spec := field.NewPath("spec")
	if s.Spec.Why == "" {
		errs = append(errs, field.Required(spec.Child("why"), "a scenario says what it is for"))
	}
	unfit := checkLandscape(spec.Child("landscape"), s.Spec.Landscape)
	errs = append(errs, unfit...)
	if len(unfit) == 0 { // else the steps' mistakes are mere consequences
		errs = append(errs, s.checkSteps(spec.Child("steps"))...)
	}
	errs = append(errs, s.checkSweep(spec.Child("sweep"))...)
	errs = append(errs, s.checkAlways(spec.Child("always"), len(errs) == 0)...)
	errs = append(errs, s.checkMeasure(spec.Child("measure"))...)
	if len(errs) > 0 { // what is contradicted may be a consequence
		return errs
	}
	for _, f := range s.contradictions() {
		if f.grade == never {
			errs = append(errs, f.Error)
		}
	}
	return errs
}

func checkName(path *field.Path, name string, longest int) field.ErrorList {
	var errs field.ErrorList
	for _, problem := range validation.IsDNS1123Label(name) {
		errs = append(errs, field.Invalid(path, name, problem))
	}
	if len(errs) == 0 && len(name) > longest {
		errs = append(errs, field.TooLong(path, name, longest))
	}
	return errs
}

func checkLandscape(path *field.Path, l landscape.Landscape) field.ErrorList {
	var errs field.ErrorList
	if len(l.Seeds) == 0 {
		errs = append(errs, field.Required(path.Child("seeds"), "at least one seed must be given, such as {name: a}"))
	}
	if n := len(l.Seeds); n > maxSeeds {
		errs = append(errs, field.Invalid(path.Child("seeds"), n,
			fmt.Sprintf("must be at most %d: a landscape has no addresses for more", maxSeeds)))
	}
	errs = append(errs, tooMany(path.Child("shoots"), len(l.Shoots), maxShoots)...)
	if n := l.Settings.RestoresAtOnce; n < 1 {
		errs = append(errs, field.Invalid(path.Child("settings", "restoresAtOnce"), n, "must be at least 1"))
	}
	seen := map[string]bool{}
	for i, seed := range l.Seeds {
		at := path.Child("seeds").Index(i).Child("name")
		if slices.Contains(reserved, seed.Name) {
			errs = append(errs, field.Invalid(at, seed.Name, "means something else on a landscape: give the seed another name"))
		}
		errs = append(errs, checkUnique(at, seed.Name, seen)...)
		for j, taint := range seed.Taints {
			at := path.Child("seeds").Index(i).Child("taints").Index(j)
			errs = append(errs, checkKey(at.Child("key"), taint.Key)...)
			errs = append(errs, checkValue(at.Child("value"), taint.Value)...)
		}
		if seed.Region != "" {
			errs = append(errs, checkName(path.Child("seeds").Index(i).Child("region"), seed.Region, maxName)...)
		}
	}
	if twice := l.TwoActors(); twice != "" {
		errs = append(errs, field.Invalid(path.Child("seeds"), twice,
			"would be two actors, with the extensions that are given: give a seed or an extension another name"))
	}
	for i, key := range l.Tolerable {
		errs = append(errs, checkKey(path.Child("tolerable").Index(i), key)...)
	}
	seen = map[string]bool{}
	for i, shoot := range l.Shoots {
		at := path.Child("shoots").Index(i)
		errs = append(errs, checkUnique(at.Child("name"), shoot.Name, seen)...)
		errs = append(errs, checkShoot(at, shoot, l.SeedNames())...)
	}
	return append(errs, checkSettings(path.Child("settings"), l.Settings)...)
}

func checkKey(path *field.Path, key string) field.ErrorList {
	var errs field.ErrorList
	for _, problem := range validation.IsQualifiedName(key) {
		errs = append(errs, field.Invalid(path, key, problem))
	}
	return errs
}

func checkValue(path *field.Path, value string) field.ErrorList {
	var errs field.ErrorList
	for _, problem := range validation.IsValidLabelValue(value) {
		errs = append(errs, field.Invalid(path, value, problem))
	}
	return errs
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
	var errs field.ErrorList
	if !slices.Contains(seeds, shoot.Seed) {
		errs = append(errs, field.NotSupported(path.Child("seed"), shoot.Seed, seeds))
	}
	if shoot.Purpose != "" && !slices.Contains(shoot.Purpose.Values(), string(shoot.Purpose)) {
		errs = append(errs, field.NotSupported(path.Child("purpose"), string(shoot.Purpose), shoot.Purpose.Values()))
	}
	for _, choice := range []struct {
		field, chosen string
		from          []string
	}{
		{"kubernetes", shoot.Kubernetes, landscape.Kubernetes()},
		{"image", shoot.Image, landscape.Images()},
		{"updateStrategy", string(shoot.UpdateStrategy), shoot.UpdateStrategy.Values()},
	} {
		if choice.chosen != "" && !slices.Contains(choice.from, choice.chosen) {
			errs = append(errs, field.NotSupported(path.Child(choice.field), choice.chosen, choice.from))
		}
	}
	errs = append(errs, tooMany(path.Child("workers"), shoot.Workers, maxWorkers)...)
	return append(errs, tooMany(path.Child("objects"), shoot.Objects, maxObjects)...)
}

func tooMany(path *field.Path, number, most int) field.ErrorList {
	if number < 0 || number > most {
		return field.ErrorList{field.Invalid(path, number, fmt.Sprintf("must be from 0 to %d", most))}
	}
	return nil
}

func checkSettings(path *field.Path, s landscape.Settings) field.ErrorList {
	var errs field.ErrorList
	settings := reflect.ValueOf(s)
	for i := range settings.NumField() {
		period, is := settings.Field(i).Interface().(metav1.Duration)
		if name, _ := jsonTag(settings.Type().Field(i)); is && period.Duration < minPeriod {
			errs = append(errs, field.Invalid(path.Child(name), period.Duration.String(),
				"must be at least "+minPeriod.String()))
		}
	}
	// As the guards have it (ownership.Timing), whom the harness does not import.
	if s.OwnerCheckTimeout.Duration < 2*s.OwnerCheckInterval.Duration {
		errs = append(errs, field.Invalid(path.Child("ownerCheckTimeout"), s.OwnerCheckTimeout.Duration.String(),
			"must be at least twice ownerCheckInterval, "+s.OwnerCheckInterval.Duration.String()))
	}
	// A seed is silent after four renewals that are missed, but after the grace period at the latest.
	if s.SeedLossGracePeriod.Duration < 2*s.SeedLeaseRenew.Duration {
		errs = append(errs, field.Invalid(path.Child("seedLossGracePeriod"), s.SeedLossGracePeriod.Duration.String(),
			"must be at least twice seedLeaseRenew, "+s.SeedLeaseRenew.Duration.String()+
				": else a seed that is well would count as lost between two renewals"))
	}
	if s.DNSTTL.Duration%time.Second != 0 {
		errs = append(errs, field.Invalid(path.Child("dnsTTL"), s.DNSTTL.Duration.String(), "must be whole seconds"))
	}
	return errs
}

func (s *Scenario) checkSteps(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(s.Spec.Steps) == 0 {
		errs = append(errs, field.Required(path, "a scenario in which nothing happens proves nothing"))
	}
	state := step.NewState(s.Spec.Landscape, s.Spec.Steps)
	for i := range s.Spec.Steps {
		errs = append(errs, s.Spec.Steps[i].Check(path.Index(i), state)...)
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
