package workers

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	extensionsv1alpha1 "github.com/transplant-sim/transplant/api/extensions/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/patch"
	"github.com/transplant-sim/transplant/controllers/rollout"
)

// pools are the pools of the Worker (docs/specification/api.md#spec-1-9).
func (w *Workers) pools(ctx context.Context) ([]extensionsv1alpha1.WorkerPool, error) {
	var pools []extensionsv1alpha1.WorkerPool
	for _, worker := range w.Shoot.Spec.Provider.Workers {
		userData, err := w.userDataRef(ctx, worker.Name)
		if err != nil {
			return nil, err
		}
		key, err := w.nodes.agentSecretName(worker)
		if err != nil {
			return nil, err
		}
		surge, unavailable := updateBounds(worker)
		pool := extensionsv1alpha1.WorkerPool{
			Name:              worker.Name,
			MachineType:       worker.Machine.Type,
			Architecture:      worker.Machine.Architecture,
			Minimum:           worker.Minimum,
			Maximum:           worker.Maximum,
			MaxSurge:          surge,
			MaxUnavailable:    unavailable,
			Labels:            poolLabels(worker, key),
			Annotations:       worker.Annotations,
			Taints:            worker.Taints,
			Zones:             worker.Zones,
			UserDataSecretRef: *userData,
			ProviderConfig:    worker.ProviderConfig,
			KubernetesVersion: ptr.To(worker.KubernetesVersion(w.Shoot)),
			Priority:          worker.Priority,
			UpdateStrategy:    worker.UpdateStrategy,
			KubeletConfig:     kubeletConfig(w.Shoot, worker),
			// Nothing here acts on these: they are for the extension, and for an autoscaler.
			KubeletDataVolumeName: worker.KubeletDataVolumeName,
			DataVolumes:           dataVolumes(worker),
			ClusterAutoscaler:     autoscalerOptions(worker.ClusterAutoscaler),
			// What nodes that run take over, and by which they roll.
			NodeAgentSecretName:              &key,
			MachineControllerManagerSettings: worker.MachineControllerManagerSettings,
		}
		if volume := worker.Volume; volume != nil {
			pool.Volume = &extensionsv1alpha1.Volume{Name: volume.Name, Type: volume.Type, Size: volume.VolumeSize,
				Encrypted: volume.Encrypted}
		}
		if image := worker.Machine.Image; image != nil {
			pool.MachineImage = extensionsv1alpha1.MachineImage{Name: image.Name, Version: ptr.Deref(image.Version, "")}
		}
		if w.Hibernated() {
			pool.Minimum, pool.Maximum = 0, 0
		}
		pools = append(pools, pool)
	}
	return pools, nil
}

// updateBounds are how many machines more, and less, than wanted there may be during an update: one more where nodes
// are replaced, one less where they are kept, unless the pool says otherwise.
func updateBounds(worker gardencorev1beta1.Worker) (surge, unavailable intstr.IntOrString) {
	more, less := intstr.FromInt32(1), intstr.FromInt32(0)
	if worker.UpdatesInPlace() {
		more, less = less, more
	}
	return ptr.Deref(worker.MaxSurge, more), ptr.Deref(worker.MaxUnavailable, less)
}

// poolLabels are those of the nodes of a pool: its own, and by which Secret their agents are configured.
func poolLabels(worker gardencorev1beta1.Worker, agentSecret string) map[string]string {
	labels := map[string]string{}
	maps.Copy(labels, worker.Labels)
	labels[constants.WorkerPool] = worker.Name
	labels[constants.NodeAgentSecretName] = agentSecret
	return labels
}

// kubeletConfig is that of a pool: its own, or the shoot's.
func kubeletConfig(shoot *gardencorev1beta1.Shoot, worker gardencorev1beta1.Worker) *gardencorev1beta1.KubeletConfig {
	if worker.Kubernetes != nil && worker.Kubernetes.Kubelet != nil {
		return worker.Kubernetes.Kubelet
	}
	return shoot.Spec.Kubernetes.Kubelet
}

func dataVolumes(worker gardencorev1beta1.Worker) []extensionsv1alpha1.DataVolume {
	var volumes []extensionsv1alpha1.DataVolume
	for _, v := range worker.DataVolumes {
		volumes = append(volumes, extensionsv1alpha1.DataVolume{Name: v.Name, Type: v.Type, Size: v.VolumeSize,
			Encrypted: v.Encrypted})
	}
	return volumes
}

