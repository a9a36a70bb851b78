// Package resourcemanager deploys the resource manager of a shoot, and the ManagedResources that are the gardenlet's.
package resourcemanager

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	resourcesv1alpha1 "github.com/transplant-sim/transplant/api/resources/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/controlplane/objects"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
	"github.com/transplant-sim/transplant/controllers/controlplane/secrets"
	"github.com/transplant-sim/transplant/controllers/controlplane/workload"
)

// ResourceManager is the resource manager of a shoot, and what it applies.
type ResourceManager struct {
	*scope.Scope
	workloads *workload.Workloads
}

// New makes it over a scope.
func New(s *scope.Scope) *ResourceManager {
	return &ResourceManager{Scope: s, workloads: &workload.Workloads{Scope: s}}
}

// Deploy deploys the resource manager, which applies the namespace's ManagedResources to the shoot, and
// what lets it work on them (docs/specification/api.md#spec-1-10).
func (r *ResourceManager) Deploy(ctx context.Context) error {
	return r.deploy(ctx, r.Replicas())
}

func (r *ResourceManager) deploy(ctx context.Context, replicas int32) error {
	if err := r.deployAccess(ctx); err != nil {
		return err
	}
	volumes, mounts := workload.SecretVolumes(secrets.ResourceManager)
	return r.workloads.Deploy(ctx, workload.ResourceManager, replicas, corev1.PodSpec{
		ServiceAccountName:            workload.ResourceManager,
		TerminationGracePeriodSeconds: ptr.To[int64](5),
		Volumes:                       volumes,
		Containers: []corev1.Container{{
			Name:  workload.ResourceManager,
			Image: r.Image,
			Command: []string{"transplant", "resource-manager",
				"--namespace=" + r.Namespace(),
				"--target-kubeconfig=" + workload.SecretFile(secrets.ResourceManager, "kubeconfig"),
				workload.MetricsFlag,
			},
			Env: []corev1.EnvVar{workload.PodIP}, VolumeMounts: mounts, Ports: workload.MetricsAt(workload.PortMetrics),
		}},
	})
}

// deployAccess lets the resource manager work on the ManagedResources of its namespace.
func (r *ResourceManager) deployAccess(ctx context.Context) error {
	return objects.ApplyAccount(ctx, r.Seed, r.Meta(workload.ResourceManager), []rbacv1.PolicyRule{
		{APIGroups: []string{resourcesv1alpha1.GroupName},
			Resources: []string{"managedresources", "managedresources/status"},
			Verbs:     []string{"get", "list", "watch", "patch", "update"}},
		{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get", "list", "watch"}},
	})
}

// Awaken makes sure that somebody releases the ManagedResources when they are deleted: the resource
// manager runs, even if the shoot was at rest. Where there never was one nothing waits for it.
func (r *ResourceManager) Awaken(ctx context.Context) error {
	exists, err := r.workloads.Exists(ctx, workload.ResourceManager)
	if err != nil || !exists {
		return err
	}
	return r.deploy(ctx, 1)
}

// resourcesTimeout bounds the wait for the end of ManagedResources
// (docs/specification/migration.md#spec-2-6-step-12).
const resourcesTimeout = 10 * time.Minute

// DeleteResources deletes the ManagedResources of the control plane, with their objects kept in the shoot
// (docs/specification/migration.md#spec-2-6-step-10).
func (r *ResourceManager) DeleteResources(ctx context.Context) error {
	resources := &resourcesv1alpha1.ManagedResourceList{}
	inOrigin := client.MatchingLabels{resourcesv1alpha1.LabelOrigin: resourcesv1alpha1.OriginGardener}
	if err := r.Seed.List(ctx, resources, client.InNamespace(r.Namespace()), inOrigin); err != nil {
		return fmt.Errorf("list the managed resources: %w", err)
	}
	for i := range resources.Items {
		resource := &resources.Items[i]
		before := resource.DeepCopy()
		keep := true
		resource.Spec.KeepObjects = &keep
		if err := r.Seed.Patch(ctx, resource, client.MergeFrom(before)); client.IgnoreNotFound(err) != nil {
			return objects.Describe("keep the objects of", resource, r.Seed, err)
		}
		if err := objects.Remove(ctx, r.Seed, resource); err != nil {
			return err
		}
	}
	return r.untilResourcesGone(ctx, func(*resourcesv1alpha1.ManagedResource) bool { return true }, inOrigin)
}

// WaitResources waits until no ManagedResource of the shoot is left, those of extensions among them: after it
// nobody needs the resource manager (docs/specification/migration.md#spec-2-6-step-31).
func (r *ResourceManager) WaitResources(ctx context.Context) error {
	return r.untilResourcesGone(ctx, func(m *resourcesv1alpha1.ManagedResource) bool {
		return ptr.Deref(m.Spec.Class, "") == ""
	})
}

func (r *ResourceManager) untilResourcesGone(ctx context.Context, counts func(*resourcesv1alpha1.ManagedResource) bool,
	options ...client.ListOption) error {
	return r.Until(ctx, resourcesTimeout, "the end of the managed resources", func(ctx context.Context) error {
		resources := &resourcesv1alpha1.ManagedResourceList{}
		if err := r.Seed.List(ctx, resources, append(options, client.InNamespace(r.Namespace()))...); err != nil {
			return err
		}
		for i := range resources.Items {
			if counts(&resources.Items[i]) {
				return fmt.Errorf("%d managed resources are left, among them %q", len(resources.Items), resources.Items[i].Name)
			}
		}
		return nil
	})
}
