// Package resourcemanager deploys the resource manager of a shoot, and the ManagedResources that are the gardenlet's.
package resourcemanager

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	resourcesv1alpha1 "github.com/transplant-sim/transplant/api/resources/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/controlplane/lifecycle"
	"github.com/transplant-sim/transplant/controllers/controlplane/objects"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
	"github.com/transplant-sim/transplant/controllers/controlplane/secrets"
	"github.com/transplant-sim/transplant/controllers/controlplane/tunnel"
	"github.com/transplant-sim/transplant/controllers/controlplane/workload"
	"github.com/transplant-sim/transplant/controllers/nodecritical"
	"github.com/transplant-sim/transplant/controllers/patch"
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
		ServiceAccountName: workload.ResourceManager,
		Volumes:            volumes,
		Containers: []corev1.Container{{
			Name:  workload.ResourceManager,
			Image: r.Image,
			Command: []string{"transplant", "gardener-resource-manager",
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
		{APIGroups: []string{resourcesv1alpha1.GroupName}, Resources: []string{"managedresources"},
			Verbs: []string{"get", "list", "watch", "patch"}},
		{APIGroups: []string{resourcesv1alpha1.GroupName}, Resources: []string{"managedresources/status"},
			Verbs: []string{"patch"}},
		// It writes tokens into those that ask for one.
		{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get", "list", "watch", "patch"}},
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
		err := patch.Object(ctx, r.Seed, resource, func() { resource.Spec.KeepObjects = ptr.To(true) })
		if client.IgnoreNotFound(err) != nil {
			return err
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

// nodeComponent is a component on every node of a shoot for which new nodes wait
// (docs/specification/nodes-and-seeds.md#spec-7-1, as in docs/specification/README.md#s3).
type nodeComponent struct {
	name   string
	wanted func(*gardencorev1beta1.Shoot) bool
	// forGood is whether a shoot that does not want it has never had it.
	forGood bool
	// objects are those in the shoot: the same on every seed and for every version, so that neither a migration nor an
	// update of the control plane replaces a pod.
	objects func(context.Context, *ResourceManager) ([]client.Object, error)
}

// daemonSet has a pod on each node. The labels are those by which people find its pods.
func daemonSet(name string, labels map[string]string) func(context.Context, *ResourceManager) ([]client.Object, error) {
	return func(context.Context, *ResourceManager) ([]client.Object, error) {
		return []client.Object{nodecritical.DaemonSet(name, labels,
			corev1.Container{Name: name, Image: "transplant.dev/" + name + ":dev"})}, nil
	}
}

// nodeComponents are those of every shoot with workers. The network's is its extension's, as is the CSI driver's.
var nodeComponents = []nodeComponent{
	{
		name: "kube-proxy", objects: daemonSet("kube-proxy", map[string]string{"app": "kubernetes", "role": "proxy"}),
		wanted: func(shoot *gardencorev1beta1.Shoot) bool {
			proxy := shoot.Spec.Kubernetes.KubeProxy
			return proxy == nil || ptr.Deref(proxy.Enabled, true)
		},
	},
	{
		name: "node-local-dns", objects: daemonSet("node-local-dns", map[string]string{"k8s-app": "node-local-dns"}),
		wanted: func(shoot *gardencorev1beta1.Shoot) bool {
			components := shoot.Spec.SystemComponents
			return components != nil && components.NodeLocalDNS != nil && components.NodeLocalDNS.Enabled
		},
	},
	{
		name: secrets.VPNShoot, wanted: lifecycle.RealNodes, forGood: true,
		objects: func(ctx context.Context, r *ResourceManager) ([]client.Object, error) {
			certificate, err := (&secrets.Secrets{Scope: r.Scope}).Data(ctx, secrets.VPNShoot)
			return tunnel.ShootObjects(r.Scope, certificate), err
		},
	},
}

// managedResource is the name of the ManagedResource with the component.
func (c nodeComponent) managedResource() string { return "shoot-core-" + c.name }

// DeployNodeComponents has the components that the shoot wants applied to it, and the others taken off.
func (r *ResourceManager) DeployNodeComponents(ctx context.Context) error {
	var errs []error
	for _, component := range nodeComponents {
		if component.wanted(r.Shoot) {
			errs = append(errs, r.deployNodeComponent(ctx, component))
		} else if !r.Fresh && !component.forGood {
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
	if !r.Fresh {
		if err := r.untilNotGoing(ctx, c); err != nil {
			return err
		}
	}
	inShoot, err := c.objects(ctx, r)
	if err != nil {
		return err
	}
	secret, managed := r.nodeComponentObjects(c)
	secret.Data = map[string][]byte{}
	for _, object := range inShoot {
		kind := strings.ToLower(object.GetObjectKind().GroupVersionKind().Kind)
		if secret.Data[kind+".yaml"], err = yaml.Marshal(object); err != nil {
			return fmt.Errorf("marshal the %s of %q: %w", kind, c.name, err)
		}
	}
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
			return patch.Describe("read", managed, r.Seed, err)
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
