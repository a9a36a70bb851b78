package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
)

// actuator is what a class does for the objects of one kind. After a crash it is called again, and has to end where an
// undisturbed run would have ended.
type actuator[T extensionsv1alpha1.Object] interface {
	// reconcile also restores: the state that the gardenlet has brought is in the status then.
	reconcile(ctx context.Context, obj T) error
	// migrate gives up what is on this seed, and changes nothing in the shoot and the cloud.
	migrate(ctx context.Context, obj T) error
	// remove ends what reconcile has made.
	remove(ctx context.Context, obj T) error
}

// reconciler serves the requests for one kind, in the order in which Gardener's library for extensions does
// (docs/specification/extensions.md#spec-3-4).
type reconciler[T extensionsv1alpha1.Object] struct {
	*program
	actuator[T]
	kind   extensionsv1alpha1.Kind
	ofType string
}

// operationTimeout bounds one call of an actuator.
const operationTimeout = 3 * time.Minute

// serve lets the program reconcile the objects of a kind and type.
func serve[T extensionsv1alpha1.Object](p *program, kind, ofType string, a actuator[T]) error {
	known, found := extensionsv1alpha1.KindByName(kind)
	if !found {
		return fmt.Errorf("no kind of extensions is called %s", kind)
	}
	if kind == extensionsv1alpha1.ExtensionResource {
		known.Finalizer += ofType
	}
	r := &reconciler[T]{program: p, actuator: a, kind: known, ofType: ofType}
	if of, reports := a.(deploys[T]); reports {
		report := manager.RunnableFunc(func(ctx context.Context) error { return r.report(ctx, of) })
		if err := p.manager.Add(report); err != nil {
			return fmt.Errorf("add the health check of %s: %w", kind, err)
		}
	}
	return ctrl.NewControllerManagedBy(p.manager).For(known.New(), builder.WithPredicates(asks())).
		WithOptions(controller.Options{MaxConcurrentReconciles: 5}).Complete(r)
}

// asks says whether a change of an object may ask for something: of its annotations, or of its spec or deletion, which
// have a new generation. Its status is written here. If that counted, each error would wake its object at once: errors
// of a cloud name their request, so no two are the same.
func asks() predicate.Predicate {
	return predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{})
}

// Reconcile does what the object is due for.
func (r *reconciler[T]) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	obj := r.kind.New().(T)
	if err := r.Get(ctx, request.NamespacedName, obj); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if obj.GetExtensionSpec().GetExtensionType() != r.ofType || !r.isDue(obj) {
		return ctrl.Result{}, nil
	}
	if shoot, err := shootOf(ctx, r.Client, obj.GetNamespace()); err == nil && shoot.Status.LastOperation != nil &&
		shoot.Status.LastOperation.State == gardencorev1beta1.LastOperationStateFailed {
		return ctrl.Result{RequeueAfter: time.Second}, nil // its owner has to act first
	}
	ctx, cancel := context.WithTimeout(ctx, operationTimeout)
	defer cancel()
	operation := operationOf(obj)
	err := r.act(ctx, obj, operation)
	if failed := (*actionError)(nil); errors.As(err, &failed) {
		err = errors.Join(err, r.status(ctx, obj, operation, gardencorev1beta1.LastOperationStateError, failed.cause))
	}
	return ctrl.Result{}, err
}

// isDue says whether an object asks for anything. A changed spec or status asks for nothing.
func (r *reconciler[T]) isDue(obj T) bool {
	asked, last := obj.GetAnnotations()[constants.GardenerOperation], obj.GetExtensionStatus().GetLastOperation()
	if asked == constants.GardenerOperationWaitForState {
		return false
	}
	if migrated(obj) && asked != constants.GardenerOperationMigrate && asked != constants.GardenerOperationRestore {
		return r.planted == reconcilesAfterMigrate && obj.GetDeletionTimestamp() == nil // else it is another seed's
	}
	requests := []string{constants.GardenerOperationReconcile, constants.GardenerOperationMigrate,
		constants.GardenerOperationRestore}
	return slices.Contains(requests, asked) || obj.GetDeletionTimestamp() != nil || last == nil ||
		last.State != gardencorev1beta1.LastOperationStateSucceeded
}

