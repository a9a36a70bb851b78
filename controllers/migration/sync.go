package migration

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/controlplane"
	"github.com/transplant-sim/transplant/controllers/controlplane/lifecycle"
	"github.com/transplant-sim/transplant/controllers/controlplane/namespace"
	"github.com/transplant-sim/transplant/controllers/controlplane/run"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
	"github.com/transplant-sim/transplant/controllers/controlplane/shootstate"
)

// StateSync keeps the ShootState of every shoot on this seed in step with what is in the seed, so that the state is
// at hand when the seed is not (docs/specification/migration.md#spec-2-8 as in docs/specification/README.md#s0). It is
// woken by every change of the objects that hold state.
type StateSync struct {
	Factory *controlplane.Factory
	// AtWork are the flows of this gardenlet; nil for none.
	AtWork *run.AtWork
	// Period is how often the state is looked at when no watch has reported a change.
	Period time.Duration
}

// workRetry is when to look again at a shoot that a flow creates, moves or deletes. The end of the flow wakes earlier.
const workRetry = time.Second

// Reconcile saves the state of one shoot.
//
// It replaces what is saved, so it must never run where the control plane is not: on a destination before it has
// restored (docs/specification/quirks.md#quirk-s4), on a source after it has begun to release the shoot. Then the flows
// save the state themselves, by merging. Such a flow changes objects all the time: while one of this gardenlet works,
// the garden is not asked.
func (r *StateSync) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	flow, works := r.AtWork.On(request.NamespacedName)
	if works && flow != gardencorev1beta1.LastOperationTypeReconcile {
		return reconcile.Result{RequeueAfter: workRetry}, nil
	}
	shoot, err := r.ownedShoot(ctx, request.NamespacedName)
	if err == nil {
		err = r.Factory.States.Save(ctx, request.NamespacedName, func(ctx context.Context) (*shootstate.State, error) {
			return r.collect(ctx, shoot)
		})
	}
	if errors.Is(err, errNotOwned) {
		return reconcile.Result{}, nil
	}
	if err != nil {
		return reconcile.Result{}, err // who was overtaken by another collects anew
	}
	return reconcile.Result{RequeueAfter: r.Period}, nil
}

// errNotOwned says that the state is not this seed's to replace, or not any more.
var errNotOwned = errors.New("the seed does not hold the shoot")

// ownedShoot is the shoot, read anew and uncached. If the seed does not hold it, the error is errNotOwned.
func (r *StateSync) ownedShoot(ctx context.Context, key client.ObjectKey) (*gardencorev1beta1.Shoot, error) {
	shoot := &gardencorev1beta1.Shoot{}
	if err := r.Factory.Garden.Get(ctx, key, shoot); apierrors.IsNotFound(err) {
		return nil, errNotOwned
	} else if err != nil {
		return nil, fmt.Errorf("read shoot %q: %w", key, err)
	}
	if !holdsState(shoot, r.Factory.SeedName) {
		return nil, errNotOwned
	}
	return shoot, nil
}

// collect reads the state of the shoot. It may have been given away while we did: what is gone by then must not be
// saved as gone.
func (r *StateSync) collect(ctx context.Context, shoot *gardencorev1beta1.Shoot) (*shootstate.State, error) {
	key := client.ObjectKeyFromObject(shoot)
	state, err := shootstate.Collect(ctx, r.Factory.Seed, shoot.Status.TechnicalID, scope.BackupEntryName(shoot))
	if err != nil {
		return nil, fmt.Errorf("collect the state of shoot %q: %w", key, err)
	}
	again, err := r.ownedShoot(ctx, key)
	if err != nil {
		return nil, err
	}
	if again.UID != shoot.UID {
		return nil, errNotOwned
	}
	state.Owner = shoot.UID
	return state, nil
}

// holdsState reports whether the seed holds the whole control plane of the shoot: it was created or restored here, and
// is not on its way elsewhere.
func holdsState(shoot *gardencorev1beta1.Shoot, seed string) bool {
	spec, status, last := shoot.Spec.SeedName, shoot.Status.SeedName, shoot.Status.LastOperation
	if shoot.DeletionTimestamp != nil || spec == nil || status == nil || *spec != seed || *status != seed ||
		last == nil {
		return false
	}
	switch last.Type {
	case gardencorev1beta1.LastOperationTypeReconcile:
		return true
	case gardencorev1beta1.LastOperationTypeCreate, gardencorev1beta1.LastOperationTypeRestore:
		return last.State == gardencorev1beta1.LastOperationStateSucceeded
	}
	return false
}

// isResponsible depends on nothing but the shoot, as it is in a cache: the change that makes the seed responsible wakes
// the sync.
func (r *StateSync) isResponsible(object client.Object) bool {
	shoot, ok := object.(*gardencorev1beta1.Shoot)
	return ok && lifecycle.ResponsibleSeed(shoot.Spec.SeedName, shoot.Status.SeedName) == r.Factory.SeedName
}

// isNews reports whether a change of a shoot is one for its state: an operation begins or ends, which may change the
// epoch, or the shoot comes or goes, also between two lists of a watch that stood still. If the garden went back to a
// backup, what was saved since is lost. The rest of the state is on the seed.
func (r *StateSync) isNews(old, changed client.Object) bool {
	before, was := old.(*gardencorev1beta1.Shoot)
	after, is := changed.(*gardencorev1beta1.Shoot)
	if !was || !is {
		return true
	}
	order, err := resourceversion.CompareResourceVersion(before.ResourceVersion, after.ResourceVersion)
	if err == nil && order > 0 || before.Generation != after.Generation {
		return true
	}
	first, then := ptr.Deref(before.Status.LastOperation, gardencorev1beta1.LastOperation{}),
		ptr.Deref(after.Status.LastOperation, gardencorev1beta1.LastOperation{})
	return first.Type != then.Type || first.State != then.State ||
		holdsState(before, r.Factory.SeedName) != holdsState(after, r.Factory.SeedName)
}

// shootOf is the shoot to look at when an object of the seed has changed, by what caches say; none if they say that it
// is another seed's.
func (r *StateSync) shootOf(ctx context.Context, garden, seed client.Reader, object client.Object) []reconcile.Request {
	home, shoot := &corev1.Namespace{}, &gardencorev1beta1.Shoot{}
	name := object.GetNamespace()
	if name == "" || seed.Get(ctx, client.ObjectKey{Name: name}, home) != nil {
		return nil // the period finds it
	}
	key, found := namespace.ShootOf(home)
	if !found || garden.Get(ctx, key, shoot) == nil && !r.isResponsible(shoot) {
		return nil
	}
	return []reconcile.Request{{NamespacedName: key}}
}
