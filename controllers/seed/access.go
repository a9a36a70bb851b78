package seed

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/controllers/patch"
)

const (
	// gardenletPrefix and controlPlanesPrefix begin the names of a seed's ServiceAccounts in the garden, before the name
	// of the Seed: of its gardenlet, and of the control planes of its shoots.
	gardenletPrefix, controlPlanesPrefix = "gardenlet-", "control-planes-"
	// accessPrefix begins the names of the roles that are kept here.
	accessPrefix = "gardener.cloud:system:seed:"
	// labelAccess marks them, with the name of the seed.
	labelAccess = "transplant.dev/access-of-seed"
	// everySeed stands for the name, and claimsRole is the name of the role, by which all seeds read the claims of a
	// project.
	everySeed, claimsRole = "every-seed", "gardener.cloud:system:seeds:claims"
)

// Access keeps the roles of seeds in the garden: what belongs to a seed's shoots, by name, and nothing else. While a
// seed is lost, only the control planes of the shoots that it still has keep theirs (docs/ownership.md#o3). All seeds
// read the claims of projects, also those that are lost (docs/ownership.md#o10). It runs in the
// garden-controller-manager (docs/adr/0017).
type Access struct {
	// Garden is the cached client of the manager: what it has not seen yet wakes it again.
	Garden client.Client
	Clock  clock.PassiveClock
	// Grace is how long a seed's GardenletReady may be Unknown before the seed is lost, as for Evacuation.
	Grace time.Duration
}

// AddToManager adds the Access to a manager on the garden.
func (a *Access) AddToManager(mgr manager.Manager) error {
	byNamespace := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, object client.Object) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: client.ObjectKey{Name: object.GetNamespace()}}}
	})
	kept := builder.WithPredicates(predicate.NewPredicateFuncs(func(object client.Object) bool {
		return object.GetLabels()[labelAccess] != ""
	}))
	err := builder.ControllerManagedBy(mgr).Named("seed-access").
		Watches(&gardencorev1beta1.Shoot{}, byNamespace).
		Watches(&gardencorev1beta1.BackupEntry{}, byNamespace).
		Watches(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(func(_ context.Context,
			namespace client.Object) []reconcile.Request {
			return []reconcile.Request{{NamespacedName: client.ObjectKey{Name: namespace.GetName()}}}
		}), builder.WithPredicates(predicate.NewPredicateFuncs(isProject))).
		Watches(&gardencorev1beta1.Seed{}, handler.EnqueueRequestsFromMapFunc(a.everywhere)).
		Watches(&rbacv1.Role{}, byNamespace, kept).
		Watches(&rbacv1.RoleBinding{}, byNamespace, kept).
		Watches(&rbacv1.ClusterRole{}, byNamespace, kept). // of no namespace, as the request for those of the whole garden
		Watches(&rbacv1.ClusterRoleBinding{}, byNamespace, kept).
		Complete(a)
	if err != nil {
		return fmt.Errorf("add the access of seeds: %w", err)
	}
	return nil
}

// isProject reports whether a namespace is that of a project, which stays one.
func isProject(namespace client.Object) bool {
	return namespace.GetLabels()[constants.ProjectName] != "" && namespace.GetDeletionTimestamp() == nil
}

// everywhere are the requests for all namespaces that a seed may have to do with, and for the garden as a whole.
func (a *Access) everywhere(ctx context.Context, _ client.Object) []reconcile.Request {
	shoots, entries := &gardencorev1beta1.ShootList{}, &gardencorev1beta1.BackupEntryList{}
	if err := errors.Join(a.Garden.List(ctx, shoots), a.Garden.List(ctx, entries)); err != nil {
		return nil // a cache that ends
	}
	names := map[string]bool{"": true}
	for _, shoot := range shoots.Items {
		names[shoot.Namespace] = true
	}
	for _, entry := range entries.Items {
		names[entry.Namespace] = true
	}
	var requests []reconcile.Request
	for _, name := range slices.Sorted(maps.Keys(names)) {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKey{Name: name}})
	}
	return requests
}

// Reconcile keeps the roles of all seeds in one project namespace, or those without a namespace.
func (a *Access) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	seeds := &gardencorev1beta1.SeedList{}
	if err := a.Garden.List(ctx, seeds); err != nil {
		return reconcile.Result{}, fmt.Errorf("list the seeds: %w", err)
	}
	wanted, again, err := a.wanted(ctx, request.Name, seeds.Items)
	if err != nil {
		return reconcile.Result{}, err
	}
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(wanted)) {
		errs = append(errs, a.keep(ctx, request.Name, key, wanted[key]))
	}
	errs = append(errs, a.removeOthers(ctx, request.Name, wanted))
	return reconcile.Result{RequeueAfter: again}, errors.Join(errs...)
}

// role is what a ServiceAccount of a seed may do; without an account all of the namespace garden, which are those of
// seeds and the garden-controller-manager's.
type role struct {
	seed, account string
	rules         []rbacv1.PolicyRule
}

