package extension

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
	resourcesv1alpha1 "github.com/transplant-sim/transplant/api/resources/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/extension/contract"
	"github.com/transplant-sim/transplant/controllers/extension/fence"
	"github.com/transplant-sim/transplant/controllers/extension/managed"
	"github.com/transplant-sim/transplant/controllers/extension/reference"
	"github.com/transplant-sim/transplant/controllers/patch"
)

// health writes what an extension knows of the health of what it looks after as conditions on its objects, for the
// gardenlet to gather (docs/specification/extensions.md#spec-3-9). It implements manager.Runnable. Objects that are
// released, or on their way, are left alone, and what nobody reports on gets no condition.
//
// It looks at what watches have shown, where there are any.
type health struct {
	*provider
	Clock clock.WithTicker
	Every time.Duration

	complete map[string]time.Time // when all objects of a ControlPlane were there
}

const (
	reasonHealthy   = "HealthCheckSuccessful"
	reasonUnhealthy = "HealthCheckUnsuccessful"
	// completeFor is how long objects of a ControlPlane that were all there are not looked for again: there is no right to
	// watch them.
	completeFor = time.Minute
)

// Start checks until ctx ends.
func (h *health) Start(ctx context.Context) error {
	ticker := h.Clock.NewTicker(h.Every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
		}
		if err := h.Check(ctx); err != nil && ctx.Err() == nil {
			log.FromContext(ctx).Error(err, "health was not checked everywhere")
		}
	}
}

// Check looks at everything once. It gives up where watches do not begin.
func (h *health) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, fence.CallTimeout)
	defer cancel()
	maps.DeleteFunc(h.complete, func(_ string, since time.Time) bool { return h.Clock.Since(since) >= completeFor })
	return errors.Join(
		checkEach(ctx, h, &extensionsv1alpha1.WorkerList{}, h.everyNodeReady),
		checkEach(ctx, h, &extensionsv1alpha1.ControlPlaneList{}, h.controlPlaneHealthy),
		checkEach(ctx, h, &extensionsv1alpha1.ControlPlaneList{}, managedHealthy(h, func(extensionsv1alpha1.Object) string {
			return managed.ControlPlaneResource
		})),
		checkEach(ctx, h, &extensionsv1alpha1.NetworkList{}, managedHealthy(h, func(extensionsv1alpha1.Object) string {
			return managed.NetworkResource
		})),
		checkEach(ctx, h, &extensionsv1alpha1.ContainerRuntimeList{},
			managedHealthy(h, func(o extensionsv1alpha1.Object) string {
				return "extension-containerruntime-" + o.GetName()
			})),
		checkEach(ctx, h, &extensionsv1alpha1.ExtensionList{}, managedHealthy(h, func(o extensionsv1alpha1.Object) string {
			return "extension-" + o.GetName()
		})),
	)
}

// finding is the outcome of a check; nil means that nothing is known.
type finding struct {
	condition gardencorev1beta1.ConditionType
	problem   string
}

func checkEach(ctx context.Context, h *health, list extensionsv1alpha1.ObjectList,
	check func(context.Context, extensionsv1alpha1.Object) (*finding, error)) error {
	if err := h.Known.List(ctx, list.(client.ObjectList)); err != nil {
		return fmt.Errorf("list %T: %w", list, err)
	}
	var errs []error
	for _, o := range list.Objects() {
		if o.GetExtensionSpec().GetExtensionType() != reference.Type || !settled(o) || h.leavesObject(o) {
			continue
		}
		found, err := check(ctx, o)
		if err == nil && found != nil {
			err = h.write(ctx, o, found)
		}
		errs = append(errs, client.IgnoreNotFound(err))
	}
	return errors.Join(errs...)
}

// leavesObject says whether an object is of a kind that is left to somebody else.
func (h *health) leavesObject(o extensionsv1alpha1.Object) bool {
	return slices.ContainsFunc(h.Except, func(name string) bool {
		kind, known := extensionsv1alpha1.KindByName(name)
		return known && reflect.TypeOf(kind.New()) == reflect.TypeOf(o)
	})
}

// settled says whether an object is this seed's to report on: it has been reconciled, nothing is asked of it, and it
// is neither going nor gone to another seed.
func settled(o extensionsv1alpha1.Object) bool {
	return o.GetExtensionStatus().GetLastOperation() != nil && !contract.Migrated(o) && o.GetDeletionTimestamp() == nil &&
		contract.RequestOf(o).Operation == ""
}

