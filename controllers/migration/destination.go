package migration

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	seedmanagementv1alpha1 "github.com/transplant-sim/transplant/api/seedmanagement/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/controlplane/lifecycle"
	"github.com/transplant-sim/transplant/controllers/placement"
)

// plan is where the shoot is to go, or why it cannot be evacuated. Without either, it is on its way, or waits for its
// turn.
func (e *Evacuation) plan(ctx context.Context, shoot *gardencorev1beta1.Shoot, garden *observed,
	lost map[string]bool) (destination string, why, err error) {
	bound := ptr.Deref(shoot.Spec.SeedName, "")
	switch {
	case e.Manual && waitsForForce(shoot):
		return "", nil, nil // the operator has chosen
	case e.Manual:
		return "", errors.New("the seed is lost, and evacuation is manual: set spec.seedName and the annotation " +
			constants.ShootForceRestore + "=true"), nil
	case !lifecycle.Created(shoot) && shoot.DeletionTimestamp == nil:
		return "", errors.New("the shoot has never been created successfully: there is nothing to restore"), nil
	case bound != "" && !lost[bound] && lifecycle.Forced(shoot):
		return "", nil, nil // on its way
	}
	destination = bound // on its way to a seed that lives, when its source was lost
	if bound == "" || lost[bound] {
		if destination, why, err = e.choose(ctx, shoot, garden); err != nil || why != nil {
			return "", why, err
		}
	}
	if restoring(garden.shoots, destination) >= e.AtOnce {
		return "", nil, nil
	}
	if known := e.refused.Known(ctx, shoot, e.Clock.Now()); known != nil {
		return "", known, nil
	}
	return destination, nil, nil
}

// choose finds the seed that fits, or why none does.
func (e *Evacuation) choose(ctx context.Context, shoot *gardencorev1beta1.Shoot,
	garden *observed) (destination string, why, err error) {
	profile, err := e.profile(ctx, shoot)
	if err != nil {
		return "", nil, err
	}
	managed := &seedmanagementv1alpha1.ManagedSeedList{} // as watches have shown them, like the profile
	if err := e.Cached.List(ctx, managed); err != nil {
		return "", nil, fmt.Errorf("list the managed seeds: %w", err)
	}
	question := &placement.Question{
		Shoot: shoot, Profile: profile, Seeds: garden.seeds, Usage: placement.UsageOf(garden.shoots, shoot),
		Hosts: placement.HostsOf(managed.Items, garden.shoots), Source: ptr.Deref(shoot.Status.SeedName, ""),
	}
	destination, _, why = placement.Schedule(question)
	return destination, why, nil
}

// lostTo is the lost seed without which the shoot cannot go on; empty if there is none.
func lostTo(shoot *gardencorev1beta1.Shoot, lost map[string]bool) string {
	switch seed := lifecycle.ResponsibleSeedOf(shoot); {
	case lost[seed]:
		return seed
	case destinationLost(shoot, lost):
		return ptr.Deref(shoot.Spec.SeedName, "")
	}
	return ""
}

// destinationLost reports whether a shoot can neither arrive nor stay: its source lives, has failed to hand it over or
// was interrupted in it, and its destination is lost. While the source is at work it is left alone.
func destinationLost(shoot *gardencorev1beta1.Shoot, lost map[string]bool) bool {
	last := shoot.Status.LastOperation
	if last == nil || last.Type != gardencorev1beta1.LastOperationTypeMigrate {
		return false
	}
	stands := []gardencorev1beta1.LastOperationState{
		gardencorev1beta1.LastOperationStateError, gardencorev1beta1.LastOperationStateFailed,
		gardencorev1beta1.LastOperationStateAborted,
	}
	return slices.Contains(stands, last.State) && lost[ptr.Deref(shoot.Spec.SeedName, "")]
}

// restoring counts the shoots that are on their way to a seed by force. Those that have failed for good are not.
func restoring(shoots []gardencorev1beta1.Shoot, seed string) int {
	count := 0
	for i := range shoots {
		shoot := &shoots[i]
		last := shoot.Status.LastOperation
		failed := last != nil && last.State == gardencorev1beta1.LastOperationStateFailed
		if lifecycle.Forced(shoot) && ptr.Deref(shoot.Spec.SeedName, "") == seed && !failed {
			count++
		}
	}
	return count
}

// profile is as watches have shown it: admission judges the choice by the one that there is.
func (e *Evacuation) profile(ctx context.Context, shoot *gardencorev1beta1.Shoot) (*gardencorev1beta1.CloudProfile,
	error) {
	name, _, unknown := placement.ProfileOf(shoot)
	if unknown != nil || name == "" {
		return nil, nil
	}
	profile := &gardencorev1beta1.CloudProfile{}
	if err := e.Cached.Get(ctx, client.ObjectKey{Name: name}, profile); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("read CloudProfile %q: %w", name, err)
	} else if err != nil {
		return nil, nil // a profile that is gone excludes no seed
	}
	return profile, nil
}
