package main

import (
	"context"

	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
)

const sandboxType = "example-sandbox"

// containerRuntime installs a runtime on the nodes of a pool, and offers it as a RuntimeClass.
type containerRuntime struct{ *program }

var _ actuator[*extensionsv1alpha1.ContainerRuntime] = containerRuntime{}

func addContainerRuntime(p *program) error {
	return serve(p, extensionsv1alpha1.ContainerRuntimeResource, sandboxType, containerRuntime{p})
}

func (c containerRuntime) resource(obj *extensionsv1alpha1.ContainerRuntime) managed {
	return c.inShoot("extension-runtime-" + obj.Name)
}

func (c containerRuntime) reconcile(ctx context.Context, obj *extensionsv1alpha1.ContainerRuntime) error {
	return c.resource(obj).deploy(ctx, obj.Namespace,
		nodeAgent("install-"+obj.Name, obj.Spec.WorkerPool.Selector.MatchLabels),
		&nodev1.RuntimeClass{
			TypeMeta:   metav1.TypeMeta{APIVersion: "node.k8s.io/v1", Kind: "RuntimeClass"},
			ObjectMeta: metav1.ObjectMeta{Name: obj.Name}, Handler: c.config.Settings["handler"],
			Scheduling: &nodev1.Scheduling{NodeSelector: obj.Spec.WorkerPool.Selector.MatchLabels},
		})
}

func (c containerRuntime) deployed(obj *extensionsv1alpha1.ContainerRuntime) (gardencorev1beta1.ConditionType,
	[]checked) {
	return gardencorev1beta1.ShootSystemComponentsHealthy, []checked{c.resource(obj)}
}

func (c containerRuntime) migrate(ctx context.Context, obj *extensionsv1alpha1.ContainerRuntime) error {
	return c.resource(obj).leave(ctx, obj.Namespace)
}

func (c containerRuntime) remove(ctx context.Context, obj *extensionsv1alpha1.ContainerRuntime) error {
	return c.resource(obj).remove(ctx, obj.Namespace)
}
