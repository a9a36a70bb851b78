// Package scenario is the file format of scenarios (docs/scenarios.md): its types, a strict parser that names the line
// of every mistake, defaults and checks.
//
// It says what a scenario is, not how it is run (package engine) or judged (package verdict).
package scenario

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/transplant-sim/transplant/sim/choice"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/step"
)

//go:generate -command schemas go run ./generate ../../scenarios/scenario.schema.json
//go:generate schemas ../../scenarios/extensiondeployment.schema.json ../../docs/steps.md

// APIVersion and Kind of the files.
const (
	APIVersion = "transplant.dev/v1alpha1"
	Kind       = "Scenario"
)

// Scenario is what a file describes: a landscape, what happens on it, and what must be true then.
type Scenario struct {
	// APIVersion is transplant.dev/v1alpha1.
	APIVersion string `json:"apiVersion"`
	// Kind is Scenario.
	Kind string `json:"kind"`
	// Metadata names the scenario.
	Metadata Metadata `json:"metadata"`
	// Spec is the scenario itself.
	Spec Spec `json:"spec"`
}

// Metadata of a scenario.
type Metadata struct {
	// Name of the scenario: a DNS label, the same as that of the file.
	Name string `json:"name"`
	// Labels choose scenarios, as with -l tier=smoke; keys and values are those of Kubernetes labels. Each file of the
	// catalogue has a tier (docs/ci.md#tiers).
	Labels map[string]string `json:"labels,omitempty"`
}

// Spec of a scenario.
type Spec struct {
	// Why there is this scenario: what must hold, in one or two sentences.
	Why string `json:"why"`
	// Landscape is what the scenario needs.
	Landscape landscape.Landscape `json:"landscape"`
	// Steps happen one after the other.
	Steps []step.Spec `json:"steps"`
	// Sweep runs the scenario many times, with a fault at another request each time.
	Sweep []Sweep `json:"sweep,omitempty"`
	// SettleWithin is how long the landscape may take to settle after the last step and heal, one minute when not given.
	// It has settled when every shoot is healthy where it must be, and for three seconds nobody has written any object of
	// garden, seeds and shoots, but for heartbeats and the loads.
	SettleWithin metav1.Duration `json:"settleWithin,omitzero"`
	// Always names the oracles that must hold.
	Always []Oracle `json:"always,omitempty"`
	// Measure sets goals.
	Measure Measure `json:"measure,omitzero"`
}

// Oracle is the name of an oracle.
type Oracle string

// Measure sets goals for what is measured.
type Measure struct {
	// APIDowntime bounds how long the API of a shoot was unreachable, in all; it is tried ten times a second, with more
	// than five shoots fifty times for all of them, by its name and over the link of user: a fault of this link, or of
	// DNS, counts.
	APIDowntime *Bound `json:"apiDowntime,omitempty"`
	// BystanderDowntime is like APIDowntime, for the shoots that stay on their seed all the time while others move.
	BystanderDowntime *Bound `json:"bystanderDowntime,omitempty"`
	// RTO bounds the time from a fault to the first write that is acknowledged after the recovery from it, by an owner to
	// whom the one before had not handed over, or, for a shoot without a load, until its API is reached; of several
	// recoveries the longest.
	RTO *Bound `json:"rto,omitempty"`
	// RPO bounds the age of lost writes.
	RPO *Bound `json:"rpo,omitempty"`
	// LostWrites bounds the number of acknowledged writes that are lost.
	LostWrites *Count `json:"lostWrites,omitempty"`
	// RestoresAtOnce bounds how many shoots one seed restores at the same time.
	RestoresAtOnce *Count `json:"restoresAtOnce,omitempty"`
}

// Bound of a time.
type Bound struct {
	// Max is the longest that is good.
	Max metav1.Duration `json:"max"`
}

// Count bounds a number.
type Count struct {
	// Max is the most that is good.
	Max int `json:"max"`
}

// Stretch multiplies every deadline and the goals for how long something takes, for machines that are slower than those
// that the scenario was written on. The RPO stays: it is about data. It is called after Default.
func (s *Scenario) Stretch(factor float64) {
	times := []*metav1.Duration{&s.Spec.SettleWithin}
	for _, goal := range []*Bound{s.Spec.Measure.APIDowntime, s.Spec.Measure.BystanderDowntime, s.Spec.Measure.RTO} {
		if goal != nil {
			times = append(times, &goal.Max)
		}
	}
	for _, t := range times {
		t.Duration = time.Duration(float64(t.Duration) * factor)
	}
	for i := range s.Spec.Steps {
		s.Spec.Steps[i].Stretch(factor)
	}
}

// Default fills in everything that was left out.
func (s *Scenario) Default() {
	s.Spec.Landscape.Settings.Default()
	s.Spec.Landscape.AddHosted()
	s.Spec.SettleWithin.Duration = cmp.Or(s.Spec.SettleWithin.Duration, time.Minute)
	for i := range s.Spec.Steps {
		if _, one := s.Spec.Steps[i].Step(); one != nil {
			if d, has := one.(step.Defaulter); has {
				d.Default()
			}
		}
	}
}

// checkGarden finds members of the garden's etcd that cannot be, and numbers of them that are of no use.
func checkGarden(path *field.Path, l landscape.Landscape) field.ErrorList {
	path = path.Child("garden")
	members := l.Garden.Members
	if len(members) == 0 {
		return nil
	}
	var errs field.ErrorList
	at := path.Child("members")
	for i, member := range members {
		errs = append(errs, choice.Check(at.Index(i), member, l.SeedNames())...)
		if slices.Contains(members[:i], member) {
			errs = append(errs, twice(at.Index(i), member, "name another seed"))
		}
	}
	if n := len(members); n != 3 && n != 5 {
		errs = append(errs, field.Invalid(at, n, "must be three or five seeds: two or four survive no more losses"))
	}
	if l.Garden.Backup {
		errs = append(errs, field.Invalid(path.Child("backup"), true, "a backup is of an etcd with one member: leave it "+
			"out, or the members"))
	}
	return errs
}
