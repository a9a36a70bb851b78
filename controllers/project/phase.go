// Package project keeps the phase of Projects (docs/specification/api.md#spec-1-6). It neither makes nor deletes their
// namespaces.
package project

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/patch"
)

// Phase keeps the phase of Projects: Ready as long as the namespace is there, Terminating when one of them is being
// deleted, otherwise Pending. It runs in the garden-controller-manager.
type Phase struct {
	// Garden is the cached client of the manager: what it has not seen yet wakes it again.
	Garden client.Client
}

// AddToManager adds the Phase to a manager on the garden.
func (p *Phase) AddToManager(mgr manager.Manager) error {
	err := builder.ControllerManagedBy(mgr).Named("project-phase").
		For(&gardencorev1beta1.Project{}).
		Watches(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(func(ctx context.Context,
			namespace client.Object) []reconcile.Request {
			return p.with(ctx, namespace.GetName())
		})).
		Complete(p)
	if err != nil {
		return fmt.Errorf("add the phase of projects: %w", err)
	}
	return nil
}

// with are the requests for the projects of a namespace.
func (p *Phase) with(ctx context.Context, namespace string) (requests []reconcile.Request) {
	projects := &gardencorev1beta1.ProjectList{}
	if err := p.Garden.List(ctx, projects); err != nil {
		return nil // a cache that ends
	}
	for i := range projects.Items {
		if ptr.Deref(projects.Items[i].Spec.Namespace, "") == namespace {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&projects.Items[i])})
		}
	}
	return requests
}

// Reconcile keeps the phase of one Project.
func (p *Phase) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	project := &gardencorev1beta1.Project{}
	if err := p.Garden.Get(ctx, request.NamespacedName, project); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	phase, err := p.of(ctx, project)
	if err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{}, patch.Status(ctx, p.Garden, project, func() {
		project.Status.Phase, project.Status.ObservedGeneration = phase, project.Generation
	})
}

func (p *Phase) of(ctx context.Context, project *gardencorev1beta1.Project) (gardencorev1beta1.ProjectPhase, error) {
	name, namespace := ptr.Deref(project.Spec.Namespace, ""), &corev1.Namespace{}
	if name == "" {
		return gardencorev1beta1.ProjectPending, nil
	}
	err := p.Garden.Get(ctx, client.ObjectKey{Name: name}, namespace)
	switch {
	case project.DeletionTimestamp != nil || err == nil && namespace.DeletionTimestamp != nil:
		return gardencorev1beta1.ProjectTerminating, nil
	case apierrors.IsNotFound(err):
		return gardencorev1beta1.ProjectPending, nil
	case err != nil:
		return "", fmt.Errorf("read the namespace of project %q: %w", project.Name, err)
	}
	return gardencorev1beta1.ProjectReady, nil
}
