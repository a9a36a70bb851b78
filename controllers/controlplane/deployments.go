package controlplane

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// WaitDeployment waits until a Deployment has rolled out with all its replicas ready.
func (o *Operation) WaitDeployment(ctx context.Context, name string, timeout time.Duration) error {
	return o.Until(ctx, timeout, "deployment "+name, func(ctx context.Context) error {
		d := &appsv1.Deployment{}
		if err := o.Seed.Get(ctx, o.key(name), d); err != nil {
			return err
		}
		want := ptr.Deref(d.Spec.Replicas, 1)
		if d.Status.ObservedGeneration < d.Generation || d.Status.UpdatedReplicas < want || d.Status.ReadyReplicas < want ||
			d.Status.Replicas > want {
			return fmt.Errorf("%d of %d replicas are ready and up to date",
				min(d.Status.ReadyReplicas, d.Status.UpdatedReplicas), want)
		}
		return nil
	})
}

// DeploymentExists reports whether a Deployment of the control plane exists.
func (o *Operation) DeploymentExists(ctx context.Context, name string) (bool, error) {
	err := o.Seed.Get(ctx, o.key(name), &appsv1.Deployment{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

// Scale sets the replicas of a Deployment; a missing one is left alone.
func (o *Operation) Scale(ctx context.Context, name string, replicas int32) error {
	return o.scale(ctx, &appsv1.Deployment{ObjectMeta: o.meta(name)}, replicas)
}

// ScaleEtcd sets the replicas of etcd; a missing one is left alone.
func (o *Operation) ScaleEtcd(ctx context.Context, replicas int32) error {
	return o.scale(ctx, &appsv1.StatefulSet{ObjectMeta: o.meta(EtcdName)}, replicas)
}

func (o *Operation) scale(ctx context.Context, object client.Object, replicas int32) error {
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas))
	return describe("scale", object, o.Seed, client.IgnoreNotFound(o.Seed.Patch(ctx, object, patch, fieldOwner)))
}

// DeleteDeployment deletes a Deployment of the control plane and waits until none of its pods is left.
func (o *Operation) DeleteDeployment(ctx context.Context, name string) error {
	return o.deleteWorkload(ctx, &appsv1.Deployment{ObjectMeta: o.meta(name)}, name)
}

// DeleteKubernetes deletes the API server and those who live on it, all at once, and waits until their pods are gone.
func (o *Operation) DeleteKubernetes(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, name := range []string{DeploymentResourceManager, DeploymentScheduler, DeploymentControllerManager,
		DeploymentKubeAPIServer} {
		group.Go(func() error { return o.DeleteDeployment(ctx, name) })
	}
	return group.Wait()
}

// DeleteEtcd deletes etcd and its data, and waits until its pod is gone.
func (o *Operation) DeleteEtcd(ctx context.Context) error {
	return o.deleteWorkload(ctx, &appsv1.StatefulSet{ObjectMeta: o.meta(EtcdName)}, EtcdName)
}

func (o *Operation) deleteWorkload(ctx context.Context, object client.Object, role string) error {
	if err := remove(ctx, o.Seed, object, client.PropagationPolicy(metav1.DeletePropagationForeground)); err != nil {
		return err
	}
	return o.Until(ctx, 3*time.Minute, "the end of "+role, func(ctx context.Context) error {
		if err := gone(ctx, o.Seed, object); err != nil {
			return err
		}
		pods := &corev1.PodList{}
		if err := o.Seed.List(ctx, pods, client.InNamespace(o.Namespace()),
			client.MatchingLabels(selector(role).MatchLabels)); err != nil {
			return fmt.Errorf("list the pods of %q: %w", role, err)
		}
		if len(pods.Items) > 0 {
			return fmt.Errorf("%d pods of %q are left, among them %q", len(pods.Items), role, pods.Items[0].Name)
		}
		return nil
	})
}

func (o *Operation) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: o.Namespace(), Name: name}
}
