package shootrules

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	seedmanagementv1alpha1 "github.com/transplant-sim/transplant/api/seedmanagement/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/controlplane/lifecycle"
)

// managedSeedKept keeps the shoot of a managed seed alive, awake, and evacuated before others
// (docs/specification/nodes-and-seeds.md#spec-7-7).
func managedSeedKept(r *Request, g *garden) field.ErrorList {
	if g.managedSeed == "" {
		return nil
	}
	spec := field.NewPath("spec")
	forbidden := func(path *field.Path, what string) *field.Error {
		return field.Forbidden(path, fmt.Sprintf("%s: the shoot is the seed of ManagedSeed %q, which must be deleted first",
			what, g.managedSeed))
	}
	var errs field.ErrorList
	if r.deletes() {
		errs = append(errs, forbidden(field.NewPath("metadata", "deletionTimestamp"), "the shoot must not be deleted"))
	}
	if r.fallsAsleep() {
		errs = append(errs, forbidden(spec.Child("hibernation", "enabled"), "must not become true"))
	}
	if r.planToSleep() {
		errs = append(errs, forbidden(spec.Child("hibernation", "schedules"), "must not get a start"))
	}
	if r.lessImportant() {
		errs = append(errs, forbidden(spec.Child("purpose"), fmt.Sprintf("must stay %q",
			gardencorev1beta1.ShootPurposeInfrastructure)))
	}
	return errs
}

// fallsAsleep reports whether the shoot is to be hibernated and was not before.
func (r *Request) fallsAsleep() bool {
	return r.Old != nil && r.Shoot != nil && !lifecycle.Hibernated(r.Old) && lifecycle.Hibernated(r.Shoot)
}

// planToSleep reports whether the shoot gets a schedule that hibernates it, and had none before.
func (r *Request) planToSleep() bool {
	return r.Old != nil && r.Shoot != nil && !SleepsBySchedule(r.Old) && SleepsBySchedule(r.Shoot)
}

// SleepsBySchedule reports whether a schedule hibernates the shoot.
func SleepsBySchedule(shoot *gardencorev1beta1.Shoot) bool {
	if shoot.Spec.Hibernation == nil {
		return false
	}
	for _, schedule := range shoot.Spec.Hibernation.Schedules {
		if schedule.Start != nil {
			return true
		}
	}
	return false
}

// lessImportant reports whether the purpose infrastructure is taken away.
func (r *Request) lessImportant() bool {
	return r.Old != nil && r.Shoot != nil && isInfrastructure(r.Old) && !isInfrastructure(r.Shoot)
}

func isInfrastructure(shoot *gardencorev1beta1.Shoot) bool {
	return ptr.Deref(shoot.Spec.Purpose, "") == gardencorev1beta1.ShootPurposeInfrastructure
}

// harmsASeed reports whether the request must not be about the shoot of a managed seed.
func (r *Request) harmsASeed() bool {
	return r.deletes() || r.fallsAsleep() || r.planToSleep() || r.lessImportant()
}

// managedSeedOf is the name of the ManagedSeed that makes a seed of the shoot; empty for none.
func (v *Validator) managedSeedOf(ctx context.Context, shoot *gardencorev1beta1.Shoot) (string, error) {
	managed := &seedmanagementv1alpha1.ManagedSeedList{}
	if err := v.Client.List(ctx, managed, client.InNamespace(shoot.Namespace)); err != nil {
		return "", fmt.Errorf("list the managed seeds of namespace %q: %w", shoot.Namespace, err)
	}
	for i := range managed.Items {
		if managed.Items[i].Spec.Shoot.Name == shoot.Name {
			return managed.Items[i].Name, nil
		}
	}
	return "", nil
}
