package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/transplant-sim/transplant/api/cloud"
	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
)

const finalizer = "extensions.gardener.cloud/contract"

// Types of operations.
const (
	create    = gardencorev1beta1.LastOperationTypeCreate
	reconcile = gardencorev1beta1.LastOperationTypeReconcile
	migrate   = gardencorev1beta1.LastOperationTypeMigrate
	restore   = gardencorev1beta1.LastOperationTypeRestore
)

// reconciler makes a network in the cloud, which only its state knows, and has a Secret and a ManagedResource on the
// seed.
type reconciler struct {
	client.Client
	cloud *cloud.Client
	seed  string
	made  sync.Map // networks of objects, which only the bug a11 looks at when an object is gone
	tried sync.Map // namespaces whose credentials were tried in a reconcile, which only the bug b11 knows
}

// work is one object in work.
type work struct {
	*reconciler
	obj *extensionsv1alpha1.Extension
	bug string
	// erred says that the last operation ended with an error.
	erred bool
}

// state is what the state has.
type state struct {
	Network string `json:"network"`
	Extra   string `json:"extra,omitempty"`
}

// Reconcile does what the object is due for (docs/specification/extensions.md#spec-3-2).
func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	obj := &extensionsv1alpha1.Extension{}
	if err := r.Get(ctx, request.NamespacedName, obj); err != nil {
		if network, known := r.made.LoadAndDelete(request.NamespacedName); apierrors.IsNotFound(err) && known {
			ctx = cloud.WithScope(ctx, cloud.Scope{Shoot: request.Namespace})
			return ctrl.Result{}, r.cloud.Networks().Delete(ctx, network.(string))
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	bug, ours := bugOf(obj)
	if !ours {
		return ctrl.Result{}, nil
	}
	w := &work{r, obj, bug, obj.Status.LastError != nil}
	if failed, err := w.shootHasFailed(ctx); failed || err != nil {
		return ctrl.Result{RequeueAfter: time.Second}, err
	}
	ctx, err := w.scoped(ctx)
	if err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, w.serve(ctx)
}

func (w *work) serve(ctx context.Context) error {
	asked, last := w.obj.Annotations[constants.GardenerOperation], w.obj.Status.LastOperation
	succeeded := last != nil && last.State == gardencorev1beta1.LastOperationStateSucceeded
	migrated := succeeded && last.Type == migrate
	switch {
	case asked == constants.GardenerOperationWaitForState:
		if w.bug == "a1" {
			return w.patch(ctx, func() { controllerutil.AddFinalizer(w.obj, finalizer) })
		}
		return nil
	case asked == constants.GardenerOperationMigrate && (w.bug != "a9" || w.obj.DeletionTimestamp == nil):
		if w.bug == "a14" && migrated || w.bug == "b13" || w.bug == "b12" && last == nil {
			return nil
		}
		return w.release(ctx, migrated)
	case migrated && asked != constants.GardenerOperationRestore:
		return w.afterMigrate(ctx, asked)
	case w.obj.DeletionTimestamp != nil:
		return w.remove(ctx)
	case asked == constants.GardenerOperationRestore:
		if w.bug == "a12" && migrated {
			return nil
		}
		return w.ensure(ctx, restore)
	case last == nil:
		return w.ensure(ctx, create)
	case !succeeded && last.Type != reconcile:
		return w.ensure(ctx, last.Type)
	case asked == constants.GardenerOperationReconcile || !succeeded:
		w.tried.Store(w.obj.Namespace, true)
		return w.ensure(ctx, reconcile)
	case w.bug == "a3" && len(w.obj.Status.Conditions) > 0:
		return w.status(ctx, reconcile, gardencorev1beta1.LastOperationStateSucceeded)
	}
	return nil
}

// afterMigrate has nothing to do.
func (w *work) afterMigrate(ctx context.Context, asked string) error {
	if asked != constants.GardenerOperationReconcile {
		return nil
	}
	if w.bug == "e3" {
		return w.cloud.Networks().Delete(ctx, w.state().Network)
	}
	if w.bug == "a10" {
		return w.status(ctx, reconcile, gardencorev1beta1.LastOperationStateSucceeded)
	}
	return w.answer(ctx)
}

func (w *work) ensure(ctx context.Context, operation gardencorev1beta1.LastOperationType) error {
	restores, again := operation == restore, w.lastType() == restore
	if w.bug == "g4" {
		if err := w.checkSeed(ctx); err != nil {
			return err
		}
	}
	if !restores && w.bug != "a4" || restores && w.bug == "a5" {
		if err := w.answer(ctx); err != nil {
			return err
		}
	}
	if restores && w.bug == "d2" {
		if _, err := w.network(ctx, "1"); err != nil {
			return err
		}
	}
	if restores && w.bug == "g3" {
		return errors.New("the garden does not answer") // there is none
	}
	if restores && w.bug == "c5" && w.obj.Status.ProviderStatus == nil {
		return errors.New("there is no providerStatus")
	}
	if err := w.patch(ctx, func() { controllerutil.AddFinalizer(w.obj, finalizer) }); err != nil {
		return err
	}
	shown := operation
	if restores && w.bug == "a7" || restores && w.bug == "d13" {
		shown = reconcile
	}
	if err := w.status(ctx, shown, gardencorev1beta1.LastOperationStateProcessing); err != nil {
		return err
	}
	if err := w.make(ctx, operation, again); err != nil {
		return errors.Join(err, w.fail(ctx, shown, err))
	}
	if w.bug != "d13" {
		shown = operation
	}
	if err := w.status(ctx, shown, gardencorev1beta1.LastOperationStateSucceeded); err != nil {
		return err
	}
	return w.answer(ctx)
}

// make what the object stands for.
func (w *work) make(ctx context.Context, operation gardencorev1beta1.LastOperationType, again bool) error {
	has, restores := w.state(), operation == restore
	if err := w.find(ctx, &has, operation); err != nil {
		return err
	}
	var err error
	if restores && w.bug == "d1" || operation == reconcile && again && w.bug == "d10" {
		if _, err = w.network(ctx, "2"); err != nil {
			return err
		}
	}
	switch {
	case w.bug == "c1" && operation == reconcile:
		has.Extra = "complete"
	case w.bug == "c2" && !restores:
		has.Extra += "x"
	case w.bug == "a2" && restores:
		has.Extra = "restored"
	case w.bug == "c3" && has.Extra == "":
		has.Extra = "made on " + w.seed
	}
	if err := w.keep(ctx, has, w.bug == "d3" && restores); err != nil {
		return err
	}
	objects := []client.Object{w.secret("contract"), w.managed()}
	if w.bug == "b4seed" {
		objects = append(objects, w.managedOfSeed())
	}
	if restores && again && w.bug == "d9" {
		objects = append(objects, w.secret("again"))
	}
	for _, object := range objects {
		if err := w.Create(ctx, object); client.IgnoreAlreadyExists(err) != nil {
			return fmt.Errorf("create %T %q: %w", object, object.GetName(), err)
		}
	}
	return nil
}

// find the network that the state names, or make one.
func (w *work) find(ctx context.Context, has *state, operation gardencorev1beta1.LastOperationType) error {
	if w.bug == "c1" && operation == restore && has.Extra == "" && w.obj.Status.ProviderStatus == nil {
		return errors.New("the state is not complete")
	}
	if w.bug == "f1" && operation == create && w.erred {
		if _, err := w.network(ctx, "5"); err != nil { // the shoot is the other seed's by now
			return fmt.Errorf("try the cloud: %w", err)
		}
	}
	if has.Network != "" {
		if _, err := w.cloud.Networks().Get(ctx, has.Network); err != nil && !cloud.IsNotFound(err) {
			return fmt.Errorf("read the network: %w", err)
		}
		return nil
	}
	number := "1"
	if w.bug == "d4" && operation == restore {
		number = "3"
	} else if found, err := w.cloud.Networks().List(ctx, cloud.Filter{Tags: w.tags()}); err != nil {
		return fmt.Errorf("look for the network: %w", err)
	} else if len(found) > 0 {
		has.Network = found[0].ID
		return nil
	}
	made, err := w.network(ctx, number)
	if w.bug == "a11" && err == nil {
		w.made.Store(client.ObjectKeyFromObject(w.obj), made)
	}
	has.Network = made
	return err
}

// release what is on this seed, write success, and give the object up.
func (w *work) release(ctx context.Context, again bool) error {
	if w.bug == "b17" && w.lastType() == migrate && !again {
		return w.giveUp(ctx) // it takes what has begun for done
	}
	if !again {
		if err := w.status(ctx, migrate, gardencorev1beta1.LastOperationStateProcessing); err != nil {
			return err
		}
	}
	if w.bug == "b10" {
		if err := w.askShoot(ctx); err != nil {
			return err
		}
	}
	if w.triesCloud() {
		if _, err := w.cloud.Networks().Get(ctx, w.state().Network); err != nil {
			return fmt.Errorf("read the network: %w", err)
		}
	}
	if w.bug == "b1" {
		if _, err := w.network(ctx, "2"); err != nil {
			return err
		}
	}
	if err := w.discard(ctx, w.bug != "b3"); err != nil {
		return err
	}
	if w.bug == "b5" {
		if err := client.IgnoreNotFound(w.Delete(ctx, w.secret("ca-contract-kit"))); err != nil {
			return fmt.Errorf("delete the authority: %w", err)
		}
	}
	if w.bug == "b9" {
		if err := w.patchStatus(ctx, func() { w.obj.Status.State = nil }); err != nil {
			return err
		}
	}
	if w.bug == "b7" {
		if err := w.patch(ctx, func() { controllerutil.RemoveFinalizer(w.obj, finalizer) }); err != nil {
			return err
		}
	}
	return w.giveUp(ctx)
}

// triesCloud says whether a migrate reads the network: that of the bug b11 does if no reconcile has tried the
// credentials since the object was created.
func (w *work) triesCloud() bool {
	_, tried := w.tried.Load(w.obj.Namespace)
	return w.state().Network != "" && (w.bug == "b11reads" || w.bug == "b11" && !tried)
}

func (w *work) giveUp(ctx context.Context) error {
	if last := w.obj.Status.LastOperation; last == nil || last.Type != migrate ||
		last.State != gardencorev1beta1.LastOperationStateSucceeded {
		if err := w.status(ctx, migrate, gardencorev1beta1.LastOperationStateSucceeded); err != nil {
			return err
		}
	}
	if w.bug != "b6" {
		if err := w.patch(ctx, func() { controllerutil.RemoveFinalizer(w.obj, finalizer) }); err != nil {
			return err
		}
	}
	if err := w.answer(ctx); err != nil {
		return err
	}
	if w.bug == "b8" {
		clock.RealClock{}.Sleep(1100 * time.Millisecond) // times of the API have whole seconds
		return w.status(ctx, migrate, gardencorev1beta1.LastOperationStateSucceeded)
	}
	return nil
}

// remove what the object stands for.
func (w *work) remove(ctx context.Context) error {
	if !controllerutil.ContainsFinalizer(w.obj, finalizer) {
		return nil
	}
	if err := w.discard(ctx, false); err != nil {
		return err
	}
	forgets := w.bug == "e1" || w.bug == "e2" && w.obj.Status.LastError != nil
	if has := w.state(); has.Network != "" && !forgets {
		if err := w.cloud.Networks().Delete(ctx, has.Network); err != nil && !cloud.IsNotFound(err) {
			return fmt.Errorf("delete the network: %w", err)
		}
	}
	return w.patch(ctx, func() { controllerutil.RemoveFinalizer(w.obj, finalizer) })
}

// discard what is on the seed.
func (w *work) discard(ctx context.Context, keepObjects bool) error {
	if keepObjects {
		patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"keepObjects":true}}`))
		if err := client.IgnoreNotFound(w.Patch(ctx, w.managed(), patch)); err != nil {
			return fmt.Errorf("keep the objects: %w", err)
		}
	}
	objects := []client.Object{w.managed(), w.secret("contract")}
	if w.bug == "b4" {
		objects = objects[:1]
	}
	for _, object := range objects {
		if err := client.IgnoreNotFound(w.Delete(ctx, object)); err != nil {
			return fmt.Errorf("delete %T %q: %w", object, object.GetName(), err)
		}
	}
	return nil
}
