package contract

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
)

// Kind is what one extension kind differs in for the reconciler (docs/specification/extensions.md#spec-3-4), and what
// a provider does for it. The wire facts are those of the API.
type Kind[T extensionsv1alpha1.Object] struct {
	extensionsv1alpha1.Kind
	Actions[T]

	// Namespace gives the control-plane namespace an object belongs to, empty if it belongs to no shoot. Nil means the
	// object's own namespace.
	Namespace func(T) string

	// ClusterOptional allows a missing Cluster, for objects that outlive the control plane.
	ClusterOptional bool

	// IgnoresCluster is for a kind whose actions do not look at the Cluster. The reconciler does: whether the shoot has
	// failed, and whether it is deleted by force.
	IgnoresCluster bool

	// Secret gives the Secret that carries the finalizer too, if any.
	Secret func(T) *corev1.SecretReference

	// Timeout bounds one call of an action; zero means three minutes.
	Timeout time.Duration

	// Wakes are kinds whose events in the control-plane namespace wake the objects that wait for something.
	Wakes []client.Object
}

// KindOf is the kind of T with nothing special about it, and without actions.
func KindOf[T extensionsv1alpha1.Object](name string) Kind[T] {
	kind, ok := extensionsv1alpha1.KindByName(name)
	if !ok {
		panic("contract: no extension kind is called " + name)
	}
	if _, ok := kind.New().(T); !ok {
		panic("contract: " + name + " is another type")
	}
	return Kind[T]{Kind: kind}
}

func (k Kind[T]) empty() T { return k.New().(T) }

const defaultTimeout = 3 * time.Minute

func (k Kind[T]) namespaceOf(obj T) string {
	if k.Namespace != nil {
		return k.Namespace(obj)
	}
	return obj.GetNamespace()
}

func (k Kind[T]) timeout() time.Duration {
	if k.Timeout > 0 {
		return k.Timeout
	}
	return defaultTimeout
}

// Act is one action of a provider.
type Act[T extensionsv1alpha1.Object] func(ctx context.Context, log logr.Logger, obj T, cluster *Cluster) error

// Actions are what a provider does for one kind. Each is called again after a crash, an error or a Pending, with the
// object as the API server has it, and must then end where an undisturbed run would have ended.
//
// OnMigrate gives the object up without touching anything outside the seed. OnRestore takes it over, with the state the
// object carries; nil state means that nothing was saved. OnReconcile and OnDelete are required. Without a function for
// it, a forced deletion is a deletion, a restoration is a reconciliation, and a migration has nothing to do.
type Actions[T extensionsv1alpha1.Object] struct {
	OnReconcile, OnDelete, OnForceDelete, OnMigrate, OnRestore Act[T]
}

// forceDelete calls OnForceDelete, or OnDelete.
func (a Actions[T]) forceDelete(ctx context.Context, log logr.Logger, obj T, cluster *Cluster) error {
	if a.OnForceDelete == nil {
		return a.OnDelete(ctx, log, obj, cluster)
	}
	return a.OnForceDelete(ctx, log, obj, cluster)
}

// migrate calls OnMigrate, if it is set.
func (a Actions[T]) migrate(ctx context.Context, log logr.Logger, obj T, cluster *Cluster) error {
	if a.OnMigrate == nil {
		return nil
	}
	return a.OnMigrate(ctx, log, obj, cluster)
}

// restore calls OnRestore, or OnReconcile.
func (a Actions[T]) restore(ctx context.Context, log logr.Logger, obj T, cluster *Cluster) error {
	if a.OnRestore == nil {
		return a.OnReconcile(ctx, log, obj, cluster)
	}
	return a.OnRestore(ctx, log, obj, cluster)
}
