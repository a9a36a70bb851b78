package v1beta1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// KubeletConfig configures kubelets. Some fields decide about rolling updates
// (docs/specification/versions.md#spec-4-8).
type KubeletConfig struct {
	KubernetesConfig `json:",inline"`

	// CPUCFSQuota is whether CPU limits are enforced.
	CPUCFSQuota *bool `json:"cpuCFSQuota,omitempty"`
	// CPUManagerPolicy is the policy of the CPU manager.
	CPUManagerPolicy *string `json:"cpuManagerPolicy,omitempty"`
	// EvictionHard are the thresholds of eviction without grace.
	EvictionHard *KubeletConfigEviction `json:"evictionHard,omitempty"`
	// EvictionMaxPodGracePeriod is the longest grace, in seconds.
	EvictionMaxPodGracePeriod *int32 `json:"evictionMaxPodGracePeriod,omitempty"`
	// EvictionMinimumReclaim is the least to be reclaimed.
	EvictionMinimumReclaim *KubeletConfigEvictionMinimumReclaim `json:"evictionMinimumReclaim,omitempty"`
	// EvictionPressureTransitionPeriod is how long pressure lasts at least.
	EvictionPressureTransitionPeriod *metav1.Duration `json:"evictionPressureTransitionPeriod,omitempty"`
	// EvictionSoft are the thresholds of eviction with grace.
	EvictionSoft *KubeletConfigEviction `json:"evictionSoft,omitempty"`
	// EvictionSoftGracePeriod are the graces of EvictionSoft.
	EvictionSoftGracePeriod *KubeletConfigEvictionSoftGracePeriod `json:"evictionSoftGracePeriod,omitempty"`
	// MaxPods is the most pods on a node.
	MaxPods *int32 `json:"maxPods,omitempty"`
	// PodPIDsLimit is the most processes in a pod.
	PodPIDsLimit *int64 `json:"podPidsLimit,omitempty"`
	// FailSwapOn refuses to start where swap is on.
	FailSwapOn *bool `json:"failSwapOn,omitempty"`
	// KubeReserved is reserved for Kubernetes.
	KubeReserved *KubeletConfigReserved `json:"kubeReserved,omitempty"`
	// SystemReserved is reserved for the system (old form).
	SystemReserved *KubeletConfigReserved `json:"systemReserved,omitempty"`
	// ImageGCHighThresholdPercent is the disk use that starts the clean-up of images.
	ImageGCHighThresholdPercent *int32 `json:"imageGCHighThresholdPercent,omitempty"`
	// ImageGCLowThresholdPercent is the disk use that ends it.
	ImageGCLowThresholdPercent *int32 `json:"imageGCLowThresholdPercent,omitempty"`
	// SerializeImagePulls pulls one image at a time.
	SerializeImagePulls *bool `json:"serializeImagePulls,omitempty"`
	// RegistryPullQPS limits pulls a second.
	RegistryPullQPS *int32 `json:"registryPullQPS,omitempty"`
	// RegistryBurst is the burst of pulls.
	RegistryBurst *int32 `json:"registryBurst,omitempty"`
	// SeccompDefault uses the runtime's seccomp profile by default.
	SeccompDefault *bool `json:"seccompDefault,omitempty"`
	// ContainerLogMaxSize is when a container's log is rotated.
	ContainerLogMaxSize *resource.Quantity `json:"containerLogMaxSize,omitempty"`
	// ContainerLogMaxFiles is how many logs are kept.
	ContainerLogMaxFiles *int32 `json:"containerLogMaxFiles,omitempty"`
	// ProtectKernelDefaults refuses kernel settings other than the kubelet's.
	ProtectKernelDefaults *bool `json:"protectKernelDefaults,omitempty"`
	// StreamingConnectionIdleTimeout closes idle streams.
	StreamingConnectionIdleTimeout *metav1.Duration `json:"streamingConnectionIdleTimeout,omitempty"`
	// MemorySwap configures swap for containers.
	MemorySwap *MemorySwapConfiguration `json:"memorySwap,omitempty"`
	// MaxParallelImagePulls limits pulls at a time.
	MaxParallelImagePulls *int32 `json:"maxParallelImagePulls,omitempty"`
	// ImageMinimumGCAge is the least age of an image that is cleaned up.
	ImageMinimumGCAge *metav1.Duration `json:"imageMinimumGCAge,omitempty"`
	// ImageMaximumGCAge is the age at which an unused image is cleaned up.
	ImageMaximumGCAge *metav1.Duration `json:"imageMaximumGCAge,omitempty"`
}

