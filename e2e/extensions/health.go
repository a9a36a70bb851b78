package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/transplant-sim/transplant/api/resources/v1alpha1"
)

// deploys is an actuator that keeps something for an object. Its health is a condition of the object.
type deploys[T extensionsv1alpha1.Object] interface {
	deployed(obj T) (gardencorev1beta1.ConditionType, []checked)
}

// checked is what has a health of its own, for each namespace.
type checked interface {
	// problem with it; empty for none.
	problem(ctx context.Context, namespace string) (string, error)
}

// report writes the health of all objects of the kind as conditions, which the gardenlet gathers for as long as the
// heartbeat is renewed.
func (r *reconciler[T]) report(ctx context.Context, of deploys[T]) error {
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		list := r.kind.NewList()
		if err := r.cached.List(ctx, list); err != nil {
			log.FromContext(ctx).Error(err, "the objects were not listed, and their health not reported")
			return
		}
		for _, item := range list.Objects() {
			obj := item.(T)
			waits := obj.GetAnnotations()[constants.GardenerOperation] == constants.GardenerOperationWaitForState
			if obj.GetExtensionSpec().GetExtensionType() != r.ofType || waits || r.isDue(obj) || migrated(obj) {
				continue
			}
			if err := r.reportOn(ctx, obj, of); err != nil && ctx.Err() == nil && !apierrors.IsConflict(err) {
				log.FromContext(ctx).Error(err, "the health was not reported", "object", client.ObjectKeyFromObject(obj))
			}
		}
	}, r.config.HealthCheck.Duration)
	return nil
}

func (r *reconciler[T]) reportOn(ctx context.Context, obj T, of deploys[T]) error {
	kind, checks := of.deployed(obj)
	condition := gardencorev1beta1.Condition{Type: kind, Status: gardencorev1beta1.ConditionTrue,
		Reason: "HealthCheckSuccessful", Message: "All checks were successful.",
		LastTransitionTime: metav1.Now(), LastUpdateTime: metav1.Now()}
	for _, check := range checks {
		problem, err := check.problem(ctx, obj.GetNamespace())
		if err != nil {
			return err
		}
		if problem != "" {
			condition.Status, condition.Reason, condition.Message = gardencorev1beta1.ConditionFalse,
				"HealthCheckUnsuccessful", problem
			break
		}
	}
	conditions := slices.Clone(obj.GetExtensionStatus().GetConditions())
	i := slices.IndexFunc(conditions, func(c gardencorev1beta1.Condition) bool { return c.Type == kind })
	switch {
	case i < 0:
		conditions = append(conditions, condition)
	case conditions[i].Status == condition.Status && conditions[i].Message == condition.Message:
		return nil
	default:
		conditions[i] = condition
	}
	before := obj.DeepCopyObject().(client.Object)
	changed := obj.DeepCopyObject().(T)
	changed.GetExtensionStatus().SetConditions(conditions)
	// The lock keeps it off an object that was released since.
	return r.Status().Patch(ctx, changed, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

// problem with the objects of a ManagedResource; empty for none.
func (m managed) problem(ctx context.Context, namespace string) (string, error) {
	resource, _ := m.objects(namespace)
	if err := m.Get(ctx, client.ObjectKeyFromObject(resource), resource); apierrors.IsNotFound(err) {
		return fmt.Sprintf("ManagedResource %q is missing.", m.name), nil
	} else if err != nil {
		return "", errors.Join(fmt.Errorf("read ManagedResource %q", m.name), err)
	}
	for _, kind := range []gardencorev1beta1.ConditionType{resourcesv1alpha1.ResourcesApplied,
		resourcesv1alpha1.ResourcesHealthy} {
		if !slices.ContainsFunc(resource.Status.Conditions, func(c gardencorev1beta1.Condition) bool {
			return c.Type == kind && c.Status == gardencorev1beta1.ConditionTrue
		}) {
			return fmt.Sprintf("ManagedResource %q has no condition %s.", m.name, kind), nil
		}
	}
	return "", nil
}
