package controlplane

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	resourcesv1alpha1 "github.com/transplant-sim/transplant/api/resources/v1alpha1"
)

// managedResourcesTimeout bounds the wait for the end of ManagedResources
// (docs/specification/migration.md#spec-2-6-step-12).
const managedResourcesTimeout = 10 * time.Minute

// DeployResourceManager deploys the resource manager, which applies the namespace's ManagedResources to the shoot, and
// what lets it work on them (docs/specification/api.md#spec-1-10).
func (o *Operation) DeployResourceManager(ctx context.Context, replicas int32) error {
	if err := o.deployResourceManagerAccess(ctx); err != nil {
		return err
	}
	volumes, mounts := secretVolumes(secretResourceManager)
	return o.deploy(ctx, DeploymentResourceManager, replicas, corev1.PodSpec{
		ServiceAccountName:            DeploymentResourceManager,
		TerminationGracePeriodSeconds: ptr.To[int64](5),
		Volumes:                       volumes,
		Containers: []corev1.Container{{
			Name:  DeploymentResourceManager,
			Image: o.Image,
			Command: []string{"transplant", "resource-manager",
				"--namespace=" + o.Namespace(),
				"--target-kubeconfig=" + secretFile(secretResourceManager, "kubeconfig"),
				metricsFlag,
			},
			Env: []corev1.EnvVar{podIP}, VolumeMounts: mounts, Ports: metricsAt(metricsPort),
		}},
	})
}

// deployResourceManagerAccess lets the resource manager work on the ManagedResources of its namespace.
func (o *Operation) deployResourceManagerAccess(ctx context.Context) error {
	meta := o.meta(DeploymentResourceManager)
	for _, object := range []client.Object{
		&corev1.ServiceAccount{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"}, ObjectMeta: meta},
		&rbacv1.Role{
			TypeMeta: metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "Role"}, ObjectMeta: meta,
			Rules: []rbacv1.PolicyRule{
				{APIGroups: []string{resourcesv1alpha1.GroupName},
					Resources: []string{"managedresources", "managedresources/status"},
					Verbs:     []string{"get", "list", "watch", "patch", "update"}},
				{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get", "list", "watch"}},
			},
		},
		roleBinding(meta, "Role", meta.Namespace+"/"+meta.Name),
	} {
		if err := Apply(ctx, o.Seed, object); err != nil {
			return err
		}
	}
	return nil
}

// AwakenResourceManager makes sure that somebody releases the ManagedResources when they are deleted: the resource
// manager runs, even if the shoot was at rest. Where there never was one nothing waits for it.
func (o *Operation) AwakenResourceManager(ctx context.Context) error {
	exists, err := o.DeploymentExists(ctx, DeploymentResourceManager)
	if err != nil || !exists {
		return err
	}
	return o.DeployResourceManager(ctx, 1)
}

// wakeResourceManager wakes what the resource manager needs to take its objects off the shoot, and itself.
func (o *Operation) wakeResourceManager(ctx context.Context) error {
	if o.MayBeAsleep() {
		if err := o.WakeUp(ctx); err != nil {
			return err
		}
	}
	return o.AwakenResourceManager(ctx)
}

// DeleteManagedResources deletes the ManagedResources of the control plane, with their objects kept in the shoot
// (docs/specification/migration.md#spec-2-6-step-10).
func (o *Operation) DeleteManagedResources(ctx context.Context) error {
	resources := &resourcesv1alpha1.ManagedResourceList{}
	inOrigin := client.MatchingLabels{resourcesv1alpha1.LabelOrigin: resourcesv1alpha1.OriginGardener}
	if err := o.Seed.List(ctx, resources, client.InNamespace(o.Namespace()), inOrigin); err != nil {
		return fmt.Errorf("list the managed resources: %w", err)
	}
	for i := range resources.Items {
		resource := &resources.Items[i]
		before := resource.DeepCopy()
		keep := true
		resource.Spec.KeepObjects = &keep
		if err := o.Seed.Patch(ctx, resource, client.MergeFrom(before)); client.IgnoreNotFound(err) != nil {
			return describe("keep the objects of", resource, o.Seed, err)
		}
		if err := remove(ctx, o.Seed, resource); err != nil {
			return err
		}
	}
	return o.untilManagedResourcesGone(ctx, func(*resourcesv1alpha1.ManagedResource) bool { return true }, inOrigin)
}

// WaitManagedResources waits until no ManagedResource of the shoot is left, those of extensions among them: after it
// nobody needs the resource manager (docs/specification/migration.md#spec-2-6-step-31).
func (o *Operation) WaitManagedResources(ctx context.Context) error {
	return o.untilManagedResourcesGone(ctx, func(m *resourcesv1alpha1.ManagedResource) bool {
		return ptr.Deref(m.Spec.Class, "") == ""
	})
}

func (o *Operation) untilManagedResourcesGone(ctx context.Context, counts func(*resourcesv1alpha1.ManagedResource) bool,
	options ...client.ListOption) error {
	return o.Until(ctx, managedResourcesTimeout, "the end of the managed resources", func(ctx context.Context) error {
		resources := &resourcesv1alpha1.ManagedResourceList{}
		if err := o.Seed.List(ctx, resources, append(options, client.InNamespace(o.Namespace()))...); err != nil {
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
