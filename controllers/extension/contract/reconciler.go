package contract

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
)

// failedShootRecheck is how often an object with a request looks whether its failed shoot was given another chance.
// The Cluster wakes it; this is for an event that was missed.
const failedShootRecheck = time.Minute

// conflictBackoff is the pause before an object is looked at again that somebody else was just writing.
const conflictBackoff = 20 * time.Millisecond

var errRequestChanged = errors.New("the request has changed")

// Reconciler serves the requests of one kind (docs/specification/extensions.md#spec-3). Client must read from
// the API server, not from a cache.
type Reconciler[T extensionsv1alpha1.Object] struct {
	Client client.Client
	// Known has what watches have shown: by it the reconciler knows when to look, and asks Client then. Nil is Client.
	Known client.Reader
	Clock clock.PassiveClock
	Kind  Kind[T]
	Type  string
	Class extensionsv1alpha1.ExtensionClass

	waits    waits
	outdated sync.Map // the keys of objects that were not as watches had shown them: the next pass reads them
}

// call is one pass over one object: what is due, as read at its beginning.
type call[T extensionsv1alpha1.Object] struct {
	log        logr.Logger
	obj        T
	cluster    *Cluster
	op         gardencorev1beta1.LastOperationType
	request    Request
	generation int64
	shown      bool // obj is as a watch has shown it
	secret     *corev1.Secret
	rest       func(context.Context, extensionsv1alpha1.Object, *Cluster) error // if the action has waited; may be nil
	found      results
}

// Reconcile does what the object is due for, and nothing if it is due for nothing.
func (r *Reconciler[T]) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	left, waited := r.stillWaits(ctx, req.NamespacedName)
	if left > 0 {
		return reconcile.Result{RequeueAfter: left}, nil
	}
	obj, shown, err := r.object(ctx, req.NamespacedName)
	if err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !responsible(obj, r.Type, r.Class) || !Due(obj) {
		return reconcile.Result{}, nil
	}
	cluster, err := r.cluster(ctx, obj)
	if err != nil {
		return reconcile.Result{}, err
	}
	if cluster.shootFailed() {
		return reconcile.Result{RequeueAfter: failedShootRecheck}, nil
	}
	c := &call[T]{obj: obj, cluster: cluster, op: operationType(obj), request: RequestOf(obj),
		generation: obj.GetGeneration(), shown: shown}
	c.log = log.FromContext(ctx).WithValues("operation", c.op)
	if waited != nil && waited.op == c.op && waited.generation == c.generation && waited.asks(c.request) {
		c.rest = waited.Rest
	}
	return r.outcome(ctx, c, r.dispatch(ctx, c))
}

// object reads the object. One that a watch shows as new, without the finalizer, is taken as shown: the first write is
// that of the finalizer, and its lock proves that the object was so.
func (r *Reconciler[T]) object(ctx context.Context, key client.ObjectKey) (obj T, shown bool, err error) {
	_, outdated := r.outdated.LoadAndDelete(key)
	if obj = r.Kind.empty(); !outdated && r.Kind.Secret == nil && r.Known != nil && r.Known.Get(ctx, key, obj) == nil &&
		obj.GetDeletionTimestamp() == nil && !controllerutil.ContainsFinalizer(obj, r.Kind.Finalizer) &&
		RequestOf(obj).Operation != constants.GardenerOperationMigrate &&
		obj.GetExtensionStatus().GetLastOperation() == nil {
		return obj, true, nil
	}
	obj = r.Kind.empty()
	return obj, false, r.Client.Get(ctx, key, obj)
}

func (r *Reconciler[T]) cluster(ctx context.Context, obj T) (*Cluster, error) {
	namespace := r.Kind.namespaceOf(obj)
	if namespace == "" {
		return nil, nil
	}
	if cluster := r.knownCluster(ctx, obj, namespace); cluster != nil {
		return cluster, nil
	}
	cluster, err := GetCluster(ctx, r.Client, namespace)
	if r.Kind.ClusterOptional && errors.Is(err, ErrNoCluster) {
		return nil, nil
	}
	return cluster, err
}

// knownCluster is the Cluster as a watch has shown it, for the first attempt of a kind that asks of it only whether the
// shoot has failed. It is nil if it must be read: no watch has shown it yet, it says that nothing may be done, the
// object is deleted, perhaps by force, or what was begun has not succeeded, so that attempts of a failed shoot end.
func (r *Reconciler[T]) knownCluster(ctx context.Context, obj T, namespace string) *Cluster {
	last := obj.GetExtensionStatus().GetLastOperation()
	again := last != nil && last.State != gardencorev1beta1.LastOperationStateSucceeded
	if !r.Kind.IgnoresCluster || again || obj.GetDeletionTimestamp() != nil {
		return nil
	}
	cluster, err := GetCluster(ctx, r.known(), namespace)
	if err != nil || cluster.shootFailed() {
		return nil
	}
	return cluster
}

