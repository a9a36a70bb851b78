package cloudcontroller

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/controllers/patch"
)

const (
	// finalizerAttacher keeps a VolumeAttachment until the volume is detached.
	finalizerAttacher = "external-attacher/csi-transplant-dev"
	// metadataMachine is the machine that the volume was attached to: the node may be gone when it is detached.
	metadataMachine = "machineID"
)

// Attachments attaches volumes to machines and detaches them, as VolumeAttachments ask for.
type Attachments struct {
	Shoot client.Client // reads from the API server
	Account
}

func concernsAttachment(a *storagev1.VolumeAttachment) bool {
	return a.Spec.Attacher == cloud.CSIDriver && a.Spec.Source.PersistentVolumeName != nil
}

// Reconcile looks at one VolumeAttachment.
func (r *Attachments) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	attachment := &storagev1.VolumeAttachment{}
	if err := r.Shoot.Get(ctx, request.NamespacedName, attachment); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	switch {
	case !concernsAttachment(attachment):
		return reconcile.Result{}, nil
	case attachment.DeletionTimestamp == nil:
		return reconcile.Result{}, r.attach(ctx, attachment)
	case controllerutil.ContainsFinalizer(attachment, finalizerAttacher):
		return reconcile.Result{}, r.detach(ctx, attachment)
	}
	return reconcile.Result{}, nil
}

func (r *Attachments) attach(ctx context.Context, a *storagev1.VolumeAttachment) error {
	if a.Status.Attached {
		return nil
	}
	volume, machine, err := r.find(ctx, a)
	if err == nil && !controllerutil.ContainsFinalizer(a, finalizerAttacher) {
		err = patch.LockedObject(ctx, r.Shoot, a, func() { controllerutil.AddFinalizer(a, finalizerAttacher) })
	}
	if err == nil && volume.MachineID != machine {
		volume.MachineID = machine
		err = r.update(ctx, volume)
	}
	return errors.Join(err, client.IgnoreNotFound(patch.Status(ctx, r.Shoot, a, func() {
		if a.Status.AttachError = nil; err != nil {
			a.Status.AttachError = &storagev1.VolumeError{Time: metav1.Now(), Message: err.Error()}
		} else {
			a.Status.Attached, a.Status.AttachmentMetadata = true, map[string]string{metadataMachine: machine}
		}
	})))
}

// find reads the volume, and the machine that it is to be attached to.
func (r *Attachments) find(ctx context.Context, a *storagev1.VolumeAttachment) (*cloud.Volume, string, error) {
	node := &corev1.Node{}
	if err := r.Shoot.Get(ctx, client.ObjectKey{Name: a.Spec.NodeName}, node); err != nil {
		return nil, "", fmt.Errorf("read the node of the attachment: %w", err)
	}
	machine := machineID(node)
	if machine == "" {
		return nil, "", fmt.Errorf("attach a volume to node %q: it does not say which machine it is", node.Name)
	}
	volume, err := r.volume(ctx, a)
	return volume, machine, err
}

func (r *Attachments) volume(ctx context.Context, a *storagev1.VolumeAttachment) (*cloud.Volume, error) {
	persistent := &corev1.PersistentVolume{}
	if err := r.Shoot.Get(ctx, client.ObjectKey{Name: ptr.Deref(a.Spec.Source.PersistentVolumeName, "")},
		persistent); err != nil {
		return nil, err
	}
	if persistent.Spec.CSI == nil {
		return nil, fmt.Errorf("attach PersistentVolume %q: it has no CSI volume", persistent.Name)
	}
	volume, err := r.Cloud.Volumes().Get(r.scoped(ctx), persistent.Spec.CSI.VolumeHandle)
	if err != nil {
		return nil, fmt.Errorf("read the volume: %w", err)
	}
	return volume, nil
}

func (r *Attachments) update(ctx context.Context, v *cloud.Volume) error {
	return r.own(ctx, func(ctx context.Context, _ map[string]string) error {
		_, err := r.Cloud.Volumes().Update(ctx, v.ID, v)
		return err
	})
}

// detach takes the volume off the machine that it was attached to for this attachment, if it still is.
func (r *Attachments) detach(ctx context.Context, a *storagev1.VolumeAttachment) error {
	volume, err := r.volume(ctx, a)
	switch {
	case err == nil && volume.MachineID != "":
		err = r.release(ctx, a, volume)
	case cloud.IsNotFound(err) || client.IgnoreNotFound(err) == nil:
		err = nil // there is nothing to detach any more
	}
	if err != nil {
		return errors.Join(err, client.IgnoreNotFound(patch.Status(ctx, r.Shoot, a, func() {
			a.Status.DetachError = &storagev1.VolumeError{Time: metav1.Now(), Message: err.Error()}
		})))
	}
	return client.IgnoreNotFound(patch.LockedObject(ctx, r.Shoot, a, func() {
		controllerutil.RemoveFinalizer(a, finalizerAttacher)
	}))
}

// release the volume, unless it is attached for another attachment by now. Where neither note nor node is left to say
// which machine it was, that of no other attachment must be it.
func (r *Attachments) release(ctx context.Context, a *storagev1.VolumeAttachment, volume *cloud.Volume) error {
	switch r.machineOf(ctx, a) {
	case volume.MachineID:
	case "":
		all := &storagev1.VolumeAttachmentList{}
		if err := r.Shoot.List(ctx, all); err != nil {
			return fmt.Errorf("list the volume attachments: %w", err)
		}
		for i := range all.Items {
			other := &all.Items[i]
			same := ptr.Deref(other.Spec.Source.PersistentVolumeName, "") == ptr.Deref(a.Spec.Source.PersistentVolumeName, "")
			if same && other.UID != a.UID {
				return nil
			}
		}
	default:
		return nil
	}
	volume.MachineID = ""
	return r.update(ctx, volume)
}

// machineOf is the machine of an attachment: as noted, or, when the note was lost, that of its node.
func (r *Attachments) machineOf(ctx context.Context, a *storagev1.VolumeAttachment) string {
	if noted := a.Status.AttachmentMetadata[metadataMachine]; noted != "" {
		return noted
	}
	node := &corev1.Node{}
	if err := r.Shoot.Get(ctx, client.ObjectKey{Name: a.Spec.NodeName}, node); err != nil {
		return ""
	}
	return machineID(node)
}
