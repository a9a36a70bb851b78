package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/transplant-sim/transplant/api/core/v1beta1"
)

// WorkerPool is a pool of machines.
type WorkerPool struct {
	// MachineType is the machine type.
	MachineType string `json:"machineType"`
	// Maximum is the largest number of machines.
	Maximum int32 `json:"maximum"`
	// MaxSurge is how many machines an update may add.
	MaxSurge intstr.IntOrString `json:"maxSurge"`
	// MaxUnavailable is how many machines an update may take away.
	MaxUnavailable intstr.IntOrString `json:"maxUnavailable"`
	// Annotations are set on the nodes.
	Annotations map[string]string `json:"annotations,omitempty"`
	// Labels are set on the nodes.
	Labels map[string]string `json:"labels,omitempty"`
	// Taints are set on the nodes.
	Taints []corev1.Taint `json:"taints,omitempty"`
	// MachineImage is the image.
	MachineImage MachineImage `json:"machineImage,omitempty"`
	// Minimum is the smallest number of machines.
	Minimum int32 `json:"minimum"`
	// Name is the pool's name.
	Name string `json:"name"`
	// NodeAgentSecretName changes when the pool must roll.
	NodeAgentSecretName *string `json:"nodeAgentSecretName,omitempty"`
	// ProviderConfig is configuration for the implementation.
	// +kubebuilder:pruning:PreserveUnknownFields
	ProviderConfig *runtime.RawExtension `json:"providerConfig,omitempty"`
	// UserDataSecretRef is the key of a Secret with what new machines are started with.
	UserDataSecretRef corev1.SecretKeySelector `json:"userDataSecretRef"`
	// Volume is the root disk.
	Volume *Volume `json:"volume,omitempty"`
	// DataVolumes are further disks.
	DataVolumes []DataVolume `json:"dataVolumes,omitempty"`
	// KubeletDataVolumeName names the data volume for the kubelet.
	KubeletDataVolumeName *string `json:"kubeletDataVolumeName,omitempty"`
	// Zones are the zones over which the machines are spread.
	Zones []string `json:"zones,omitempty"`
	// MachineControllerManagerSettings are settings of the machine controller.
	MachineControllerManagerSettings *v1beta1.MachineControllerManagerSettings `json:"machineControllerManager,omitempty"`
	// KubernetesVersion is the version of the kubelet.
	KubernetesVersion *string `json:"kubernetesVersion,omitempty"`
	// KubeletConfig configures the kubelet.
	KubeletConfig *v1beta1.KubeletConfig `json:"kubeletConfig,omitempty"`
	// NodeTemplate is what a node of the pool has to offer.
	NodeTemplate *NodeTemplate `json:"nodeTemplate,omitempty"`
	// Architecture is the CPU architecture.
	Architecture *string `json:"architecture,omitempty"`
	// ClusterAutoscaler are settings of the autoscaler for this pool.
	ClusterAutoscaler *ClusterAutoscalerOptions `json:"clusterAutoscaler,omitempty"`
	// Priority is the pool's weight for the autoscaler.
	Priority *int32 `json:"priority,omitempty"`
	// UpdateStrategy is how the machines are updated.
	UpdateStrategy *v1beta1.MachineUpdateStrategy `json:"updateStrategy,omitempty"`
}

// MachineImage is an image, by the names of the CloudProfile.
type MachineImage struct {
	// Name is the image's name.
	Name string `json:"name"`
	// Version is the image's version.
	Version string `json:"version"`
}

// Volume is a root disk.
type Volume struct {
	// Name is the disk's name.
	Name *string `json:"name,omitempty"`
	// Type is the disk's type.
	Type *string `json:"type,omitempty"`
	// Size is the disk's size.
	Size string `json:"size"`
	// Encrypted is whether the disk is encrypted.
	Encrypted *bool `json:"encrypted,omitempty"`
}

// DataVolume is a further disk.
type DataVolume struct {
	// Name is the disk's name.
	Name string `json:"name"`
	// Type is the disk's type.
	Type *string `json:"type,omitempty"`
	// Size is the disk's size.
	Size string `json:"size"`
	// Encrypted is whether the disk is encrypted.
	Encrypted *bool `json:"encrypted,omitempty"`
}

// NodeTemplate is what a node has to offer.
type NodeTemplate struct {
	// Capacity are the node's resources.
	Capacity corev1.ResourceList `json:"capacity"`
	// VirtualCapacity are resources that the machine type does not have by itself.
	VirtualCapacity corev1.ResourceList `json:"virtualCapacity,omitempty"`
}

// ClusterAutoscalerOptions are settings of the autoscaler for a pool.
type ClusterAutoscalerOptions struct {
	// ScaleDownUtilizationThreshold is the share of use below which a node goes.
	ScaleDownUtilizationThreshold *string `json:"scaleDownUtilizationThreshold,omitempty"`
	// ScaleDownGpuUtilizationThreshold is the share of GPU use below which a node goes.
	ScaleDownGpuUtilizationThreshold *string `json:"scaleDownGpuUtilizationThreshold,omitempty"`
	// ScaleDownUnneededTime is how long a node must be unneeded before it goes.
	ScaleDownUnneededTime *metav1.Duration `json:"scaleDownUnneededTime,omitempty"`
	// ScaleDownUnreadyTime is how long an unready node must be unneeded before it goes.
	ScaleDownUnreadyTime *metav1.Duration `json:"scaleDownUnreadyTime,omitempty"`
	// MaxNodeProvisionTime is how long a node may take to come up.
	MaxNodeProvisionTime *metav1.Duration `json:"maxNodeProvisionTime,omitempty"`
}
