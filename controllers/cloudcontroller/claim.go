package cloudcontroller

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/controllers/patch"
)

// Names that Kubernetes and the provisioners of CSI drivers agree on.
const (
	annotationProvisioner   = "volume.kubernetes.io/storage-provisioner"
	annotationSelectedNode  = "volume.kubernetes.io/selected-node"
	annotationProvisionedBy = "pv.kubernetes.io/provisioned-by"
	finalizerProvisioner    = "external-provisioner.volume.kubernetes.io/finalizer"
)

// finalizerClaim keeps a claim while there may be a volume for it that no PersistentVolume stands for yet: nobody else
// would know of it if the claim went in between.
const finalizerClaim = "cloud.transplant.dev/provisioning"

// Claims makes a volume and its PersistentVolume for each claim that is this driver's to serve.
type Claims struct {
	Shoot  client.Client // reads from the API server
	Events events.EventRecorder
	Account
}

func concernsClaim(c *corev1.PersistentVolumeClaim) bool {
	wants := c.Annotations[annotationProvisioner] == cloud.CSIDriver && c.Spec.VolumeName == "" &&
		c.DeletionTimestamp == nil
	return wants || controllerutil.ContainsFinalizer(c, finalizerClaim)
}

func volumeName(c *corev1.PersistentVolumeClaim) string { return cloud.VolumePrefix + string(c.UID) }

// Reconcile serves one claim.
func (r *Claims) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	claim := &corev1.PersistentVolumeClaim{}
	if err := r.Shoot.Get(ctx, request.NamespacedName, claim); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !concernsClaim(claim) {
		return reconcile.Result{}, nil
	}
	act := r.provision
	switch {
	case claim.DeletionTimestamp != nil:
		act = r.abandon
	case claim.Spec.VolumeName != "":
		act = r.release
	}
	err := act(ctx, claim)
	warn(r.Events, claim, "ProvisioningFailed", "Provision", err)
	return reconcile.Result{}, err
}

func (r *Claims) provision(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
	class := &storagev1.StorageClass{}
	if err := r.Shoot.Get(ctx, client.ObjectKey{Name: ptr.Deref(claim.Spec.StorageClassName, "")}, class); err != nil {
		return fmt.Errorf("read the storage class of the claim: %w", err)
	}
	zone, decided, err := r.zone(ctx, claim, class)
	if err != nil || !decided {
		return err
	}
	if !controllerutil.ContainsFinalizer(claim, finalizerClaim) {
		if err := patch.LockedObject(ctx, r.Shoot, claim, func() {
			controllerutil.AddFinalizer(claim, finalizerClaim)
		}); err != nil {
			return err
		}
	}
	volume, err := r.volume(ctx, claim, class, zone)
	if err != nil {
		return err
	}
	made := persistentVolume(claim, class, volume)
	if err := r.Shoot.Create(ctx, made); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create the PersistentVolume: %w", err)
	}
	return r.release(ctx, claim)
}

// abandon takes back what was made for a claim that goes before its volume has a PersistentVolume, with which it would
// go.
func (r *Claims) abandon(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
	err := r.Shoot.Get(ctx, client.ObjectKey{Name: volumeName(claim)}, &corev1.PersistentVolume{})
	if apierrors.IsNotFound(err) {
		err = r.discardVolumes(ctx, claim)
	}
	if err != nil {
		return err
	}
	return r.release(ctx, claim)
}

func (r *Claims) discardVolumes(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
	found, err := r.volumes(ctx, claim)
	if err != nil {
		return err
	}
	for _, volume := range found {
		if err := discard(ctx, r.Account, r.Cloud.Volumes(), volume.ID); err != nil {
			return fmt.Errorf("delete the volume that nobody will claim: %w", err)
		}
	}
	return nil
}

func (r *Claims) release(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
	if !controllerutil.ContainsFinalizer(claim, finalizerClaim) {
		return nil
	}
	return client.IgnoreNotFound(patch.LockedObject(ctx, r.Shoot, claim, func() {
		controllerutil.RemoveFinalizer(claim, finalizerClaim)
	}))
}
