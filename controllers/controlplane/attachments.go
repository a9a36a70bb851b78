package controlplane

import (
	"context"
	"fmt"
	"time"

	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// attachmentsTimeout bounds the wait for the end of VolumeAttachments.
	attachmentsTimeout = 10 * time.Minute
	// attachmentsFinalize is how long after its deletion a VolumeAttachment's finalizers are taken off
	// (docs/specification/cleanup.md#spec-6-7).
	attachmentsFinalize = 5 * time.Minute
)

// ReleaseVolumeAttachments deletes the VolumeAttachments of a shoot whose nodes are gone, and waits until they are
// (docs/specification/cleanup.md#spec-6-7): once it sleeps nobody detaches anything, and volumes would stay attached
// to machines that there are no more. Where the API server does not run there is nothing to do it with.
func (o *Operation) ReleaseVolumeAttachments(ctx context.Context) error {
	awake, err := o.serves(ctx)
	if err != nil || !awake || o.Workerless() {
		return err
	}
	shoot, err := o.ShootClient(ctx)
	if err != nil {
		return err
	}
	return o.Until(ctx, attachmentsTimeout, "the end of the volume attachments", func(ctx context.Context) error {
		attachments := &storagev1.VolumeAttachmentList{}
		if err := shoot.List(ctx, attachments); err != nil {
			return fmt.Errorf("list the volume attachments of the shoot: %w", err)
		}
		if len(attachments.Items) == 0 {
			return nil
		}
		for i := range attachments.Items {
			if err := o.release(ctx, shoot, &attachments.Items[i]); err != nil {
				return err
			}
		}
		return fmt.Errorf("%d are left, among them %q", len(attachments.Items), attachments.Items[0].Name)
	})
}

func (o *Operation) release(ctx context.Context, shoot client.Client, a *storagev1.VolumeAttachment) error {
	if a.DeletionTimestamp == nil {
		if err := shoot.Delete(ctx, a, client.GracePeriodSeconds(0)); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete volume attachment %q: %w", a.Name, err)
		}
		return nil
	}
	if len(a.Finalizers) == 0 || o.Clock.Since(a.DeletionTimestamp.Time) <= attachmentsFinalize {
		return nil
	}
	o.Log.Info("Finalizers are taken off a volume attachment that does not go", "volumeAttachment", a.Name, "finalizers",
		a.Finalizers)
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
	if err := shoot.Patch(ctx, a, patch); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("take the finalizers off volume attachment %q: %w", a.Name, err)
	}
	return nil
}
