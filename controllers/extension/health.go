package extension

import (
	"context"
	"errors"
	"fmt"
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
// What watches have shown says which kind to read; what is written is concluded from what the API server says then.
// Watches may have stopped to show anything: all kinds are read every readEvery, and after an error.
type health struct {
	*provider
	Clock clock.WithTicker
	Every time.Duration

	read time.Time // when all kinds were read last
}

const (
	reasonHealthy   = "HealthCheckSuccessful"
	reasonUnhealthy = "HealthCheckUnsuccessful"
	readEvery       = time.Minute
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
	known, seed := newView(h.Known), newView(h.Seed)
	known.watched = true
	due := h.Clock.Since(h.read) >= readEvery
	var errs []error
	for _, c := range h.checks() {
		differs, err := due, error(nil)
		if !due {
			differs, err = h.compare(ctx, known, c, false)
		}
		if differs {
			_, err = h.compare(ctx, seed, c, true)
		}
		errs = append(errs, err)
	}
	err := errors.Join(errs...)
	if err != nil {
		h.read = time.Time{}
	} else if due {
		h.read = h.Clock.Now()
	}
	return err
}

// check is what is looked at for the objects of a kind.
type check struct {
	kind client.ObjectList
	look func(context.Context, view, extensionsv1alpha1.Object) (*finding, error)
}

func (h *health) checks() []check {
	return []check{
		{&extensionsv1alpha1.WorkerList{}, everyNodeReady},
		{&extensionsv1alpha1.ControlPlaneList{}, h.controlPlaneHealthy},
		{&extensionsv1alpha1.ControlPlaneList{}, managedHealthy(func(extensionsv1alpha1.Object) string {
			return managed.ControlPlaneResource
		})},
		{&extensionsv1alpha1.NetworkList{}, managedHealthy(func(extensionsv1alpha1.Object) string {
			return managed.NetworkResource
		})},
		{&extensionsv1alpha1.ContainerRuntimeList{}, managedHealthy(func(o extensionsv1alpha1.Object) string {
			return "extension-containerruntime-" + o.GetName()
		})},
		{&extensionsv1alpha1.ExtensionList{}, managedHealthy(func(o extensionsv1alpha1.Object) string {
			return "extension-" + o.GetName()
		})},
	}
}

// view is the seed as one round sees it: each kind is listed once, for all shoots together.
type view struct {
	from    client.Reader
	watched bool // it shows what watches have shown
	lists   map[string]client.ObjectList
}

func newView(from client.Reader) view { return view{from: from, lists: map[string]client.ObjectList{}} }

func list[L client.ObjectList](ctx context.Context, v view, kind L) (L, error) {
	name := fmt.Sprintf("%T", kind)
	if listed, ok := v.lists[name]; ok {
		return listed.(L), nil
	}
	listed := kind.DeepCopyObject().(L)
	if err := v.from.List(ctx, listed); err != nil {
		return listed, fmt.Errorf("list %s: %w", name, err)
	}
	v.lists[name] = listed
	return listed, nil
}

// finding is the outcome of a check; nil means that nothing is known.
type finding struct {
	condition gardencorev1beta1.ConditionType
	problem   string
}

// compare says whether a condition of an object differs from what is found, and writes those that do if it may.
func (h *health) compare(ctx context.Context, v view, c check, writes bool) (differs bool, err error) {
	objects, err := list(ctx, v, c.kind)
	if err != nil {
		return false, err
	}
	var errs []error
	for _, o := range objects.(extensionsv1alpha1.ObjectList).Objects() {
		if o.GetExtensionSpec().GetExtensionType() != reference.Type || !settled(o) || h.leavesObject(o) {
			continue
		}
		found, err := c.look(ctx, v, o)
		if err == nil && found != nil {
			conditions, changed := h.conditions(o, found)
			differs = differs || changed
			if changed && writes {
				err = h.write(ctx, o, conditions)
			}
		}
		errs = append(errs, client.IgnoreNotFound(err))
	}
	return differs, errors.Join(errs...)
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

// conditions are those of an object with what was found, and whether that changes them.
func (h *health) conditions(o extensionsv1alpha1.Object, found *finding) ([]gardencorev1beta1.Condition, bool) {
	condition := gardencorev1beta1.Condition{
		Type: found.condition, Status: gardencorev1beta1.ConditionTrue, Reason: reasonHealthy,
		Message: "All checks were successful.",
	}
	if found.problem != "" {
		condition.Status, condition.Reason, condition.Message = gardencorev1beta1.ConditionFalse, reasonUnhealthy,
			found.problem
	}
	return reference.SetCondition(o.GetExtensionStatus().GetConditions(), condition, metav1.NewTime(h.Clock.Now()))
}

// write sends conditions with the resource version that was looked at, so that they never fall upon an object that has
// been released since.
func (h *health) write(ctx context.Context, o extensionsv1alpha1.Object,
	conditions []gardencorev1beta1.Condition) error {
	err := patch.LockedStatus(ctx, h.Seed, o.(client.Object), func() { o.GetExtensionStatus().SetConditions(conditions) })
	if apierrors.IsConflict(err) {
		return nil // somebody is at it; the next round will see
	}
	return err
}

func everyNodeReady(ctx context.Context, v view, o extensionsv1alpha1.Object) (*finding, error) {
	deployments, err := list(ctx, v, &machinev1alpha1.MachineDeploymentList{})
	if err != nil {
		return nil, err
	}
	found := &finding{condition: gardencorev1beta1.ShootEveryNodeReady}
	for _, d := range deployments.Items {
		if d.Namespace == o.GetNamespace() && d.Status.AvailableReplicas < d.Spec.Replicas {
			found.problem = fmt.Sprintf("MachineDeployment %q has %d of %d machines available.", d.Name,
				d.Status.AvailableReplicas, d.Spec.Replicas)
			break
		}
	}
	return found, nil
}

// controlPlaneHealthy looks at objects that there is no right to watch. It reads those of a healthy shoot only when all
// kinds are read.
func (h *health) controlPlaneHealthy(ctx context.Context, v view, o extensionsv1alpha1.Object) (*finding, error) {
	if v.watched && slices.ContainsFunc(o.GetExtensionStatus().GetConditions(), healthyControlPlane) {
		return nil, nil
	}
	found := &finding{condition: gardencorev1beta1.ShootControlPlaneHealthy}
	configMap := &corev1.ConfigMap{}
	err := h.Seed.Get(ctx, client.ObjectKey{Namespace: o.GetNamespace(), Name: managed.CloudConfigMap}, configMap)
	if apierrors.IsNotFound(err) {
		found.problem = fmt.Sprintf("%T %q is missing.", configMap, managed.CloudConfigMap)
		return found, nil
	}
	secrets := &metav1.PartialObjectMetadataList{}
	secrets.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	if err := errors.Join(err, h.Seed.List(ctx, secrets, client.InNamespace(o.GetNamespace()))); err != nil {
		return nil, fmt.Errorf("look for the objects of ControlPlane %q: %w", client.ObjectKeyFromObject(o), err)
	}
	for _, name := range []string{managed.ControlPlaneCA, managed.ControlPlaneServer} {
		if !slices.ContainsFunc(secrets.Items, func(s metav1.PartialObjectMetadata) bool { return s.Name == name }) {
			found.problem = fmt.Sprintf("%T %q is missing.", &corev1.Secret{}, name)
			break
		}
	}
	return found, nil
}

func healthyControlPlane(c gardencorev1beta1.Condition) bool {
	return c.Type == gardencorev1beta1.ShootControlPlaneHealthy && c.Status == gardencorev1beta1.ConditionTrue
}

// managedHealthy looks at what the resource manager says of an object's ManagedResource.
func managedHealthy(name func(extensionsv1alpha1.Object) string) func(context.Context, view,
	extensionsv1alpha1.Object) (*finding, error) {
	return func(ctx context.Context, v view, o extensionsv1alpha1.Object) (*finding, error) {
		all, err := list(ctx, v, &resourcesv1alpha1.ManagedResourceList{})
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(all.Items, func(m resourcesv1alpha1.ManagedResource) bool {
			return m.Namespace == o.GetNamespace() && m.Name == name(o)
		})
		if i < 0 || len(all.Items[i].Status.Conditions) == 0 {
			return nil, nil
		}
		found := &finding{condition: gardencorev1beta1.ShootSystemComponentsHealthy}
		for _, condition := range all.Items[i].Status.Conditions {
			wanted := condition.Type == resourcesv1alpha1.ResourcesApplied ||
				condition.Type == resourcesv1alpha1.ResourcesHealthy
			if wanted && condition.Status != gardencorev1beta1.ConditionTrue {
				found.problem = fmt.Sprintf("ManagedResource %q: %s is %s: %s", name(o), condition.Type, condition.Status,
					condition.Message)
			}
		}
		return found, nil
	}
}