func migrated(obj extensionsv1alpha1.Object) bool {
	last := obj.GetExtensionStatus().GetLastOperation()
	return last != nil && last.Type == gardencorev1beta1.LastOperationTypeMigrate &&
		last.State == gardencorev1beta1.LastOperationStateSucceeded
}

// operationOf says what an object that is due for something is due for. A migration wins over a deletion.
func operationOf(obj extensionsv1alpha1.Object) gardencorev1beta1.LastOperationType {
	asked, last := obj.GetAnnotations()[constants.GardenerOperation], obj.GetExtensionStatus().GetLastOperation()
	switch {
	case asked == constants.GardenerOperationMigrate:
		return gardencorev1beta1.LastOperationTypeMigrate
	case obj.GetDeletionTimestamp() != nil:
		return gardencorev1beta1.LastOperationTypeDelete
	case asked == constants.GardenerOperationRestore:
		return gardencorev1beta1.LastOperationTypeRestore
	case last == nil:
		return gardencorev1beta1.LastOperationTypeCreate
	case last.State != gardencorev1beta1.LastOperationStateSucceeded && last.Type != "":
		return last.Type
	}
	return gardencorev1beta1.LastOperationTypeReconcile
}

// actionError is what an actuator has met. It is written to the status.
type actionError struct{ cause error }

func (e *actionError) Error() string { return e.cause.Error() }

func (r *reconciler[T]) act(ctx context.Context, obj T, operation gardencorev1beta1.LastOperationType) error {
	asked := obj.GetAnnotations()[constants.GardenerOperation]
	switch operation {
	case gardencorev1beta1.LastOperationTypeMigrate:
		return r.release(ctx, obj, asked)
	case gardencorev1beta1.LastOperationTypeDelete:
		return r.delete(ctx, obj)
	}
	restores := operation == gardencorev1beta1.LastOperationTypeRestore
	if !restores {
		if err := r.answer(ctx, obj, asked); err != nil {
			return err
		}
	}
	if err := r.patch(ctx, obj, func() { controllerutil.AddFinalizer(obj, r.kind.Finalizer) }); err != nil {
		return fmt.Errorf("add the finalizer: %w", err)
	}
	forgets := r.planted == forgetsState ||
		r.planted == forgetsNetwork && r.kind.Name == extensionsv1alpha1.InfrastructureResource ||
		r.planted == forgetsMachines && r.kind.Name == extensionsv1alpha1.WorkerResource
	reconcile := r.actuator.reconcile
	if restores && forgets {
		reconcile = func(ctx context.Context, obj T) error {
			obj.GetExtensionStatus().SetState(nil)
			return r.actuator.reconcile(ctx, obj)
		}
	}
	if err := r.run(ctx, obj, operation, reconcile); err != nil {
		return err
	}
	// An Infrastructure answers before its success is written, all others after it.
	if restores && r.kind.Name == extensionsv1alpha1.InfrastructureResource {
		if err := r.answer(ctx, obj, asked); err != nil {
			return err
		}
	}
	if err := r.succeeded(ctx, obj, operation); err != nil {
		return err
	}
	return r.answer(ctx, obj, asked)
}

// release writes success, then gives the object up, then answers the request.
func (r *reconciler[T]) release(ctx context.Context, obj T, asked string) error {
	const operation = gardencorev1beta1.LastOperationTypeMigrate
	if r.planted == finalizerFirst && len(obj.GetFinalizers()) == 0 {
		return nil // it was given up already
	}
	if err := r.run(ctx, obj, operation, r.migrate); err != nil {
		return err
	}
	giveUp := func() error {
		if err := r.patch(ctx, obj, func() { obj.SetFinalizers(nil) }); err != nil {
			return fmt.Errorf("give the object up: %w", err)
		}
		return r.answer(ctx, obj, asked)
	}
	if r.planted == finalizerFirst {
		if err := giveUp(); err != nil {
			return err
		}
		return r.succeeded(ctx, obj, operation)
	}
	if err := r.succeeded(ctx, obj, operation); err != nil {
		return err
	}
	return giveUp()
}

func (r *reconciler[T]) delete(ctx context.Context, obj T) error {
	if !controllerutil.ContainsFinalizer(obj, r.kind.Finalizer) {
		return nil
	}
	if err := r.run(ctx, obj, gardencorev1beta1.LastOperationTypeDelete, r.remove); err != nil {
		return err
	}
	return r.patch(ctx, obj, func() { controllerutil.RemoveFinalizer(obj, r.kind.Finalizer) })
}

