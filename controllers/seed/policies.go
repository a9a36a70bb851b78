package seed

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/transplant-sim/transplant/api/cloud"
	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
)

// PolicyStore is where the cloud keeps its policies.
type PolicyStore interface {
	Policies(ctx context.Context) ([]cloud.Policy, error)
	SetPolicy(ctx context.Context, policy cloud.Policy) (*cloud.Policy, error)
	DeletePolicy(ctx context.Context, id string) error
}

var _ PolicyStore = &cloud.Client{}

// Policies writes to the cloud which seed may take each shoot over: the one that the garden has bound it to, unless
// that seed is lost. A policy ends with its Shoot, which is gone only when nobody has to write its owner record any
// more. The name of a bucket belongs to the Seed that has it as UID, lost or not. It runs in the
// garden-controller-manager (docs/adr/0017).
type Policies struct {
	// Garden is the cached client of the manager: what it has not seen yet wakes it again.
	Garden client.Client
	Cloud  PolicyStore
	Clock  clock.PassiveClock
	// Grace is how long a seed's GardenletReady may be Unknown before the seed is lost, as for Evacuation.
	Grace time.Duration
	// Retry is when the cloud is asked again that did not do what it was asked for.
	Retry time.Duration
}

// AddToManager adds the Policies to a manager on the garden.
func (p *Policies) AddToManager(mgr manager.Manager) error {
	all := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request {
		return []reconcile.Request{{}} // events that come at once are one
	})
	err := builder.ControllerManagedBy(mgr).Named("seed-policies").
		Watches(&gardencorev1beta1.Shoot{}, all, builder.WithPredicates(changed(func(s *gardencorev1beta1.Shoot) any {
			return ptr.Deref(s.Spec.SeedName, "")
		}))).
		Watches(&gardencorev1beta1.Seed{}, all, builder.WithPredicates(changed(func(s *gardencorev1beta1.Seed) any {
			since, silent := silentSince(s)
			return [2]any{since, silent}
		}))).
		Watches(&corev1.Namespace{}, all, builder.WithPredicates(changed(func(n *corev1.Namespace) any {
			return n.Labels[constants.ProjectName]
		}))).
		Complete(p)
	if err != nil {
		return fmt.Errorf("add the policies of seeds: %w", err)
	}
	return nil
}

// changed lets pass what comes and goes, and those changes that make aspect another one.
func changed[T client.Object](aspect func(T) any) predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, _ := e.ObjectOld.(T)
		after, _ := e.ObjectNew.(T)
		return aspect(before) != aspect(after)
	}}
}

// Reconcile keeps all policies.
func (p *Policies) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	wanted, again, err := p.wanted(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	if err := p.keep(ctx, wanted); err != nil {
		// No error of the controller: what it waits for may become longer than a shoot can wait.
		log.FromContext(ctx).Info("The policies of the cloud are not kept, which is tried again", "reason", err.Error())
		again = p.Retry
	}
	return reconcile.Result{RequeueAfter: again}, nil
}

// wanted are the seeds that policies name, by the ids of these, and after how long a seed is lost that is silent.
func (p *Policies) wanted(ctx context.Context) (map[string]string, time.Duration, error) {
	seeds, shoots, namespaces := &gardencorev1beta1.SeedList{}, &gardencorev1beta1.ShootList{}, &corev1.NamespaceList{}
	err := errors.Join(p.Garden.List(ctx, seeds), p.Garden.List(ctx, shoots), p.Garden.List(ctx, namespaces))
	if err != nil {
		return nil, 0, fmt.Errorf("list the shoots and their seeds: %w", err)
	}
	lost, again := lostSeeds(seeds.Items, p.Clock, p.Grace)
	projects, bound := map[string]*corev1.Namespace{}, map[string]string{}
	for _, seed := range seeds.Items {
		bound[cloud.BucketPolicy(string(seed.UID))] = seed.Name // see migration.BackupBuckets
	}
	for i := range namespaces.Items {
		projects[namespaces.Items[i].Name] = &namespaces.Items[i]
	}
	for _, shoot := range shoots.Items {
		seed := ptr.Deref(shoot.Spec.SeedName, "")
		if lost[seed] {
			seed = ""
		}
		// Not from the status, which the gardenlet of the first seed fills in.
		if project := projects[shoot.Namespace]; project != nil {
			bound[scope.TechnicalID(project, shoot.Name)] = seed
		}
	}
	return bound, again, nil
}

func (p *Policies) keep(ctx context.Context, wanted map[string]string) error {
	known, err := p.Cloud.Policies(ctx)
	if err != nil {
		return fmt.Errorf("list the policies: %w", err)
	}
	var errs []error
	current := map[string]string{}
	for _, policy := range known {
		current[policy.ID] = policy.Bound
		if _, still := wanted[policy.ID]; still {
			continue
		}
		if err := p.Cloud.DeletePolicy(ctx, policy.ID); err != nil && !cloud.IsNotFound(err) {
			errs = append(errs, fmt.Errorf("end the policy of %q: %w", policy.ID, err))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(wanted)) {
		if seed, is := current[id]; is && seed == wanted[id] {
			continue
		}
		if _, err := p.Cloud.SetPolicy(ctx, cloud.Policy{Meta: cloud.Meta{ID: id}, Bound: wanted[id]}); err != nil {
			errs = append(errs, fmt.Errorf("bind %q to seed %q: %w", id, wanted[id], err))
		}
	}
	return errors.Join(errs...)
}