func (r role) subject() rbacv1.Subject {
	if r.account == "" {
		return rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind,
			Name: "system:serviceaccounts:" + constants.GardenNamespace}
	}
	return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: constants.GardenNamespace, Name: r.account}
}

// wanted are the roles in a namespace, by name, and after how long the next silent seed is lost; zero for none.
func (a *Access) wanted(
	ctx context.Context, namespace string, seeds []gardencorev1beta1.Seed,
) (map[string]role, time.Duration, error) {
	shoots, entries := &gardencorev1beta1.ShootList{}, &gardencorev1beta1.BackupEntryList{}
	all := map[string]role{}
	if namespace != "" {
		in, project := client.InNamespace(namespace), &corev1.Namespace{}
		if err := errors.Join(a.Garden.List(ctx, shoots, in), a.Garden.List(ctx, entries, in),
			client.IgnoreNotFound(a.Garden.Get(ctx, client.ObjectKey{Name: namespace}, project))); err != nil {
			return nil, 0, fmt.Errorf("list what seeds have in namespace %q: %w", namespace, err)
		}
		if isProject(project) || len(shoots.Items) > 0 {
			all[claimsRole] = role{seed: everySeed, rules: []rbacv1.PolicyRule{{APIGroups: []string{"coordination.k8s.io"},
				Resources: []string{"leases"}, Verbs: []string{"get"}}}}
		}
	}
	of := inventoriesOf(shoots.Items, entries.Items)
	lost, again := lostSeeds(seeds, a.Clock, a.Grace)
	for i := range seeds {
		seed := &seeds[i]
		in := of[seed.Name]
		switch {
		case namespace == "" && !lost[seed.Name]:
			all[accessPrefix+seed.Name] = role{
				seed: seed.Name, account: gardenletPrefix + seed.Name, rules: seedRules(seed),
			}
		case in != nil:
			maps.Copy(all, in.roles(seed.Name, lost[seed.Name]))
		}
	}
	return all, again, nil
}

// keep makes sure of a role, and that the seed's account has it.
func (a *Access) keep(ctx context.Context, namespace, name string, r role) error {
	named := metav1.ObjectMeta{Namespace: namespace, Name: name}
	subjects := []rbacv1.Subject{r.subject()}
	ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name}
	mark := func(object client.Object) { object.SetLabels(map[string]string{labelAccess: r.seed}) }
	var err error
	if namespace == "" {
		ref.Kind = "ClusterRole"
		granted, bound := &rbacv1.ClusterRole{ObjectMeta: named}, &rbacv1.ClusterRoleBinding{ObjectMeta: named}
		err = errors.Join(
			a.ensure(ctx, granted, func() { mark(granted); set(&granted.Rules, r.rules) }),
			a.ensure(ctx, bound, func() { mark(bound); bound.RoleRef = ref; set(&bound.Subjects, subjects) }))
	} else {
		granted, bound := &rbacv1.Role{ObjectMeta: named}, &rbacv1.RoleBinding{ObjectMeta: named}
		err = errors.Join(
			a.ensure(ctx, granted, func() { mark(granted); set(&granted.Rules, r.rules) }),
			a.ensure(ctx, bound, func() { mark(bound); bound.RoleRef = ref; set(&bound.Subjects, subjects) }))
	}
	if err != nil {
		return fmt.Errorf("keep the access of seed %q in namespace %q: %w", r.seed, namespace, err)
	}
	return nil
}

// set leaves alone what says the same.
func set[T any](field *[]T, value []T) {
	if !apiequality.Semantic.DeepEqual(*field, value) {
		*field = value
	}
}

// ensure may find that somebody, or this process a moment ago, was faster than the cache: the watch wakes it again.
func (a *Access) ensure(ctx context.Context, object client.Object, mutate func()) error {
	return client.IgnoreAlreadyExists(patch.CreateOrPatch(ctx, a.Garden, object, func(client.Object) error {
		mutate()
		return nil
	}))
}

// removeOthers removes the roles of seeds that have nothing in the namespace any more, or are lost. The bindings go
// first.
func (a *Access) removeOthers(ctx context.Context, namespace string, wanted map[string]role) error {
	lists := []client.ObjectList{&rbacv1.RoleBindingList{}, &rbacv1.RoleList{}}
	if namespace == "" {
		lists = []client.ObjectList{&rbacv1.ClusterRoleBindingList{}, &rbacv1.ClusterRoleList{}}
	}
	var errs []error
	for _, list := range lists {
		if err := a.Garden.List(ctx, list, client.InNamespace(namespace), client.HasLabels{labelAccess}); err != nil {
			return fmt.Errorf("list the access of seeds in namespace %q: %w", namespace, err)
		}
		errs = append(errs, meta.EachListItem(list, func(item runtime.Object) error {
			object := item.(client.Object)
			if _, keep := wanted[object.GetName()]; keep {
				return nil
			}
			if err := a.Garden.Delete(ctx, object); client.IgnoreNotFound(err) != nil {
				return fmt.Errorf("end the access %q in namespace %q: %w", object.GetName(), namespace, err)
			}
			return nil
		}))
	}
	return errors.Join(errs...)
}
