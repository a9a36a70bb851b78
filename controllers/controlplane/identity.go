package controlplane

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
)

// EnsureIdentity gives a new shoot what stays the same for life: technical id, uid and cluster identity
// (docs/specification/api.md#spec-1-2).
func (o *Operation) EnsureIdentity(ctx context.Context) error {
	if o.Shoot.Status.TechnicalID != "" && o.Shoot.Status.UID != "" {
		return nil
	}
	namespace := &corev1.Namespace{}
	if err := o.Garden.Get(ctx, client.ObjectKey{Name: o.Shoot.Namespace}, namespace); err != nil {
		return fmt.Errorf("read the project namespace %q: %w", o.Shoot.Namespace, err)
	}
	return o.patchStatus(ctx, false, func(status *gardencorev1beta1.ShootStatus) {
		status.TechnicalID = TechnicalID(namespace, o.Shoot.Name)
		status.UID = o.Shoot.UID
		identity := status.TechnicalID + "-" + string(o.Shoot.UID)
		status.ClusterIdentity = &identity
	})
}

// TechnicalID is that of a shoot in a project namespace of the garden.
func TechnicalID(namespace *corev1.Namespace, shoot string) string {
	project := namespace.Labels[constants.ProjectName]
	if project == "" {
		project = strings.TrimPrefix(namespace.Name, constants.ProjectNamespacePrefix)
	}
	return constants.TechnicalIDPrefix + project + "--" + shoot
}
