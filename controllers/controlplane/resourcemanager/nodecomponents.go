package resourcemanager

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	resourcesv1alpha1 "github.com/transplant-sim/transplant/api/resources/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/controlplane/objects"
	"github.com/transplant-sim/transplant/controllers/nodecritical"
)

// nodeComponent is a component on every node of a shoot for which new nodes wait
// (docs/specification/nodes-and-seeds.md#spec-7-1, as in docs/specification/README.md#s3).
type nodeComponent struct {
	name string
	// labels are those by which people find its pods.
	labels map[string]string
	wanted func(*gardencorev1beta1.ShootSpec) bool
}

// nodeComponents are those of every shoot with workers. The network's is its extension's, as is the CSI driver's.
var nodeComponents = []nodeComponent{
	{
		name: "kube-proxy", labels: map[string]string{"app": "kubernetes", "role": "proxy"},
		wanted: func(shoot *gardencorev1beta1.ShootSpec) bool {
			return shoot.Kubernetes.KubeProxy == nil || ptr.Deref(shoot.Kubernetes.KubeProxy.Enabled, true)
		},
	},
	{
		name: "node-local-dns", labels: map[string]string{"k8s-app": "node-local-dns"},
		wanted: func(shoot *gardencorev1beta1.ShootSpec) bool {
			components := shoot.SystemComponents
			return components != nil && components.NodeLocalDNS != nil && components.NodeLocalDNS.Enabled
		},
	},
}

// managedResource is the name of the ManagedResource with the component.
func (c nodeComponent) managedResource() string { return "shoot-core-" + c.name }

// daemonSet is the same on every seed and for every version, so that neither a migration nor an update of the control
// plane replaces a pod.
func (c nodeComponent) daemonSet() *appsv1.DaemonSet {
	return nodecritical.DaemonSet(c.name, c.labels,
		corev1.Container{Name: c.name, Image: "transplant.dev/" + c.name + ":dev"})
}

// DeployNodeComponents has the components that the shoot wants applied to it, and the others taken off.
func (r *ResourceManager) DeployNodeComponents(ctx context.Context) error {
	var errs []error
	for _, component := range nodeComponents {
		if component.wanted(&r.Shoot.Spec) {
			errs = append(errs, r.deployNodeComponent(ctx, component))
		} else {
			errs = append(errs, r.removeNodeComponent(ctx, component))
		}
	}
	return errors.Join(errs...)
}

// nodeComponentObjects are the Secret with the component and the ManagedResource that refers to it.
func (r *ResourceManager) nodeComponentObjects(c nodeComponent) (*corev1.Secret, *resourcesv1alpha1.ManagedResource) {
	origin := map[string]string{resourcesv1alpha1.LabelOrigin: resourcesv1alpha1.OriginGardener}
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: r.Namespace(), Name: name, Labels: origin}
	}
	secret := &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: meta("managedresource-" + c.managedResource()),
	}
	managed := &resourcesv1alpha1.ManagedResource{
		TypeMeta:   metav1.TypeMeta{APIVersion: resourcesv1alpha1.SchemeGroupVersion.String(), Kind: "ManagedResource"},
		ObjectMeta: meta(c.managedResource()),
		Spec: resourcesv1alpha1.ManagedResourceSpec{
			SecretRefs: []corev1.LocalObjectReference{{Name: secret.Name}},
			// The nodes need it until they go: it survives the clean-up (docs/specification/cleanup.md#spec-6-3).
			InjectLabels: map[string]string{constants.ShootNoCleanup: constants.LabelTrue},
		},
	}
	return secret, managed
}

func (r *ResourceManager) deployNodeComponent(ctx context.Context, c nodeComponent) error {
	// One that a migration has released, which was called off since, would go with what is made now.
	if err := r.untilNotGoing(ctx, c); err != nil {
		return err
	}
	content, err := yaml.Marshal(c.daemonSet())
	if err != nil {
		return fmt.Errorf("marshal the DaemonSet %q: %w", c.name, err)
	}
	secret, managed := r.nodeComponentObjects(c)
	secret.Data = map[string][]byte{"daemonset.yaml": content}
	if err := objects.Apply(ctx, r.Seed, secret); err != nil {
		return err
	}
	return objects.Apply(ctx, r.Seed, managed)
}

func (r *ResourceManager) untilNotGoing(ctx context.Context, c nodeComponent) error {
	_, managed := r.nodeComponentObjects(c)
	return r.Until(ctx, resourcesTimeout, "the end of the former "+c.name, func(ctx context.Context) error {
		err := r.Seed.Get(ctx, client.ObjectKeyFromObject(managed), managed)
		if apierrors.IsNotFound(err) || err == nil && managed.DeletionTimestamp == nil {
			return nil
		}
		if err != nil {
			return objects.Describe("read", managed, r.Seed, err)
		}
		return fmt.Errorf("%s is being deleted, finalizers %q", objects.Name(managed, r.Seed.Scheme()), managed.Finalizers)
	})
}

// removeNodeComponent takes a component off the shoot. The Secret says what is to be taken off, so that it goes last.
func (r *ResourceManager) removeNodeComponent(ctx context.Context, c nodeComponent) error {
	secret, managed := r.nodeComponentObjects(c)
	if err := objects.Remove(ctx, r.Seed, managed); err != nil {
		return err
	}
	if err := r.Until(ctx, resourcesTimeout, "the end of "+c.name, func(ctx context.Context) error {
		return objects.Gone(ctx, r.Seed, managed)
	}); err != nil {
		return err
	}
	return objects.Remove(ctx, r.Seed, secret)
}
