// Package namespace is the control-plane namespace of a shoot in the seed, and what is copied into it: credentials, and
// objects of the project. How far an epoch has come in it is package owner's.
package namespace

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	resourcesv1alpha1 "github.com/transplant-sim/transplant/api/resources/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/controlplane/extensions"
	"github.com/transplant-sim/transplant/controllers/controlplane/objects"
	"github.com/transplant-sim/transplant/controllers/controlplane/owner"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
	"github.com/transplant-sim/transplant/controllers/ownership/tenure"
	"github.com/transplant-sim/transplant/controllers/patch"
)

// Namespace is the control-plane namespace of a shoot.
type Namespace struct {
	*scope.Scope
	extensions *extensions.Extensions
}

// New makes it over a scope.
func New(s *scope.Scope) *Namespace {
	return &Namespace{Scope: s, extensions: extensions.NewExtensions(s)}
}

// annotationShoot names the shoot, as namespace/name, on its control-plane namespace.
const annotationShoot = "transplant.dev/shoot"

// labelRoleShoot marks control-plane namespaces: the gateway and the extensions select by it.
var labelRoleShoot = map[string]string{constants.GardenRole: constants.GardenRoleShoot}

// Deploy deploys the control-plane namespace, which carries the epoch this seed acts in, and where it is
// decided: while no guard runs, extensions read that themselves (docs/adr/0013). From then on they may work in it.
func (n *Namespace) Deploy(ctx context.Context) error {
	namespace, err := n.ReadNamespace(ctx)
	if err == nil && namespace.DeletionTimestamp != nil {
		return fmt.Errorf("namespace %q is still being deleted", namespace.Name)
	}
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read namespace %q: %w", n.Namespace(), err)
	}
	missing := err != nil
	labels, err := n.labels(ctx)
	if err != nil {
		return err
	}
	shape := func(here tenure.Tenure, namespace *corev1.Namespace) {
		maps.DeleteFunc(namespace.Labels, func(label, _ string) bool {
			return strings.HasPrefix(label, extensionLabelPrefix) && labels[label] == ""
		})
		for label, value := range labels {
			metav1.SetMetaDataLabel(&namespace.ObjectMeta, label, value)
		}
		here.Advance(namespace, tenure.Claimed, n.Epoch)
		for annotation, value := range map[string]string{
			constants.OwnershipOwner:  string(n.SeedObject.UID),
			constants.OwnershipRecord: n.OwnerRecordName(),
			annotationShoot:           n.Shoot.Namespace + "/" + n.Shoot.Name,
		} {
			metav1.SetMetaDataAnnotation(&namespace.ObjectMeta, annotation, value)
		}
	}
	if missing {
		// The epoch is there from the beginning: a namespace without one is that of a seed that cleans up.
		namespace = &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: n.Namespace()}}
		shape(tenure.Tenure{}, namespace)
		err = n.Seed.Create(ctx, namespace, objects.FieldOwner)
		missing = !apierrors.IsAlreadyExists(err)
		n.Fresh = err == nil
		if missing && err != nil {
			return patch.Describe("create", namespace, n.Seed, err)
		}
	}
	if !missing {
		if err := owner.PatchNamespace(ctx, n.Seed, n.Namespace(), shape); err != nil {
			return err
		}
	}
	return n.grantExtensions(ctx)
}

// extensionLabelPrefix, followed by a type, is the label of namespaces of shoots that have an extension of that type.
// Webhooks of extensions select by it, so that they are asked about no other shoot.
const extensionLabelPrefix = "extensions.extensions.gardener.cloud/"

func (n *Namespace) labels(ctx context.Context) (map[string]string, error) {
	extensions, err := n.extensions.Wanted(ctx)
	if err != nil {
		return nil, err
	}
	labels := maps.Clone(labelRoleShoot)
	for _, extension := range extensions {
		labels[extensionLabelPrefix+extension.Spec.Type] = constants.LabelTrue
	}
	return labels, nil
}

// Delete deletes the control-plane namespace and waits until it is gone.
func (n *Namespace) Delete(ctx context.Context) error {
	if err := n.deleteManagedResources(ctx); err != nil {
		return err
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: n.Namespace()}}
	if err := objects.Remove(ctx, n.Seed, namespace); err != nil {
		return err
	}
	return n.Until(ctx, 15*time.Minute, "the end of namespace "+n.Namespace(), func(ctx context.Context) error {
		return objects.Gone(ctx, n.Seed, namespace)
	})
}

// deleteManagedResources deletes the ManagedResources of class seed that extensions have left, and waits until the
// resource manager of the seed has released all of them: it has no rights any more once the namespace is being deleted.
func (n *Namespace) deleteManagedResources(ctx context.Context) error {
	left := &resourcesv1alpha1.ManagedResourceList{}
	if err := n.Seed.List(ctx, left, client.InNamespace(n.Namespace())); err != nil {
		return fmt.Errorf("list the managed resources: %w", err)
	}
	ofSeed := slices.DeleteFunc(left.Items, func(managed resourcesv1alpha1.ManagedResource) bool {
		return ptr.Deref(managed.Spec.Class, "") != resourcesv1alpha1.ClassSeed
	})
	eachOf := func(do func(managed *resourcesv1alpha1.ManagedResource) error) error {
		var errs []error
		for i := range ofSeed {
			errs = append(errs, do(&ofSeed[i]))
		}
		return errors.Join(errs...)
	}
	if err := eachOf(func(managed *resourcesv1alpha1.ManagedResource) error {
		return objects.Remove(ctx, n.Seed, managed)
	}); err != nil {
		return err
	}
	return n.Until(ctx, 10*time.Minute, "the end of the managed resources of class seed",
		func(ctx context.Context) error {
			return eachOf(func(managed *resourcesv1alpha1.ManagedResource) error { return objects.Gone(ctx, n.Seed, managed) })
		})
}

// grantExtensions binds the roles of the seed's extensions in the control-plane namespace, before there is an object
// for them. The bindings end with the namespace, which outlives those objects (docs/adr/0017).
func (n *Namespace) grantExtensions(ctx context.Context) error {
	for _, role := range slices.Sorted(maps.Keys(n.ExtensionRoles)) {
		if err := objects.Apply(ctx, n.Seed,
			objects.RoleBinding(n.Meta(role), "ClusterRole", n.ExtensionRoles[role])); err != nil {
			return err
		}
	}
	return nil
}

// ShootOf names the shoot whose control plane a namespace holds.
func ShootOf(namespace *corev1.Namespace) (client.ObjectKey, bool) {
	project, name, found := strings.Cut(namespace.Annotations[annotationShoot], "/")
	return client.ObjectKey{Namespace: project, Name: name}, found
}
