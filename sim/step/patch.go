package step

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"

	"github.com/transplant-sim/transplant/sim/landscape"
)

// Patch changes labels, annotations and the specification of a shoot, or of the landscape's cloud profile, through
// the garden's API, admission included. It waits for nothing that follows from it.
type Patch struct {
	// Shoot to change; either it or a cloud profile must be named.
	Shoot string `json:"shoot,omitempty"`
	// CloudProfile to change: transplant, the only one of a landscape.
	CloudProfile string `json:"cloudProfile,omitempty"`
	// Merge is a JSON merge patch (RFC 7386): null removes a field, a list replaces the whole list.
	Merge Merge `json:"merge"`
	// Refused lets the step expect that the API refuses the change, which it must, with this text in its answer.
	Refused string `json:"refused,omitempty"`
}

var _ Step = &Patch{}

// Subject is the shoot.
func (p *Patch) Subject() string { return p.Shoot }

func (p *Patch) String() string {
	text := fmt.Sprintf("patch %s with %s", p.target(), p.Merge)
	if p.Refused != "" {
		text += fmt.Sprintf(", which must be refused with %q", p.Refused)
	}
	return text
}

func (p *Patch) target() string {
	if p.CloudProfile != "" {
		return "the cloud profile " + p.CloudProfile
	}
	return p.Shoot
}

// Check wants one object that exists, and a change that is possible by its type and has no verb of its own.
func (p *Patch) Check(path *field.Path, state *State) field.ErrorList {
	merge := path.Child("merge")
	switch {
	case p.Shoot != "" && p.CloudProfile != "", p.Shoot == "" && p.CloudProfile == "":
		return field.ErrorList{field.Required(path, "must name either a shoot or a cloudProfile")}
	case p.CloudProfile != "":
		errs := append(state.garden(path), p.Merge.check(merge, &gardencorev1beta1.CloudProfile{})...)
		if known := []string{landscape.CloudProfile}; p.CloudProfile != landscape.CloudProfile {
			errs = append(errs, field.NotSupported(path.Child("cloudProfile"), p.CloudProfile, known))
		}
		return errs
	}
	_, errs := state.shoot(path.Child("shoot"), p.Shoot, exists)
	errs = append(errs, state.garden(path)...)
	errs = append(errs, p.Merge.check(merge, &gardencorev1beta1.Shoot{})...)
	if p.Refused == "" { // what is not to happen is no change that the state must follow
		errs = append(errs, p.Merge.verbless(merge)...)
	}
	return errs
}

// ownVerbs are changes that oracles recognise by the verbs of steps.
var ownVerbs = map[string]string{"seedName": "migrate", "hibernation.enabled": "hibernate or wake"}

// Run patches.
func (p *Patch) Run(ctx context.Context, env *Environment) error {
	err := p.send(ctx, env)
	if p.Refused == "" {
		return err
	}
	if admitted := refused(p.String(), err); admitted != nil {
		return admitted
	}
	if answer := rootOf(err); !strings.Contains(answer, p.Refused) {
		return Unmet{Why: fmt.Sprintf("%s: it was refused, but with %q", p, answer)}
	}
	return nil
}

func (p *Patch) send(ctx context.Context, env *Environment) error {
	if p.CloudProfile == "" {
		return env.patchShoot(ctx, p.Shoot, p.Merge.fields)
	}
	return env.patchCloudProfile(ctx, p.CloudProfile, p.Merge.fields)
}

// rootOf is the answer of the API, without our own words about what was asked, which may have the text in them.
func rootOf(err error) string {
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	return err.Error()
}
