package extensions

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/controlplane/objects"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
)

// Cluster is the Cluster object, by which extensions learn of the shoot.
type Cluster struct{ *scope.Scope }

// Sync writes the Cluster object, by which extensions learn of the shoot, from the raw objects of the
// garden, so that fields which our types do not model reach them (docs/specification/api.md#spec-1-9).
func (u *Cluster) Sync(ctx context.Context) error {
	shoot, err := u.raw(ctx, "Shoot", u.Shoot.Namespace, u.Shoot.Name)
	if err != nil {
		return err
	}
	seed, err := u.raw(ctx, "Seed", "", u.SeedName)
	if err != nil {
		return err
	}
	profileName := ptr.Deref(u.Shoot.Spec.CloudProfileName, "")
	if u.Shoot.Spec.CloudProfile != nil {
		profileName = u.Shoot.Spec.CloudProfile.Name
	}
	profile, err := u.raw(ctx, "CloudProfile", "", profileName)
	if err != nil {
		return err
	}
	cluster := &extensionsv1alpha1.Cluster{}
	cluster.Name = u.Namespace()
	return objects.CreateOrPatch(ctx, u.Seed, cluster, func(c *extensionsv1alpha1.Cluster) error {
		c.Spec.Shoot, c.Spec.Seed, c.Spec.CloudProfile = *shoot, *seed, *profile
		return nil
	})
}

// ReportFailed lets extensions know of a shoot whose operation has failed for good, if they do not: they stop as well,
// until the next flow begins (docs/specification/extensions.md#spec-3-2). A Cluster that there is not is not made for
// it.
func (u *Cluster) ReportFailed(ctx context.Context) error {
	cluster := &extensionsv1alpha1.Cluster{}
	cluster.Name = u.Namespace()
	if err := u.Seed.Get(ctx, client.ObjectKeyFromObject(cluster), cluster); err != nil {
		return objects.Describe("read", cluster, u.Seed, client.IgnoreNotFound(err))
	}
	known := &gardencorev1beta1.Shoot{}
	if err := json.Unmarshal(cluster.Spec.Shoot.Raw, known); err != nil {
		return fmt.Errorf("read the shoot of Cluster %q: %w", cluster.Name, err)
	}
	if last := known.Status.LastOperation; last != nil && last.State == gardencorev1beta1.LastOperationStateFailed {
		return nil
	}
	shoot, err := u.raw(ctx, "Shoot", u.Shoot.Namespace, u.Shoot.Name)
	if err != nil {
		return err
	}
	before := cluster.DeepCopy()
	cluster.Spec.Shoot = *shoot
	return objects.Describe("patch", cluster, u.Seed,
		client.IgnoreNotFound(u.Seed.Patch(ctx, cluster, client.MergeFrom(before))))
}

func (u *Cluster) raw(ctx context.Context, kind, namespace, name string) (*runtime.RawExtension, error) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(gardencorev1beta1.SchemeGroupVersion.WithKind(kind))
	if err := u.Garden.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, object); err != nil {
		return nil, fmt.Errorf("read %s %q: %w", kind, name, err)
	}
	object.SetManagedFields(nil)
	data, err := json.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("encode %s %q: %w", kind, name, err)
	}
	return &runtime.RawExtension{Raw: data}, nil
}

// Delete deletes the Cluster object.
func (u *Cluster) Delete(ctx context.Context) error {
	cluster := &extensionsv1alpha1.Cluster{}
	cluster.Name = u.Namespace()
	return objects.Remove(ctx, u.Seed, cluster)
}