// autoscalerOptions are those of the pool; a Worker has its shares as text.
func autoscalerOptions(
	options *gardencorev1beta1.ClusterAutoscalerOptions) *extensionsv1alpha1.ClusterAutoscalerOptions {
	if options == nil {
		return nil
	}
	share := func(value *float64) *string {
		if value == nil {
			return nil
		}
		return ptr.To(strconv.FormatFloat(*value, 'f', -1, 64))
	}
	return &extensionsv1alpha1.ClusterAutoscalerOptions{
		ScaleDownUtilizationThreshold:    share(options.ScaleDownUtilizationThreshold),
		ScaleDownGpuUtilizationThreshold: share(options.ScaleDownGpuUtilizationThreshold),
		ScaleDownUnneededTime:            options.ScaleDownUnneededTime,
		ScaleDownUnreadyTime:             options.ScaleDownUnreadyTime,
		MaxNodeProvisionTime:             options.MaxNodeProvisionTime,
	}
}

// NotePendingInPlace says in the shoot's status which pools are to be updated in place, before anybody begins with it
// (docs/specification/versions.md#spec-4-9).
func (w *Workers) NotePendingInPlace(ctx context.Context) error { return w.settleInPlace(ctx, false) }

// SettlePendingInPlace says which of them are left once the worker pools are ready: those that wait for users.
func (w *Workers) SettlePendingInPlace(ctx context.Context) error {
	return w.settleInPlace(ctx, true)
}

func (w *Workers) settleInPlace(ctx context.Context, ready bool) error {
	if w.Shoot.Status.InPlaceUpdates == nil && !slices.ContainsFunc(w.Shoot.Spec.Provider.Workers, updatesInPlace) {
		return nil
	}
	worker := w.object()
	if err := w.Seed.Get(ctx, w.Key(worker.Name), worker); client.IgnoreNotFound(err) != nil {
		return patch.Describe("read", worker, w.Seed, err)
	} else if apierrors.IsNotFound(err) && w.Shoot.Status.InPlaceUpdates == nil {
		return nil // it is being made, with nothing to update
	}
	wanted, err := InPlaceAfter(w.Shoot, worker, ready)
	if err != nil || equality.Semantic.DeepEqual(wanted, w.Shoot.Status.InPlaceUpdates) && !ready {
		return err
	}
	return w.status.Patch(ctx, func(status *gardencorev1beta1.ShootStatus) { status.InPlaceUpdates = wanted })
}

func updatesInPlace(pool gardencorev1beta1.Worker) bool { return pool.UpdatesInPlace() }

// InPlaceAfter is the shoot's status.inPlaceUpdates by what its Worker says that its machines are at
// (docs/specification/versions.md#spec-4-9). Of a pool of which the Worker says nothing, as after a move to another
// seed, what was known stays. Pools that are updated automatically are done when the Worker is ready.
func InPlaceAfter(shoot *gardencorev1beta1.Shoot, worker *extensionsv1alpha1.Worker,
	ready bool) (*gardencorev1beta1.InPlaceUpdatesStatus, error) {
	before := map[string]bool{}
	if updates := shoot.Status.InPlaceUpdates; updates != nil && updates.PendingWorkerUpdates != nil {
		for _, pool := range slices.Concat(updates.PendingWorkerUpdates.AutoInPlaceUpdate,
			updates.PendingWorkerUpdates.ManualInPlaceUpdate) {
			before[pool] = true
		}
	}
	at := map[string]string{}
	if worker.Status.InPlaceUpdates != nil {
		at = maps.Clone(worker.Status.InPlaceUpdates.WorkerPoolToHashMap)
	}
	pending := gardencorev1beta1.PendingWorkerUpdates{}
	for i := range shoot.Spec.Provider.Workers {
		pool := &shoot.Spec.Provider.Workers[i]
		if !pool.UpdatesInPlace() {
			continue
		}
		wanted, err := rollout.InPlaceFingerprint(shoot, pool)
		if err != nil {
			return nil, fmt.Errorf("find what pool %q is updated to in place: %w", pool.Name, err)
		}
		automatic := *pool.UpdateStrategy == gardencorev1beta1.AutoInPlaceUpdate
		is, known := at[pool.Name]
		switch {
		case known && is == wanted, !known && !before[pool.Name], automatic && ready:
		case automatic:
			pending.AutoInPlaceUpdate = append(pending.AutoInPlaceUpdate, pool.Name)
		default:
			pending.ManualInPlaceUpdate = append(pending.ManualInPlaceUpdate, pool.Name)
		}
	}
	if len(pending.AutoInPlaceUpdate)+len(pending.ManualInPlaceUpdate) == 0 {
		return nil, nil
	}
	return &gardencorev1beta1.InPlaceUpdatesStatus{PendingWorkerUpdates: &pending}, nil
}
