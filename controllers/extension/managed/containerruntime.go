package managed

import (
	"context"

	"github.com/go-logr/logr"
	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/extension/contract"
)

// ContainerRuntime offers a further container runtime on the nodes of a pool, as a RuntimeClass of the shoot.
func (p *Provider) ContainerRuntime() contract.Kind[*extensionsv1alpha1.ContainerRuntime] {
	return kindOf(p, extensionsv1alpha1.ContainerRuntimeResource, runtimeManagedResource,
		func(ctx context.Context, _ logr.Logger, obj *extensionsv1alpha1.ContainerRuntime, _ *contract.Cluster) error {
			return p.deployManaged(ctx, obj, runtimeManagedResource(obj),
				map[string]client.Object{"runtimeclass.yaml": runtimeClass(obj)})
		})
}

func runtimeManagedResource(obj *extensionsv1alpha1.ContainerRuntime) string {
	return "extension-containerruntime-" + obj.Name
}

// runtimeClass is named after runtime and pool, so that the pools of a shoot do not share one.
func runtimeClass(obj *extensionsv1alpha1.ContainerRuntime) *nodev1.RuntimeClass {
	return &nodev1.RuntimeClass{
		TypeMeta:   metav1.TypeMeta{APIVersion: "node.k8s.io/v1", Kind: "RuntimeClass"},
		ObjectMeta: metav1.ObjectMeta{Name: obj.Name},
		Handler:    obj.Spec.Type,
		Scheduling: &nodev1.Scheduling{NodeSelector: obj.Spec.WorkerPool.Selector.MatchLabels},
	}
}