// KubeletConfigEviction are thresholds of eviction, quantities or percentages.
type KubeletConfigEviction struct {
	// MemoryAvailable is about free memory.
	MemoryAvailable *string `json:"memoryAvailable,omitempty"`
	// ImageFSAvailable is about free space for images.
	ImageFSAvailable *string `json:"imageFSAvailable,omitempty"`
	// ImageFSInodesFree is about free inodes for images.
	ImageFSInodesFree *string `json:"imageFSInodesFree,omitempty"`
	// NodeFSAvailable is about free space of the node.
	NodeFSAvailable *string `json:"nodeFSAvailable,omitempty"`
	// NodeFSInodesFree is about free inodes of the node.
	NodeFSInodesFree *string `json:"nodeFSInodesFree,omitempty"`
}

// KubeletConfigEvictionMinimumReclaim is the least to be reclaimed.
type KubeletConfigEvictionMinimumReclaim struct {
	// MemoryAvailable is about memory.
	MemoryAvailable *resource.Quantity `json:"memoryAvailable,omitempty"`
	// ImageFSAvailable is about space for images.
	ImageFSAvailable *resource.Quantity `json:"imageFSAvailable,omitempty"`
	// ImageFSInodesFree is about inodes for images.
	ImageFSInodesFree *resource.Quantity `json:"imageFSInodesFree,omitempty"`
	// NodeFSAvailable is about space of the node.
	NodeFSAvailable *resource.Quantity `json:"nodeFSAvailable,omitempty"`
	// NodeFSInodesFree is about inodes of the node.
	NodeFSInodesFree *resource.Quantity `json:"nodeFSInodesFree,omitempty"`
}

// KubeletConfigEvictionSoftGracePeriod are graces of eviction.
type KubeletConfigEvictionSoftGracePeriod struct {
	// MemoryAvailable is about memory.
	MemoryAvailable *metav1.Duration `json:"memoryAvailable,omitempty"`
	// ImageFSAvailable is about space for images.
	ImageFSAvailable *metav1.Duration `json:"imageFSAvailable,omitempty"`
	// ImageFSInodesFree is about inodes for images.
	ImageFSInodesFree *metav1.Duration `json:"imageFSInodesFree,omitempty"`
	// NodeFSAvailable is about space of the node.
	NodeFSAvailable *metav1.Duration `json:"nodeFSAvailable,omitempty"`
	// NodeFSInodesFree is about inodes of the node.
	NodeFSInodesFree *metav1.Duration `json:"nodeFSInodesFree,omitempty"`
}

// KubeletConfigReserved are resources reserved on a node.
type KubeletConfigReserved struct {
	// CPU is the reserved CPU.
	CPU *resource.Quantity `json:"cpu,omitempty"`
	// Memory is the reserved memory.
	Memory *resource.Quantity `json:"memory,omitempty"`
	// EphemeralStorage is the reserved disk space.
	EphemeralStorage *resource.Quantity `json:"ephemeralStorage,omitempty"`
	// PID are the reserved process ids.
	PID *resource.Quantity `json:"pid,omitempty"`
}

// MemorySwapConfiguration configures swap for containers.
type MemorySwapConfiguration struct {
	// SwapBehavior is how containers may swap.
	SwapBehavior *SwapBehavior `json:"swapBehavior,omitempty"`
}

// SwapBehavior is how containers may swap.
type SwapBehavior string
