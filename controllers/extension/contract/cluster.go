package contract

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
)

// Cluster is what an extension may know of the shoot, its seed and its cloud profile: the Cluster object of the
// control-plane namespace, decoded (docs/specification/api.md#spec-1-9). Seed and CloudProfile may be nil.
type Cluster struct {
	Name         string
	Shoot        *gardencorev1beta1.Shoot
	Seed         *gardencorev1beta1.Seed
	CloudProfile *gardencorev1beta1.CloudProfile
}

// ErrNoCluster says that the Cluster object of a namespace does not exist, so that nothing may be done for its objects.
var ErrNoCluster = errors.New("no Cluster for the namespace")

// GetCluster reads and decodes the Cluster of a control-plane namespace.
func GetCluster(ctx context.Context, c client.Reader, namespace string) (*Cluster, error) {
	raw := &extensionsv1alpha1.Cluster{}
	if err := c.Get(ctx, client.ObjectKey{Name: namespace}, raw); apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("%w %q", ErrNoCluster, namespace)
	} else if err != nil {
		return nil, fmt.Errorf("get the Cluster %q: %w", namespace, err)
	}
	cluster := &Cluster{Name: namespace, Shoot: &gardencorev1beta1.Shoot{}}
	if err := decode(raw.Spec.Shoot, cluster.Shoot); err != nil {
		return nil, fmt.Errorf("decode the shoot of the Cluster %q: %w", namespace, err)
	}
	if len(raw.Spec.Seed.Raw) > 0 {
		cluster.Seed = &gardencorev1beta1.Seed{}
		if err := decode(raw.Spec.Seed, cluster.Seed); err != nil {
			return nil, fmt.Errorf("decode the seed of the Cluster %q: %w", namespace, err)
		}
	}
	if len(raw.Spec.CloudProfile.Raw) > 0 {
		cluster.CloudProfile = &gardencorev1beta1.CloudProfile{}
		if err := decode(raw.Spec.CloudProfile, cluster.CloudProfile); err != nil {
			return nil, fmt.Errorf("decode the cloud profile of the Cluster %q: %w", namespace, err)
		}
	}
	return cluster, nil
}

func decode(raw runtime.RawExtension, into any) error {
	if len(raw.Raw) == 0 {
		return errors.New("it is empty")
	}
	return json.Unmarshal(raw.Raw, into)
}

// shootFailed says whether the gardenlet has given the shoot up, so that nothing is done until it says otherwise.
func (c *Cluster) shootFailed() bool {
	if c == nil || c.Shoot == nil || c.Shoot.Status.LastOperation == nil {
		return false
	}
	return c.Shoot.Status.LastOperation.State == gardencorev1beta1.LastOperationStateFailed
}

// forceDeleted says whether the shoot is deleted by force, so that objects go even if what they stand for cannot be
// torn down (docs/specification/extensions.md#spec-3-9).
func (c *Cluster) forceDeleted() bool {
	return c != nil && c.Shoot != nil && c.Shoot.Annotations[constants.ConfirmationForceDeletion] == "true"
}

// Hibernated says whether the shoot is meant to sleep.
func (c *Cluster) Hibernated() bool {
	if c == nil || c.Shoot == nil || c.Shoot.Spec.Hibernation == nil {
		return false
	}
	enabled := c.Shoot.Spec.Hibernation.Enabled
	return enabled != nil && *enabled
}

// Leaving says what takes the shoot off this seed for good, in words that follow "the shoot"; empty for nothing.
func (c *Cluster) Leaving() string {
	if c == nil || c.Shoot == nil {
		return ""
	}
	last := c.Shoot.Status.LastOperation
	switch {
	case last != nil && last.Type == gardencorev1beta1.LastOperationTypeMigrate:
		return "is on its way to another seed"
	case c.Shoot.DeletionTimestamp != nil:
		return "is being deleted"
	}
	return ""
}
