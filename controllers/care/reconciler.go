package care

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/care/health"
	"github.com/transplant-sim/transplant/controllers/controlplane"
	"github.com/transplant-sim/transplant/controllers/controlplane/objects"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
	"github.com/transplant-sim/transplant/controllers/patch"
)

// Reconciler looks at the shoots of one seed, once a period, and writes what it has found into their status
// (docs/specification/care.md#spec-5-1).
type Reconciler struct {
	Factory *controlplane.Factory
	// Seed may read from caches: what is looked at is looked at again.
	Seed   client.Reader
	Shoots scope.ShootConfigs
	Config health.Config
	// SyncPeriod is the time between two looks at a shoot.
	SyncPeriod time.Duration
	// RemediateWebhooks is whether problematic webhooks are changed (docs/specification/care.md#spec-5-7).
	RemediateWebhooks bool
	// ExtensionNamespace is where in the seed an extension shows its heartbeat
	// (docs/specification/extensions.md#spec-3-9), and ExtensionNamespaces where others do that reconcile a kind of a
	// type, such as "Network/calico".
	ExtensionNamespace  string
	ExtensionNamespaces map[string]string
	// Metrics may be nil.
	Metrics *Metrics

	// beats are the last heartbeats that were read, by namespace.
	beats sync.Map
	// well is what is remembered of shoots, by their names.
	well sync.Map
}

// DefaultSyncPeriod is the time between two rounds (docs/specification/care.md#spec-5-1).
const DefaultSyncPeriod = time.Minute

// lookTimeout bounds one look at a shoot; who has not answered by then is taken for silent.
const lookTimeout = 15 * time.Second

// Reconcile looks at one shoot.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	remembered, _ := r.well.LoadAndDelete(request.NamespacedName)
	o, err := r.Factory.Look(ctx, log.FromContext(ctx), request.NamespacedName)
	if o == nil || err != nil {
		return reconcile.Result{}, err
	}
	if !r.cares(o.Shoot) {
		return reconcile.Result{}, nil
	}
	if awaitsRestore(o.Shoot) {
		_, err := r.write(ctx, o, nil, r.handOver)
		return reconcile.Result{RequeueAfter: r.SyncPeriod}, err
	}
	before, isWell := r.stillWell(o, remembered), false
	look := r.observe(ctx, o, before)
	defer look.close()
	var found []gardencorev1beta1.Condition
	ours, err := r.write(ctx, o, look.read(), func(shoot *gardencorev1beta1.Shoot) {
		seen, now := *look.Observation, o.Clock.Now()
		seen.Shoot = shoot.DeepCopy()
		seen.Shoot.Status.Conditions = health.Begun(shoot.Status.Conditions, now)
		shoot.Status.Conditions = health.Conditions(&seen, r.Config, now)
		shoot.Status.Constraints = health.Constraints(&seen, r.Config, now)
		found, isWell = shoot.Status.Conditions, health.IsWell(shoot)
	})
	if isWell && err == nil {
		r.well.Store(request.NamespacedName, remember(o, look))
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	if !ours {
		return reconcile.Result{RequeueAfter: r.SyncPeriod}, nil
	}
	// What cannot be mended now is looked at in the next round: there is nothing to be gained by more haste.
	if err := r.mend(ctx, o, look); err != nil {
		o.Log.Error(err, "Not everything in the shoot could be mended")
	}
	return reconcile.Result{RequeueAfter: r.next(o.Shoot, found, o.Clock.Now())}, nil
}

// cares reports whether this seed looks after a shoot: it has the control plane, even if another seed is to have it
// next.
func (r *Reconciler) cares(shoot *gardencorev1beta1.Shoot) bool {
	return ptr.Deref(shoot.Status.SeedName, "") == r.Factory.SeedName
}

// awaitsRestore reports whether the shoot was given to this seed, by a migration or after a loss, and its restore has
// not begun: there is nothing to look at.
func awaitsRestore(shoot *gardencorev1beta1.Shoot) bool {
	last := shoot.Status.LastOperation
	return last != nil && last.Type == gardencorev1beta1.LastOperationTypeMigrate &&
		(last.State == gardencorev1beta1.LastOperationStateSucceeded ||
			last.State == gardencorev1beta1.LastOperationStateAborted)
}

// handOver makes care's own conditions Progressing, unless they are False. Conditions of others stay as they are.
func (r *Reconciler) handOver(shoot *gardencorev1beta1.Shoot) {
	now := r.Factory.Clock.Now()
	shoot.Status.Conditions = health.HandOver(shoot.Status.Conditions, now)
}

// write changes the status of a shoot as it is in the garden now, if the shoot is still this seed's and something
// differs; ours reports whether it is. The lock makes sure of both: the lists are replaced as a whole, and a gardenlet
// that stood still in between must not write over what another has found. The first attempt begins with the shoot as it
// was read, unless nil. If nothing differs from that, the garden is not asked: ours is then as true as what was read.
func (r *Reconciler) write(ctx context.Context, o *controlplane.Operation, read *gardencorev1beta1.Shoot,
	change func(*gardencorev1beta1.Shoot)) (ours bool, err error) {
	key := client.ObjectKeyFromObject(o.Shoot)
	err = retry.RetryOnConflict(objects.ConflictBackoff, func() error {
		ours = false
		shoot := read
		read = nil
		if shoot == nil {
			shoot = &gardencorev1beta1.Shoot{}
			if err := o.Garden.Get(ctx, key, shoot); err != nil {
				return client.IgnoreNotFound(err)
			}
		}
		if shoot.UID != o.Shoot.UID || !r.cares(shoot) || awaitsRestore(shoot) != awaitsRestore(o.Shoot) {
			return nil
		}
		ours = true
		before := shoot.Status.DeepCopy()
		err := patch.LockedStatus(ctx, o.Garden, shoot, func() { change(shoot) })
		if err == nil {
			r.Metrics.changed(before, &shoot.Status)
		}
		return client.IgnoreNotFound(err)
	})
	if err != nil {
		return false, fmt.Errorf("write how shoot %q is: %w", key, err)
	}
	return ours, nil
}
