package cleanup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/transplant-sim/transplant/controllers/controlplane"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
)

// provisionedBy is the annotation of PersistentVolumes that a provisioner has made, and so removes.
const provisionedBy = "pv.kubernetes.io/provisioned-by"

// volumes waits until the volumes in the cloud have gone whose claims the clean-up has deleted: their nodes are still
// there, and so is the driver that removes them. Load balancers need no such wait, their Services have gone only after
// them.
//
// PersistentVolumes are none of the kinds that are cleaned up (docs/specification/cleanup.md#spec-6-3), so that the
// wait ends when their claims would have lost their finalizers: what is left in the cloud then is the Infrastructure
// extension's to remove (docs/specification/cleanup.md#spec-6-7). It lasts no longer than a step does by default, for
// no status says meanwhile what it waits for.
func (c *Cleaner) volumes(o *controlplane.Operation) func(context.Context) error {
	return func(ctx context.Context) error {
		serves, err := o.APIServer.HasServed(ctx)
		if err != nil || !serves {
			return err
		}
		s, err := c.open(ctx, o, KubernetesResources)
		if err != nil {
			return err
		}
		defer s.close()
		periods, err := PeriodsOf(KubernetesResources, s.annotations(ctx))
		if err != nil || periods.Finalize == 0 {
			return err
		}
		err = o.Until(ctx, min(periods.Finalize, DefaultTimeout), "the end of the volumes that nobody claims any more",
			s.volumesGone)
		if late := (*scope.TimeoutError)(nil); errors.As(err, &late) && ctx.Err() == nil {
			o.Log.Info("Volumes are left to the Infrastructure extension", "reason", late.Error())
			return nil
		}
		return err
	}
}

func (s *sweep) volumesGone(ctx context.Context) error {
	volumes, claims := &corev1.PersistentVolumeList{}, &corev1.PersistentVolumeClaimList{}
	if err := errors.Join(s.shoot.List(ctx, volumes), s.shoot.List(ctx, claims)); err != nil {
		return fmt.Errorf("list the volumes of the shoot and their claims: %w", err)
	}
	left := unclaimed(volumes.Items, claims.Items)
	if len(left) == 0 {
		return nil
	}
	return fmt.Errorf("%d are still present: %s", len(left), strings.Join(left[:min(len(left), mostNamed)], ", "))
}

// unclaimed are the names of volumes that are to be deleted because the claims they were made for are gone.
func unclaimed(volumes []corev1.PersistentVolume, claims []corev1.PersistentVolumeClaim) []string {
	there := map[types.UID]bool{}
	for _, claim := range claims {
		there[claim.UID] = true
	}
	var names []string
	for _, v := range volumes {
		claim := v.Spec.ClaimRef
		if v.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete &&
			v.Annotations[provisionedBy] != "" &&
			claim != nil && claim.UID != "" && !there[claim.UID] {
			names = append(names, fmt.Sprintf("PersistentVolume %s (of %s/%s)", v.Name, claim.Namespace, claim.Name))
		}
	}
	slices.Sort(names)
	return names
}
