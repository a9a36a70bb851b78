package cloudcontroller

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/controllers/patch"
)

// Volumes removes volumes whose PersistentVolumes nobody claims any more, with those.
type Volumes struct {
	Shoot  client.Client // reads from the API server
	Events events.EventRecorder
	Account
}

func concernsVolume(v *corev1.PersistentVolume) bool {
	return v.Spec.CSI != nil && v.Spec.CSI.Driver == cloud.CSIDriver &&
		v.Annotations[annotationProvisionedBy] == cloud.CSIDriver
}

// Reconcile looks at one PersistentVolume. One that is to be retained only loses its finalizer.
func (r *Volumes) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	volume := &corev1.PersistentVolume{}
	if err := r.Shoot.Get(ctx, request.NamespacedName, volume); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	deleting := volume.DeletionTimestamp != nil
	unclaimed := volume.Status.Phase == corev1.VolumeReleased || volume.Status.Phase == corev1.VolumeFailed || deleting &&
		volume.Status.Phase != corev1.VolumeBound
	if !concernsVolume(volume) || !unclaimed {
		return reconcile.Result{}, nil
	}
	if volume.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete {
		err := r.remove(ctx, volume)
		warn(r.Events, volume, "VolumeFailedDelete", "Delete", err)
		return reconcile.Result{}, err
	}
	if !deleting {
		return reconcile.Result{}, nil
	}
	return reconcile.Result{}, r.release(ctx, volume)
}

// remove deletes the volume and then its PersistentVolume.
func (r *Volumes) remove(ctx context.Context, v *corev1.PersistentVolume) error {
	if err := discard(ctx, r.Account, r.Cloud.Volumes(), v.Spec.CSI.VolumeHandle); err != nil {
		return fmt.Errorf("delete the volume: %w", err)
	}
	if v.DeletionTimestamp == nil {
		if err := r.Shoot.Delete(ctx, v, client.Preconditions{UID: &v.UID}); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete the PersistentVolume %q: %w", v.Name, err)
		}
		if err := r.Shoot.Get(ctx, client.ObjectKeyFromObject(v), v); err != nil {
			return client.IgnoreNotFound(err)
		}
	}
	return r.release(ctx, v)
}

func (r *Volumes) release(ctx context.Context, v *corev1.PersistentVolume) error {
	if !controllerutil.ContainsFinalizer(v, finalizerProvisioner) {
		return nil
	}
	return client.IgnoreNotFound(patch.LockedObject(ctx, r.Shoot, v, func() {
		controllerutil.RemoveFinalizer(v, finalizerProvisioner)
	}))
}
