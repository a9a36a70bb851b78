package maintenance

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
	"github.com/transplant-sim/transplant/controllers/maintenance/overlay"
	"github.com/transplant-sim/transplant/controllers/maintenance/window"
	"github.com/transplant-sim/transplant/controllers/patch"
	"github.com/transplant-sim/transplant/controllers/placement"
)

// Reasons of events (docs/specification/versions.md#spec-4-6).
const (
	reasonKubernetes = "KubernetesVersionMaintenance"
	reasonImage      = "MachineImageVersionMaintenance"
	reasonFailed     = "MaintenanceFailed"
)

// Reconciler maintains shoots, once in each occurrence of their time window and whenever the annotation
// gardener.cloud/operation asks for it (docs/specification/versions.md#spec-4-6). What is done is Decide's to say.
type Reconciler struct {
	// Garden is an uncached client.
	Garden client.Client
	Clock  clock.PassiveClock
	Events scope.Events
	Config Config
	// Metrics may be nil.
	Metrics *Metrics
}

// Reconcile maintains one shoot if it is time, and says when it is next.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	wire := &unstructured.Unstructured{}
	wire.SetGroupVersionKind(gardencorev1beta1.SchemeGroupVersion.WithKind("Shoot"))
	if err := r.Garden.Get(ctx, request.NamespacedName, wire); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	shoot, err := typed(wire)
	if err != nil || shoot.DeletionTimestamp != nil || shoot.Annotations[constants.ShootIgnore] == constants.LabelTrue {
		return reconcile.Result{}, err
	}
	now := r.Clock.Now()
	if at := appointment(shoot, now); at.After(now) && !AskedFor(shoot) {
		return reconcile.Result{RequeueAfter: at.Sub(now)}, r.settleInterrupted(ctx, shoot, now)
	}
	profile, err := r.profile(ctx, shoot)
	if err != nil {
		return reconcile.Result{}, err
	}
	if err := (&run{Reconciler: r, wire: wire, before: shoot, last: shoot.Status.LastMaintenance, now: now}).maintain(ctx,
		profile); err != nil {
		return reconcile.Result{}, err
	}
	mark(shoot, now)
	return reconcile.Result{RequeueAfter: appointment(shoot, now).Sub(now)}, nil
}

func (r *Reconciler) profile(ctx context.Context, shoot *gardencorev1beta1.Shoot) (*gardencorev1beta1.CloudProfile,
	error) {
	name, path, unknown := placement.ProfileOf(shoot)
	if unknown != nil {
		return nil, reconcile.TerminalError(unknown)
	}
	if name == "" {
		return nil, reconcile.TerminalError(fmt.Errorf("maintain the shoot: %s names no CloudProfile", path))
	}
	profile := &gardencorev1beta1.CloudProfile{}
	if err := r.Garden.Get(ctx, client.ObjectKey{Name: name}, profile); err != nil {
		return nil, fmt.Errorf("read CloudProfile %q: %w", name, err)
	}
	profile.SetDefaults() // it may have been stored before admission filled them in
	return profile, nil
}

// run is one maintenance of one shoot.
type run struct {
	*Reconciler
	// wire is the shoot as it was read, before the same as our types have it, last its lastMaintenance at present.
	wire   *unstructured.Unstructured
	before *gardencorev1beta1.Shoot
	last   *gardencorev1beta1.LastMaintenance
	now    time.Time
}

// maintain asks the API server about the plan, writes that it is being carried out, then the plan, then that it was. A
// crash between any two leaves a maintenance that is done again, or is reported as under way until somebody looks.
func (m *run) maintain(ctx context.Context, profile *gardencorev1beta1.CloudProfile) error {
	plan := Decide(m.before, profile, m.now, m.Config)
	source, err := m.source(ctx, &plan)
	if err != nil {
		return err
	}
	mark(plan.Shoot, m.now)
	refusal, err := m.ask(ctx, plan.Shoot)
	if err != nil {
		return err
	}
	if refusal != "" {
		some := false
		if plan, some, err = salvage(ctx, m.before, plan, m.ask); err != nil {
			return err
		}
		if !some {
			return m.giveUp(ctx, refusal)
		}
	}
	if err := m.bind(ctx, &plan, source); err != nil {
		return err
	}
	last := outcome(plan, m.before.Status.LastMaintenance, m.now)
	if err := m.announce(ctx, last); err != nil {
		return err
	}
	if err := m.write(ctx, plan.Shoot); err != nil {
		if !apierrors.IsConflict(err) {
			m.Events.Event(m.before, corev1.EventTypeWarning, reasonFailed, err.Error())
		}
		return err
	}
	m.Metrics.carriedOut(plan)
	log.FromContext(ctx).Info("Maintained the shoot", "operation", plan.Operation, "lastMaintenance", last)
	m.recordEvents(plan)
	return m.report(ctx, last)
}

// ask is why the API server would refuse the shoot; "" if it would not.
func (m *run) ask(ctx context.Context, shoot *gardencorev1beta1.Shoot) (string, error) {
	err := m.write(ctx, shoot, client.DryRunAll)
	status := apierrors.APIStatus(nil)
	if (apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err)) && errors.As(err, &status) {
		return status.Status().Message, nil
	}
	return "", err
}

// write patches annotations and specification, unless somebody has changed the shoot since it was read.
func (m *run) write(ctx context.Context, shoot *gardencorev1beta1.Shoot, options ...client.PatchOption) error {
	after, err := overlay.Apply(m.wire, m.before, shoot)
	if err != nil {
		return err
	}
	if err := m.Garden.Patch(ctx, after, patch.AsRead(m.wire), options...); err != nil {
		return fmt.Errorf("maintain shoot %q: %w", client.ObjectKeyFromObject(shoot), err)
	}
	return nil
}

// typed is a Shoot as our types have it.
func typed(wire *unstructured.Unstructured) (*gardencorev1beta1.Shoot, error) {
	shoot := &gardencorev1beta1.Shoot{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(wire.Object, shoot); err != nil {
		return nil, fmt.Errorf("decode the shoot %s/%s: %w", wire.GetNamespace(), wire.GetName(), err)
	}
	return shoot, nil
}

// appointment is when the shoot's next maintenance is, not later than now if it is due. Each occurrence of the window
// has one (docs/specification/versions.md#spec-4-6).
func appointment(shoot *gardencorev1beta1.Shoot, now time.Time) time.Time {
	w := window.EffectiveOf(shoot)
	if in, yes := w.Current(now); yes && shoot.Annotations[constants.MaintainedWindow] != in.Key() {
		return in.Moment(shoot)
	}
	return w.Following(now).Moment(shoot)
}

// mark notes on the shoot that it is maintained in the occurrence of its window that now is in. It is written together
// with what the maintenance changes, so that there is never the one without the other.
func mark(shoot *gardencorev1beta1.Shoot, now time.Time) {
	if in, yes := window.EffectiveOf(shoot).Current(now); yes {
		metav1.SetMetaDataAnnotation(&shoot.ObjectMeta, constants.MaintainedWindow, in.Key())
	}
}