// write sends the condition with the resource version that was looked at, so that it never falls upon an object that
// has been released since.
func (h *health) write(ctx context.Context, o extensionsv1alpha1.Object, found *finding) error {
	condition := gardencorev1beta1.Condition{
		Type: found.condition, Status: gardencorev1beta1.ConditionTrue, Reason: reasonHealthy,
		Message: "All checks were successful.",
	}
	if found.problem != "" {
		condition.Status, condition.Reason, condition.Message = gardencorev1beta1.ConditionFalse, reasonUnhealthy,
			found.problem
	}
	status := o.GetExtensionStatus()
	conditions, changed := reference.SetCondition(status.GetConditions(), condition, metav1.NewTime(h.Clock.Now()))
	if !changed {
		return nil
	}
	err := patch.LockedStatus(ctx, h.Seed, o.(client.Object), func() { status.SetConditions(conditions) })
	if apierrors.IsConflict(err) {
		return nil // somebody is at it; the next round will see
	}
	return err
}

func (h *health) everyNodeReady(ctx context.Context, o extensionsv1alpha1.Object) (*finding, error) {
	deployments := &machinev1alpha1.MachineDeploymentList{}
	if err := h.Known.List(ctx, deployments, client.InNamespace(o.GetNamespace())); err != nil {
		return nil, fmt.Errorf("list the MachineDeployments of %q: %w", o.GetNamespace(), err)
	}
	found := &finding{condition: gardencorev1beta1.ShootEveryNodeReady}
	for _, d := range deployments.Items {
		if d.Status.AvailableReplicas < d.Spec.Replicas {
			found.problem = fmt.Sprintf("MachineDeployment %q has %d of %d machines available.", d.Name,
				d.Status.AvailableReplicas, d.Spec.Replicas)
			break
		}
	}
	return found, nil
}

func (h *health) controlPlaneHealthy(ctx context.Context, o extensionsv1alpha1.Object) (*finding, error) {
	this := o.GetNamespace() + "/" + string(o.GetUID())
	if _, complete := h.complete[this]; complete {
		return nil, nil
	}
	found := &finding{condition: gardencorev1beta1.ShootControlPlaneHealthy}
	for _, object := range []client.Object{
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: managed.CloudConfigMap}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: managed.ControlPlaneCA}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: managed.ControlPlaneServer}},
	} {
		name := object.GetName()
		err := h.Seed.Get(ctx, client.ObjectKey{Namespace: o.GetNamespace(), Name: name}, object)
		if apierrors.IsNotFound(err) {
			found.problem = fmt.Sprintf("%T %q is missing.", object, name)
			return found, nil
		}
		if err != nil {
			return nil, fmt.Errorf("look for %T %q: %w", object, name, err)
		}
	}
	if h.complete == nil {
		h.complete = map[string]time.Time{}
	}
	h.complete[this] = h.Clock.Now()
	return found, nil
}

// managedHealthy looks at what the resource manager says of an object's ManagedResource.
func managedHealthy(h *health, name func(extensionsv1alpha1.Object) string) func(context.Context,
	extensionsv1alpha1.Object) (*finding, error) {
	return func(ctx context.Context, o extensionsv1alpha1.Object) (*finding, error) {
		managed := &resourcesv1alpha1.ManagedResource{}
		if err := h.Known.Get(ctx, client.ObjectKey{Namespace: o.GetNamespace(), Name: name(o)}, managed); err != nil {
			return nil, fmt.Errorf("read ManagedResource %q: %w", name(o), err)
		}
		if len(managed.Status.Conditions) == 0 {
			return nil, nil
		}
		found := &finding{condition: gardencorev1beta1.ShootSystemComponentsHealthy}
		for _, condition := range managed.Status.Conditions {
			wanted := condition.Type == resourcesv1alpha1.ResourcesApplied ||
				condition.Type == resourcesv1alpha1.ResourcesHealthy
			if wanted && condition.Status != gardencorev1beta1.ConditionTrue {
				found.problem = fmt.Sprintf("ManagedResource %q: %s is %s: %s", managed.Name, condition.Type, condition.Status,
					condition.Message)
			}
		}
		return found, nil
	}
}
