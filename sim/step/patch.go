package step

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/sim/choice"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/mergepatch"
	"github.com/transplant-sim/transplant/sim/step/dryrun"
)

// Patch changes labels, annotations and the specification of a shoot, or of the landscape's cloud profile, through
// the garden's API, admission included. It waits for nothing that follows from it.
type Patch struct {
	// Shoot to change; either it or a cloud profile must be named.
	Shoot string `json:"shoot,omitempty"`
	// CloudProfile to change: transplant, the only one of a landscape.
	CloudProfile string `json:"cloudProfile,omitempty"`
	// Merge is a JSON merge patch (RFC 7386): null removes a field, a list replaces the whole list.
	Merge mergepatch.Merge `json:"merge"`
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
func (p *Patch) Check(path *field.Path, state *dryrun.State) field.ErrorList {
	merge := path.Child("merge")
	switch {
	case p.Shoot != "" && p.CloudProfile != "", p.Shoot == "" && p.CloudProfile == "":
		return field.ErrorList{field.Required(path, "must name either a shoot or a cloudProfile")}
	case p.CloudProfile != "":
		errs := append(state.Garden(path), p.Merge.Check(merge, &gardencorev1beta1.CloudProfile{})...)
		return append(errs, choice.Check(path.Child("cloudProfile"), p.CloudProfile,
			[]string{landscape.CloudProfile})...)
	}
	shoot, errs := state.Shoot(path.Child("shoot"), p.Shoot, dryrun.Exists)
	if shoot != nil && strings.Contains(p.Merge.String(), constants.ShootForceRestore) {
		shoot.Handed = true // the seed that it is bound to takes it
	}
	errs = append(errs, state.Garden(path)...)
	errs = append(errs, p.Merge.Check(merge, &gardencorev1beta1.Shoot{})...)
	if p.Refused == "" { // what is not to happen is no change that the state must follow
		errs = append(errs, verbless(merge, p.Merge)...)
	}
	return errs
}

// ownVerbs are changes that oracles recognise by the verbs of steps.
var ownVerbs = map[string]string{"seedName": "migrate", "hibernation.enabled": "hibernate or wake"}

// verbless finds what another verb is for, so that oracles know about it.
func verbless(path *field.Path, m mergepatch.Merge) field.ErrorList {
	var errs field.ErrorList
	spec, _ := m.Fields()["spec"].(map[string]any)
	for _, change := range slices.Sorted(maps.Keys(ownVerbs)) {
		part, names := spec, strings.Split(change, ".")
		for _, name := range names[:len(names)-1] {
			part, _ = part[name].(map[string]any)
		}
		if value, given := part[names[len(names)-1]]; given {
			errs = append(errs, field.Invalid(path.Child("spec", names...), value, "is changed by the step "+
				ownVerbs[change]))
		}
	}
	return errs
}

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
		return env.patchShoot(ctx, p.Shoot, p.Merge.Fields())
	}
	return env.patchCloudProfile(ctx, p.CloudProfile, p.Merge.Fields())
}

// rootOf is the answer of the API, without our own words about what was asked, which may have the text in them.
func rootOf(err error) string {
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	return err.Error()
}

// annotationBefore keeps on a cloud profile how it was before the first run that changed it: runs share landscapes.
const annotationBefore = "scenario.transplant.dev/before"

var cloudProfileKind = gardencorev1beta1.SchemeGroupVersion.WithKind("CloudProfile")

// patchCloudProfile merges a patch into the cloud profile, and into its annotations what it was.
func (s *Environment) patchCloudProfile(ctx context.Context, name string, patch map[string]any) error {
	garden, err := s.Clients.Cluster(landscape.Garden)
	if err != nil {
		return err
	}
	profile := &unstructured.Unstructured{} // our types may not know all of its fields
	profile.SetGroupVersionKind(cloudProfileKind)
	if err := garden.Get(ctx, client.ObjectKey{Name: name}, profile); err != nil {
		return fmt.Errorf("read the cloud profile %q: %w", name, err)
	}
	if _, kept := profile.GetAnnotations()[annotationBefore]; !kept {
		before, err := json.Marshal(profile.Object["spec"])
		if err != nil {
			return fmt.Errorf("marshal the cloud profile %q: %w", name, err)
		}
		patch = annotated(patch, annotationBefore, string(before))
	}
	return s.patch(ctx, fmt.Sprintf("the cloud profile %q", name), profile, patch)
}

// annotated is the patch with an annotation added; the patch itself stays as it is.
func annotated(patch map[string]any, key, value string) map[string]any {
	patch = maps.Clone(patch)
	metadata, _ := patch["metadata"].(map[string]any)
	metadata = maps.Clone(metadata)
	if metadata == nil {
		metadata = map[string]any{}
	}
	annotations, _ := metadata["annotations"].(map[string]any)
	annotations = maps.Clone(annotations)
	if annotations == nil {
		annotations = map[string]any{}
	}
	annotations[key] = value
	metadata["annotations"], patch["metadata"] = annotations, metadata
	return patch
}

// RestoreCloudProfiles reverts what runs have changed about cloud profiles. No shoot may need the change any more.
func (s *Environment) RestoreCloudProfiles(ctx context.Context) error {
	garden, err := s.Clients.Cluster(landscape.Garden)
	if err != nil {
		return err
	}
	profiles := &unstructured.UnstructuredList{}
	profiles.SetGroupVersionKind(cloudProfileKind)
	if err := garden.List(ctx, profiles); err != nil {
		return fmt.Errorf("list the cloud profiles: %w", err)
	}
	for i := range profiles.Items {
		profile := &profiles.Items[i]
		before, changed := profile.GetAnnotations()[annotationBefore]
		if !changed {
			continue
		}
		var spec map[string]any
		if err := json.Unmarshal([]byte(before), &spec); err != nil {
			return fmt.Errorf("read what the cloud profile %q was: %w", profile.GetName(), err)
		}
		restored := profile.DeepCopy()
		unstructured.RemoveNestedField(restored.Object, "metadata", "annotations", annotationBefore)
		restored.Object["spec"] = spec
		if err := garden.Patch(ctx, restored, client.MergeFrom(profile)); err != nil {
			return fmt.Errorf("restore the cloud profile %q: %w", profile.GetName(), err)
		}
	}
	return nil
}