func (r *Reconciler[T]) dispatch(ctx context.Context, c *call[T]) error {
	moving := c.op == gardencorev1beta1.LastOperationTypeMigrate || c.op == gardencorev1beta1.LastOperationTypeRestore
	switch {
	case Migrated(c.obj) && !moving:
		return r.finishMigration(ctx, c)
	case moving && !r.Kind.Migrates:
		return r.run(ctx, c, r.refuse)
	case c.op == gardencorev1beta1.LastOperationTypeMigrate:
		return r.migrate(ctx, c)
	case c.op == gardencorev1beta1.LastOperationTypeDelete:
		return r.remove(ctx, c)
	case c.op == gardencorev1beta1.LastOperationTypeRestore:
		return r.restore(ctx, c)
	}
	return r.reconcile(ctx, c)
}

// reconcile shows Processing before it takes the request off: at no moment does an old Succeeded stand without a
// request, for a gardenlet to believe or a crash to leave behind.
func (r *Reconciler[T]) reconcile(ctx context.Context, c *call[T]) error {
	if err := r.begin(ctx, c); err != nil {
		return err
	}
	if RequestOf(c.obj) != c.request {
		return conflict(r.Kind.Name, c.obj.GetName())
	}
	if err := r.removeRequest(ctx, c.obj, c.request); err != nil {
		return err
	}
	if err := r.run(ctx, c, r.Kind.OnReconcile); err != nil {
		return err
	}
	return r.succeeded(ctx, c)
}

// restore keeps the request until its success is written (unlike docs/specification/quirks.md#quirk-e3): a crash in
// between restores again.
func (r *Reconciler[T]) restore(ctx context.Context, c *call[T]) error {
	if err := r.begin(ctx, c); err != nil {
		return err
	}
	if err := r.run(ctx, c, r.Kind.restore); err != nil {
		return err
	}
	if err := r.succeeded(ctx, c); err != nil {
		return err
	}
	return r.removeRequest(ctx, c.obj, c.request)
}

// begin holds the object with the finalizer before anything outside is touched, then says what is being done.
func (r *Reconciler[T]) begin(ctx context.Context, c *call[T]) error {
	if err := r.addFinalizer(ctx, c); err != nil {
		if c.shown {
			r.outdated.Store(client.ObjectKeyFromObject(c.obj), nil)
		}
		return err
	}
	return r.started(ctx, c)
}

// started says what is being done, unless that is what is said already: an operation that waits is looked at often.
func (r *Reconciler[T]) started(ctx context.Context, c *call[T]) error {
	last := c.obj.GetExtensionStatus().GetLastOperation()
	if last != nil && last.Type == c.op && last.State == gardencorev1beta1.LastOperationStateProcessing {
		return nil
	}
	return r.processing(ctx, c.obj, c.op, started(c.op))
}

// migrate writes success, then releases the object, then takes the request off: whoever sees no request sees an object
// that may be deleted, and whoever sees no finalizer sees success. It does so with or without a finalizer (unlike
// docs/specification/quirks.md#quirk-e1).
func (r *Reconciler[T]) migrate(ctx context.Context, c *call[T]) error {
	if err := r.started(ctx, c); err != nil {
		return err
	}
	if err := r.run(ctx, c, r.Kind.migrate); err != nil {
		return err
	}
	if err := r.succeeded(ctx, c); err != nil {
		return err
	}
	if err := r.removeFinalizer(ctx, c.obj); err != nil {
		return err
	}
	return r.removeRequest(ctx, c.obj, c.request)
}

func (r *Reconciler[T]) remove(ctx context.Context, c *call[T]) error {
	if !controllerutil.ContainsFinalizer(c.obj, r.Kind.Finalizer) {
		return nil
	}
	if err := r.started(ctx, c); err != nil {
		return err
	}
	act := r.Kind.OnDelete
	if c.cluster.forceDeleted() {
		act = r.Kind.forceDelete
	}
	if err := r.run(ctx, c, act); err != nil {
		return err
	}
	if err := r.succeeded(ctx, c); err != nil {
		return err
	}
	return r.removeFinalizer(ctx, c.obj)
}

// finishMigration finishes a migration that was interrupted after its success was written: the object may go, and what
// it stands for is another seed's.
func (r *Reconciler[T]) finishMigration(ctx context.Context, c *call[T]) error {
	if c.obj.GetDeletionTimestamp() == nil {
		return nil
	}
	return r.removeFinalizer(ctx, c.obj)
}

// run calls an action. The generation it acts on is the one read last before it, not one that a patch of the status
// may bring in while it runs.
func (r *Reconciler[T]) run(ctx context.Context, c *call[T], act Act[T]) error {
	c.generation = c.obj.GetGeneration()
	ctx, cancel := context.WithTimeout(ctx, r.Kind.timeout())
	defer cancel()
	c.found = results{}
	ctx = context.WithValue(context.WithValue(ctx, resultsKey{}, &c.found), secretKey{}, c.secret)
	var err error
	if c.rest != nil {
		err = c.rest(ctx, c.obj, c.cluster)
	} else {
		err = act(ctx, c.log, c.obj, c.cluster)
	}
	if err != nil {
		return &actionError{err}
	}
	return nil
}

func (r *Reconciler[T]) refuse(context.Context, logr.Logger, T, *Cluster) error {
	return WithCodes(fmt.Errorf("a %s stays with its seed", r.Kind.Name), gardencorev1beta1.ErrorConfigurationProblem)
}

var _ reconcile.Reconciler = &Reconciler[*extensionsv1alpha1.Infrastructure]{}
