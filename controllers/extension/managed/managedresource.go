// Package managed has the kinds whose work is objects in a shoot: ControlPlane, Network, ContainerRuntime and
// Extension. It puts the objects into ManagedResources of the control-plane namespace. When a shoot leaves the seed,
// the objects stay in the shoot.
//
// It applies nothing itself: the resource manager of the shoot does. And it does not call the cloud.
package managed

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	resourcesv1alpha1 "github.com/transplant-sim/transplant/api/resources/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/extension/contract"
	"github.com/transplant-sim/transplant/controllers/extension/reference"
	"github.com/transplant-sim/transplant/controllers/patch"
)

// Provider keeps the ManagedResources. Seed reads from the API server, not from a cache.
type Provider struct {
	Seed  client.Client
	Clock clock.PassiveClock
}

// managedResourcePoll is the pause before a ManagedResource is looked at again; its events wake sooner.
const managedResourcePoll = time.Second

// managedResourceSecretPrefix begins the names of the Secrets with the objects of ManagedResources.
const managedResourceSecretPrefix = "managedresource-"

// kindOf is a kind whose work is one ManagedResource.
func kindOf[T extensionsv1alpha1.Object](p *Provider, kindName string, name func(T) string,
	reconcile contract.Act[T]) contract.Kind[T] {
	with := func(do func(ctx context.Context, namespace, name string) error) contract.Act[T] {
		return func(ctx context.Context, _ logr.Logger, obj T, _ *contract.Cluster) error {
			return do(ctx, obj.GetNamespace(), name(obj))
		}
	}
	kind := contract.KindOf[T](kindName)
	kind.Wakes, kind.IgnoresCluster = []client.Object{&resourcesv1alpha1.ManagedResource{}}, true
	kind.OnReconcile, kind.OnDelete = reconcile, with(p.deleteManaged)
	kind.OnForceDelete, kind.OnMigrate = with(p.forceDeleteManaged), with(p.leaveManaged)
	return kind
}

// deployManaged has objects applied to the shoot and kept there (docs/specification/api.md#spec-1-10). The objects are
// keyed by file name.
func (p *Provider) deployManaged(ctx context.Context, by extensionsv1alpha1.Object, name string,
	objects map[string]client.Object) error {
	namespace := by.GetNamespace()
	data := make(map[string][]byte, len(objects))
	for file, object := range objects {
		content, err := yaml.Marshal(object)
		if err != nil {
			return fmt.Errorf("marshal %q of ManagedResource %q: %w", file, name, err)
		}
		data[file] = content
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: managedResourceSecretPrefix + name}}
	if err := contract.Deploy(ctx, p.Seed, by, secret, func(s *corev1.Secret) {
		metav1.SetMetaDataLabel(&s.ObjectMeta, "extensions.gardener.cloud/provider", reference.Type)
		s.Data = data
	}); err != nil {
		return err
	}
	managed := &resourcesv1alpha1.ManagedResource{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	return contract.Deploy(ctx, p.Seed, by, managed, func(m *resourcesv1alpha1.ManagedResource) {
		metav1.SetMetaDataLabel(&m.ObjectMeta, "extensions.gardener.cloud/provider", reference.Type)
		m.Spec.SecretRefs = []corev1.LocalObjectReference{{Name: secret.Name}}
		m.Spec.KeepObjects = ptr.To(false)
		// What belongs to the cluster itself survives its clean-up: users' objects may need it to go
		// (docs/specification/cleanup.md#spec-6-3, docs/specification/nodes-and-seeds.md#spec-7-5).
		if m.Spec.InjectLabels == nil {
			m.Spec.InjectLabels = map[string]string{}
		}
		m.Spec.InjectLabels[constants.ShootNoCleanup] = constants.LabelTrue
	})
}

// deleteManaged takes objects off the shoot again and waits until the resource manager has done so.
func (p *Provider) deleteManaged(ctx context.Context, namespace, name string) error {
	return p.dropManaged(ctx, namespace, name, false)
}

// leaveManaged deletes a ManagedResource and leaves its objects in the shoot (docs/contract.md#clause-b2,
// docs/contract.md#clause-b3). That they are to be kept is written, and so seen by whoever sees the deletion, before
// it.
func (p *Provider) leaveManaged(ctx context.Context, namespace, name string) error {
	return p.dropManaged(ctx, namespace, name, true)
}

func (p *Provider) dropManaged(ctx context.Context, namespace, name string, keep bool) error {
	key := client.ObjectKey{Namespace: namespace, Name: name}
	managed := &resourcesv1alpha1.ManagedResource{}
	err := p.Seed.Get(ctx, key, managed)
	if err == nil {
		if err := p.markForDeletion(ctx, managed, keep); err != nil {
			return err
		}
		// One that nobody holds is gone at once.
		if err = p.Seed.Get(ctx, key, managed); err == nil {
			return contract.WaitingFor(managedResourcePoll, "the deletion of ManagedResource %q", name)
		}
	}
	if !apierrors.IsNotFound(err) {
		return fmt.Errorf("read ManagedResource %q: %w", name, err)
	}
	return reference.Discard(ctx, p.Seed,
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: managedResourceSecretPrefix + name}})
}

func (p *Provider) markForDeletion(ctx context.Context, managed *resourcesv1alpha1.ManagedResource, keep bool) error {
	if ptr.Deref(managed.Spec.KeepObjects, false) != keep {
		err := patch.Object(ctx, p.Seed, managed, func() { managed.Spec.KeepObjects = ptr.To(keep) })
		if client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	if managed.DeletionTimestamp != nil {
		return nil
	}
	return reference.Discard(ctx, p.Seed, managed)
}

// forceDeleteManaged deletes a ManagedResource without waiting for its objects.
func (p *Provider) forceDeleteManaged(ctx context.Context, namespace, name string) error {
	err := p.dropManaged(ctx, namespace, name, true)
	if pending := (&contract.Pending{}); errors.As(err, &pending) {
		return nil
	}
	return err
}
