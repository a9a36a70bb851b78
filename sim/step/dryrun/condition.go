package dryrun

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/sim/choice"
	"github.com/transplant-sim/transplant/sim/expression"
)

// Condition checks an expression and the names in it.
func (s *State) Condition(path *field.Path, text string) field.ErrorList {
	e, err := expression.Compile(text)
	if err != nil {
		return field.ErrorList{field.Invalid(path, text, err.Error())}
	}
	if !e.Asks() {
		return field.ErrorList{field.Invalid(path, text,
			"asks for nothing on the landscape, and is always the same; ask for a shoot, a seed or the cloud, such as "+
				"shoot('alpha').healthy")}
	}
	var errs field.ErrorList
	for _, name := range e.Shoots() {
		if known := s.Landscape.ShootNames(); !slices.Contains(known, name) {
			errs = append(errs, field.NotSupported(path, fmt.Sprintf("shoot('%s')", name), known))
		}
	}
	for _, name := range e.Seeds() {
		if known := s.Landscape.SeedNames(); !slices.Contains(known, name) {
			errs = append(errs, field.NotSupported(path, fmt.Sprintf("seed('%s')", name), known))
		}
	}
	places := s.Landscape.SeedNames()
	if s.Outside {
		places = append(places, constants.SeedOutside)
	}
	for _, name := range e.SeedsWanted() { // no shoot can ever be there
		errs = append(errs, choice.Check(path, name, places)...)
	}
	for _, c := range e.Impossible() {
		errs = append(errs, field.NotSupported(path, c.Value, c.Known))
	}
	return errs
}

// Visible is Condition for what is waited for at this place: while the garden is down, nothing can be waited for that
// only the garden knows. One without a quorum may answer what it has seen.
func (s *State) Visible(path *field.Path, text string) field.ErrorList {
	errs := s.Condition(path, text)
	if e, err := expression.Compile(text); err == nil && e.NeedsGarden() {
		errs = append(errs, s.GardenUp(path)...)
	}
	return errs
}
