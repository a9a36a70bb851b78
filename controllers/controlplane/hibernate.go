package controlplane

import (
	"context"
	"fmt"
	"time"

	storagev1 "k8s.io/api/storage/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/controlplane/lifecycle"
	"github.com/transplant-sim/transplant/controllers/controlplane/objects"
	"github.com/transplant-sim/transplant/controllers/controlplane/workload"
	"github.com/transplant-sim/transplant/controllers/ownership/tenure"
	"github.com/transplant-sim/transplant/controllers/patch"
)

// Hibernate puts the control plane to rest: the workers are gone, and what was attached to them, then the API server,
// then etcd. The DNS records go too; the data stays in etcd's volume and in the backups.
func (o *Operation) Hibernate(ctx context.Context) error {
	if err := o.Await(ctx, 10*time.Minute, "the end of all machines", func(ctx context.Context,
		seed client.Reader) error {
		machines := &machinev1alpha1.MachineList{}
		if err := seed.List(ctx, machines, client.InNamespace(o.Namespace())); err != nil {
			return err
		}
		if len(machines.Items) > 0 {
			return fmt.Errorf("%d machines are left, among them %q", len(machines.Items), machines.Items[0].Name)
		}
		return nil
	}); err != nil {
		return err
	}
	if err := o.ReleaseVolumeAttachments(ctx); err != nil {
		return err
	}
	deployments := []string{workload.ResourceManager, workload.MachineController, workload.Scheduler,
		workload.ControllerManager, workload.KubeAPIServer}
	if lifecycle.RealNodes(o.Shoot) {
		deployments = append(deployments, workload.VPNSeedServer)
	}
	for _, deployment := range deployments {
		if err := o.Workloads.Scale(ctx, deployment, 0); err != nil {
			return err
		}
	}
	if err := o.Workloads.Wait(ctx, workload.KubeAPIServer, 3*time.Minute); err != nil {
		return err
	}
	// Before etcd goes: while it ends nobody says who owns the shoot, and the extension would wait for that.
	if err := o.Objects.DeleteAll(extensionsv1alpha1.DNSRecordResource)(ctx); err != nil {
		return err
	}
	return o.Etcd.Scale(ctx, 0)
}

// WakeUp scales etcd and then the API server of a hibernated shoot to one, and waits for both.
func (o *Operation) WakeUp(ctx context.Context) error {
	here, err := o.Ownership.Survey(ctx)
	if err != nil || !here.Etcd.Exists {
		return err
	}
	// The shoot may be hibernated again, or etcd gone, when that matters.
	if err := o.Ownership.Advance(ctx, tenure.Begun, here.Etcd.Epoch); err != nil {
		return err
	}
	if err := o.Etcd.Scale(ctx, 1); err != nil {
		return err
	}
	if err := o.Etcd.Wait(ctx); err != nil {
		return err
	}
	exists, err := o.Workloads.Exists(ctx, workload.KubeAPIServer)
	if err != nil || !exists {
		return err
	}
	if err := o.Workloads.Scale(ctx, workload.KubeAPIServer, 1); err != nil {
		return err
	}
	return o.Workloads.Wait(ctx, workload.KubeAPIServer, 5*time.Minute)
}

// wakeResourceManager wakes what the resource manager needs to take its objects off the shoot, and itself.
func (o *Operation) wakeResourceManager(ctx context.Context) error {
	if o.MayBeAsleep() {
		if err := o.WakeUp(ctx); err != nil {
			return err
		}
	}
	return o.ResourceManager.Awaken(ctx)
}

// wakeAndDeleteWorker deletes the Worker while the machine controller is awake: only it removes machines.
func (o *Operation) wakeAndDeleteWorker(ctx context.Context) error {
	if o.MayBeAsleep() {
		if err := o.WakeUp(ctx); err != nil {
			return err
		}
		if err := o.Workloads.Scale(ctx, workload.MachineController, 1); err != nil {
			return err
		}
	}
	return o.Objects.DeleteAll(extensionsv1alpha1.WorkerResource)(ctx)
}

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
	awake, err := o.APIServer.Serves(ctx)
	if err != nil || !awake || o.Workerless() {
		return err
	}
	shoot, err := o.Access.Client(ctx)
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
		return objects.Remove(ctx, shoot, a, client.GracePeriodSeconds(0))
	}
	if len(a.Finalizers) == 0 || o.Clock.Since(a.DeletionTimestamp.Time) <= attachmentsFinalize {
		return nil
	}
	o.Log.Info("Finalizers are taken off a volume attachment that does not go", "volumeAttachment", a.Name, "finalizers",
		a.Finalizers)
	return client.IgnoreNotFound(patch.Object(ctx, shoot, a, func() { a.Finalizers = nil }))
}