// run says what is being done, and does it.
func (r *reconciler[T]) run(ctx context.Context, obj T, operation gardencorev1beta1.LastOperationType,
	do func(context.Context, T) error) error {
	if err := r.status(ctx, obj, operation, gardencorev1beta1.LastOperationStateProcessing, nil); err != nil {
		return err
	}
	if err := do(ctx, obj); err != nil {
		return &actionError{err}
	}
	return nil
}

func (r *reconciler[T]) succeeded(ctx context.Context, obj T, operation gardencorev1beta1.LastOperationType) error {
	return r.status(ctx, obj, operation, gardencorev1beta1.LastOperationStateSucceeded, nil)
}

// status writes how far an operation has come.
func (r *reconciler[T]) status(ctx context.Context, obj T, operation gardencorev1beta1.LastOperationType,
	state gardencorev1beta1.LastOperationState, cause error) error {
	description := fmt.Sprintf("%s %s by %s", operation, state, r.class)
	if cause != nil {
		description += ": " + cause.Error()
	}
	progress := map[gardencorev1beta1.LastOperationState]int32{gardencorev1beta1.LastOperationStateProcessing: 1,
		gardencorev1beta1.LastOperationStateError: 50, gardencorev1beta1.LastOperationStateSucceeded: 100}
	return patchStatus(context.WithoutCancel(ctx), r.Client, obj, func() {
		status := obj.GetExtensionStatus()
		status.SetLastOperation(&gardencorev1beta1.LastOperation{Type: operation, State: state,
			Progress: progress[state], Description: description, LastUpdateTime: metav1.Now()})
		if state == gardencorev1beta1.LastOperationStateProcessing {
			return
		}
		status.SetObservedGeneration(obj.GetGeneration())
		status.SetLastError(nil)
		if cause != nil {
			status.SetLastError(&gardencorev1beta1.LastError{Description: description})
		}
	})
}

// answer takes the request off that was served, and not another one that came since.
func (r *reconciler[T]) answer(ctx context.Context, obj T, served string) error {
	if obj.GetAnnotations()[constants.GardenerOperation] != served {
		return nil
	}
	if err := r.patch(ctx, obj, func() {
		annotations := obj.GetAnnotations()
		delete(annotations, constants.GardenerOperation)
		obj.SetAnnotations(annotations)
	}); err != nil {
		return fmt.Errorf("take the request off: %w", err)
	}
	return nil
}

// patch writes what a change of the metadata differs in, so that fields which our types lack stay. Whoever has changed
// the object meanwhile, such as by another request, makes it fail with a conflict. The object may be gone.
func (r *reconciler[T]) patch(ctx context.Context, obj T, change func()) error {
	before := obj.DeepCopyObject().(T)
	change()
	if equality.Semantic.DeepEqual(before, obj) {
		return nil
	}
	return client.IgnoreNotFound(r.Patch(ctx, obj,
		client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})))
}

func patchStatus(ctx context.Context, c client.Client, obj client.Object, change func(),
	options ...client.MergeFromOption) error {
	before := obj.DeepCopyObject().(client.Object)
	change()
	if err := c.Status().Patch(ctx, obj, client.MergeFromWithOptions(before, options...)); err != nil {
		return fmt.Errorf("write the status: %w", err)
	}
	return nil
}

// keep writes a document of ours to the state of an object. It must be written before anything is made that only the
// state knows.
func keep(ctx context.Context, c client.Client, obj extensionsv1alpha1.Object, document any,
	options ...client.MergeFromOption) error {
	content, err := json.Marshal(document)
	if err != nil {
		return fmt.Errorf("write the state: %w", err)
	}
	return patchStatus(ctx, c, obj.(client.Object), func() {
		obj.GetExtensionStatus().SetState(&runtime.RawExtension{Raw: content})
	}, options...)
}

// read a document of ours; there may be none.
func read(raw *runtime.RawExtension, into any) error {
	if raw == nil || len(raw.Raw) == 0 {
		return nil
	}
	if err := json.Unmarshal(raw.Raw, into); err != nil {
		return fmt.Errorf("read %T: %w", into, err)
	}
	return nil
}
