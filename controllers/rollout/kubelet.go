package rollout

import (
	"cmp"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// kubelet are the kubelet's settings that count. A pool's settings replace the shoot's as a whole
// (docs/specification/versions.md#spec-4-11-8).
func kubelet(shoot *gardencorev1beta1.Shoot, worker *gardencorev1beta1.Worker) []ingredient {
	config := shoot.Spec.Kubernetes.Kubelet
	if worker.Kubernetes != nil && worker.Kubernetes.Kubelet != nil {
		config = worker.Kubernetes.Kubelet
	}
	config = cmp.Or(config, &gardencorev1beta1.KubeletConfig{})
	policy := ""
	if config.CPUManagerPolicy != nil {
		policy = *config.CPUManagerPolicy
	}
	return []ingredient{
		{field: kubernetesField(worker, "kubelet.kubeReserved"), value: reserved(config.KubeReserved, config.SystemReserved),
			inPlace: true},
		{field: kubernetesField(worker, "kubelet.evictionHard"), value: eviction(config.EvictionHard), inPlace: true},
		{field: kubernetesField(worker, "kubelet.cpuManagerPolicy"), value: policy, inPlace: true},
	}
}

// reserved is the sum of what is reserved for Kubernetes and for the system: only it counts.
func reserved(kube, system *gardencorev1beta1.KubeletConfigReserved) string {
	if kube == nil && system == nil {
		return ""
	}
	kube = cmp.Or(kube, &gardencorev1beta1.KubeletConfigReserved{})
	system = cmp.Or(system, &gardencorev1beta1.KubeletConfigReserved{})
	return "cpu=" + sum(kube.CPU, system.CPU) + ",memory=" + sum(kube.Memory, system.Memory) +
		",pid=" + sum(kube.PID, system.PID) + ",ephemeralStorage=" + sum(kube.EphemeralStorage, system.EphemeralStorage)
}

// sum adds quantities; the same amount always reads the same, however it was written.
func sum(a, b *resource.Quantity) string {
	var total resource.Quantity
	for _, q := range []*resource.Quantity{a, b} {
		if q != nil {
			total.Add(*q)
		}
	}
	if a == nil && b == nil {
		return ""
	}
	return resource.NewDecimalQuantity(*total.AsDec(), resource.DecimalSI).String()
}

// eviction are the thresholds; none at all is not the same as an empty list, which takes the kubelet's own away.
func eviction(hard *gardencorev1beta1.KubeletConfigEviction) string {
	if hard == nil {
		return ""
	}
	var all []string
	for _, threshold := range []struct {
		name  string
		value *string
	}{
		{"imageFSAvailable", hard.ImageFSAvailable}, {"imageFSInodesFree", hard.ImageFSInodesFree},
		{"memoryAvailable", hard.MemoryAvailable}, {"nodeFSAvailable", hard.NodeFSAvailable},
		{"nodeFSInodesFree", hard.NodeFSInodesFree},
	} {
		if ptr.Deref(threshold.value, "") != "" {
			all = append(all, threshold.name+"="+*threshold.value)
		}
	}
	return "{" + strings.Join(all, ",") + "}"
}
