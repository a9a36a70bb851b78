package shootrules

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	seedmanagementv1alpha1 "github.com/transplant-sim/transplant/api/seedmanagement/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/admission/toleration"
	"github.com/transplant-sim/transplant/controllers/placement"
)

// garden is what rules look at beside the request. Only what the request needs is filled in.
type garden struct {
	seeds  []gardencorev1beta1.Seed
	shoots []gardencorev1beta1.Shoot
	usage  placement.Usage
	hosts  placement.Hosts
	// managedSeed is the ManagedSeed that makes a seed of the shoot, for a request that would harm one; empty for none.
	managedSeed string
	profile     *gardencorev1beta1.CloudProfile
	// project is the name of the project that a new shoot is in.
	project string
	// tolerations are those of the shoot's project and of the landscape.
	tolerations toleration.Lists
	// now is when the request is judged.
	now time.Time
	// inPlaceUpdates is whether there may be pools that are updated in place.
	inPlaceUpdates bool
}

// look reads what the rules need for the request, from the API server, not from a cache: what was bound a moment ago
// counts. The ErrorList names what the shoot refers to and does not exist.
func (v *Validator) look(ctx context.Context, r *Request) (*garden, field.ErrorList, error) {
	g := &garden{now: v.Clock.Now(), inPlaceUpdates: v.InPlaceUpdates}
	if r.Old == nil || r.changesTolerations() {
		project, err := ProjectOf(ctx, v.Client, r.Shoot.Namespace)
		if err != nil {
			return nil, nil, err
		}
		g.tolerations = v.Tolerations.With(project)
		if project != nil {
			g.project = project.Name
		}
	}
	if r.binds() || r.changesDNS() {
		if err := v.lookAtSeeds(ctx, r, g); err != nil {
			return nil, nil, err
		}
	}
	if r.harmsASeed() {
		managed, err := v.managedSeedOf(ctx, r.Old)
		if err != nil {
			return nil, nil, err
		}
		g.managedSeed = managed
	}
	if r.Shoot == nil {
		return g, nil, nil
	}
	profile, errs, err := ProfileOf(ctx, v.Client, r.Shoot)
	g.profile = profile
	if !r.binds() && !r.ChangesVersions() {
		errs = nil // a profile that is gone keeps nobody from changing something else
	}
	return g, errs, err
}

func (v *Validator) lookAtSeeds(ctx context.Context, r *Request, g *garden) error {
	seeds, shoots := &gardencorev1beta1.SeedList{}, &gardencorev1beta1.ShootList{}
	if err := v.Client.List(ctx, seeds); err != nil {
		return fmt.Errorf("list the seeds: %w", err)
	}
	if err := v.Client.List(ctx, shoots); err != nil {
		return fmt.Errorf("list the shoots: %w", err)
	}
	g.seeds, g.shoots, g.usage = seeds.Items, shoots.Items, placement.UsageOf(shoots.Items, r.Shoot)
	if !r.binds() {
		return nil
	}
	managed := &seedmanagementv1alpha1.ManagedSeedList{}
	if err := v.Client.List(ctx, managed); err != nil {
		return fmt.Errorf("list the managed seeds: %w", err)
	}
	g.hosts = placement.HostsOf(managed.Items, shoots.Items)
	return nil
}

// ProfileOf reads the shoot's CloudProfile; nil if it names none. One that was stored before admission filled in the
// defaults gets them here.
func ProfileOf(ctx context.Context, c client.Client, shoot *gardencorev1beta1.Shoot) (*gardencorev1beta1.CloudProfile,
	field.ErrorList, error) {
	name, path, unknown := placement.ProfileOf(shoot)
	if unknown != nil {
		return nil, field.ErrorList{unknown}, nil
	}
	if name == "" {
		return nil, nil, nil
	}
	profile := &gardencorev1beta1.CloudProfile{}
	err := c.Get(ctx, client.ObjectKey{Name: name}, profile)
	if apierrors.IsNotFound(err) {
		return nil, field.ErrorList{field.NotFound(path, name)}, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read CloudProfile %q: %w", name, err)
	}
	profile.SetDefaults()
	return profile, nil, nil
}

// ProjectOf finds the project of a namespace; nil if it belongs to none.
func ProjectOf(ctx context.Context, c client.Client, namespace string) (*gardencorev1beta1.Project, error) {
	projects := &gardencorev1beta1.ProjectList{}
	if err := c.List(ctx, projects); err != nil {
		return nil, fmt.Errorf("list the projects: %w", err)
	}
	for i := range projects.Items {
		if ptr.Deref(projects.Items[i].Spec.Namespace, "") == namespace {
			return &projects.Items[i], nil
		}
	}
	return nil, nil
}
