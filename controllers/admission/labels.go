package admission

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/controllers/cachefirst"
	"github.com/transplant-sim/transplant/controllers/patch"
)

// seedLabels are the labels that an object should have: one for the seed of its spec and one for that of its status,
// besides all that are not about seeds (docs/specification/api.md#spec-1-4). The second result is whether its present
// labels differ.
func seedLabels(object client.Object) (map[string]string, bool) {
	labels := map[string]string{}
	for key, value := range object.GetLabels() {
		if !strings.HasPrefix(key, constants.LabelPrefixSeedName) {
			labels[key] = value
		}
	}
	for _, name := range seedNames(object) {
		if name != nil && *name != "" {
			labels[constants.LabelPrefixSeedName+*name] = constants.LabelTrue
		}
	}
	return labels, !maps.Equal(labels, object.GetLabels())
}

func seedNames(object client.Object) []*string {
	switch o := object.(type) {
	case *gardencorev1beta1.Shoot:
		return []*string{o.Spec.SeedName, o.Status.SeedName}
	case *gardencorev1beta1.BackupEntry:
		return []*string{o.Spec.SeedName, o.Status.SeedName}
	}
	return nil
}

// seedLabeler keeps the labels right where no admission can: a write to a status cannot change labels with it.
type seedLabeler struct {
	client client.Client
	empty  func() client.Object
}

// addSeedLabelers adds a controller for each kind that has such labels.
func addSeedLabelers(mgr manager.Manager, c client.Client) error {
	wrong := predicate.NewPredicateFuncs(func(object client.Object) bool {
		_, wrong := seedLabels(object)
		return wrong
	})
	for name, empty := range map[string]func() client.Object{
		"shoot-seed-labels":       func() client.Object { return &gardencorev1beta1.Shoot{} },
		"backupentry-seed-labels": func() client.Object { return &gardencorev1beta1.BackupEntry{} },
	} {
		err := builder.ControllerManagedBy(mgr).Named(name).
			For(empty(), builder.WithPredicates(wrong)).
			Complete(&cachefirst.Reconciler{
				Live: c, Cached: mgr.GetCache(), Locked: true,
				Of: func(c client.Client) reconcile.Reconciler { return &seedLabeler{client: c, empty: empty} },
			})
		if err != nil {
			return fmt.Errorf("add controller %q: %w", name, err)
		}
	}
	return nil
}

// Reconcile patches the labels of one object, if they are wrong.
func (l *seedLabeler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	object := l.empty()
	if err := l.client.Get(ctx, request.NamespacedName, object); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	labels, wrong := seedLabels(object)
	if !wrong {
		return reconcile.Result{}, nil
	}
	err := patch.LockedObject(ctx, l.client, object, func() { object.SetLabels(labels) })
	return reconcile.Result{}, client.IgnoreNotFound(err)
}
