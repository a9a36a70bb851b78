package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Provider is the cloud of a shoot and its worker pools.
type Provider struct {
	// Type is the type of the provider's extensions.
	Type string `json:"type"`
	// ControlPlaneConfig is handed to the ControlPlane extension as it is.
	// +kubebuilder:pruning:PreserveUnknownFields
	ControlPlaneConfig *runtime.RawExtension `json:"controlPlaneConfig,omitempty"`
	// InfrastructureConfig is handed to the Infrastructure extension as it is.
	// +kubebuilder:pruning:PreserveUnknownFields
	InfrastructureConfig *runtime.RawExtension `json:"infrastructureConfig,omitempty"`
	// Workers are the worker pools; none makes a workerless shoot.
	Workers []Worker `json:"workers,omitempty"`
	// WorkersSettings applies to all pools.
	WorkersSettings *WorkersSettings `json:"workersSettings,omitempty"`
}

// Worker is a pool of worker nodes.
type Worker struct {
	// Annotations are set on the nodes.
	Annotations map[string]string `json:"annotations,omitempty"`
	// CABundle is trusted by the machines.
	CABundle *string `json:"caBundle,omitempty"`
	// CRI is the container runtime.
	CRI *CRI `json:"cri,omitempty"`
	// Kubernetes overrides version and kubelet configuration.
	Kubernetes *WorkerKubernetes `json:"kubernetes,omitempty"`
	// Labels are set on the nodes.
	Labels map[string]string `json:"labels,omitempty"`
	// Name is the name of the pool.
	Name string `json:"name"`
	// Machine is the machine's type and image.
	Machine Machine `json:"machine"`
	// Maximum is the largest number of machines, over all zones.
	Maximum int32 `json:"maximum"`
	// Minimum is the smallest number of machines, over all zones.
	Minimum int32 `json:"minimum"`
	// MaxSurge is how many machines an update may add.
	MaxSurge *intstr.IntOrString `json:"maxSurge,omitempty"`
	// MaxUnavailable is how many machines an update may take away.
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
	// ProviderConfig is handed to the Worker extension as it is.
	// +kubebuilder:pruning:PreserveUnknownFields
	ProviderConfig *runtime.RawExtension `json:"providerConfig,omitempty"`
	// Taints are set on the nodes.
	Taints []corev1.Taint `json:"taints,omitempty"`
	// Volume is the root disk.
	Volume *Volume `json:"volume,omitempty"`
	// DataVolumes are further disks.
	DataVolumes []DataVolume `json:"dataVolumes,omitempty"`
	// KubeletDataVolumeName names the data volume for the kubelet.
	KubeletDataVolumeName *string `json:"kubeletDataVolumeName,omitempty"`
	// Zones are the zones over which the machines are spread.
	Zones []string `json:"zones,omitempty"`
	// SystemComponents says whether system components may run here.
	SystemComponents *WorkerSystemComponents `json:"systemComponents,omitempty"`
	// MachineControllerManagerSettings are settings of the machine controller.
	MachineControllerManagerSettings *MachineControllerManagerSettings `json:"machineControllerManager,omitempty"`
	// Sysctls are kernel settings of the machines.
	Sysctls map[string]string `json:"sysctls,omitempty"`
	// ClusterAutoscaler are settings of the autoscaler for this pool.
	ClusterAutoscaler *ClusterAutoscalerOptions `json:"clusterAutoscaler,omitempty"`
	// Priority is the pool's weight for the autoscaler.
	Priority *int32 `json:"priority,omitempty"`
	// UpdateStrategy is how the pool's machines are updated.
	UpdateStrategy *MachineUpdateStrategy `json:"updateStrategy,omitempty"`
	// ControlPlane makes the pool host the control plane (self-hosted shoots).
	ControlPlane *WorkerControlPlane `json:"controlPlane,omitempty"`
}

// UpdatesInPlace is whether the nodes of a pool are kept when they are updated.
func (w *Worker) UpdatesInPlace() bool {
	return w.UpdateStrategy != nil && (*w.UpdateStrategy == AutoInPlaceUpdate || *w.UpdateStrategy == ManualInPlaceUpdate)
}

// KubernetesVersion is that of the pool's kubelets: its own, or that of the control plane.
func (w *Worker) KubernetesVersion(shoot *Shoot) string {
	if w.Kubernetes != nil && w.Kubernetes.Version != nil {
		return *w.Kubernetes.Version
	}
	return shoot.Spec.Kubernetes.Version
}

// MachineUpdateStrategy is how the machines of a pool are updated.
type MachineUpdateStrategy string

const (
	// AutoRollingUpdate replaces machines.
	AutoRollingUpdate MachineUpdateStrategy = "AutoRollingUpdate"
	// AutoInPlaceUpdate updates machines in place, chosen by the machine controller.
	AutoInPlaceUpdate MachineUpdateStrategy = "AutoInPlaceUpdate"
	// ManualInPlaceUpdate updates machines in place, chosen by the user.
	ManualInPlaceUpdate MachineUpdateStrategy = "ManualInPlaceUpdate"
)

// WorkerControlPlane makes a pool host the control plane.
type WorkerControlPlane struct {
	// Backup is where etcd is backed up.
	Backup *Backup `json:"backup,omitempty"`
	// Exposure says how the control plane is reached.
	Exposure *Exposure `json:"exposure,omitempty"`
}

// Exposure says how the control plane of a self-hosted shoot is reached.
type Exposure struct {
	// Extension exposes it through an extension.
	Extension *ExtensionExposure `json:"extension,omitempty"`
	// DNS exposes it through DNS records alone.
	DNS *DNSExposure `json:"dns,omitempty"`
}

// ExtensionExposure exposes a control plane through an extension.
type ExtensionExposure struct {
	// Type is the type of the SelfHostedShootExposure extension.
	Type *string `json:"type,omitempty"`
	// ProviderConfig is handed to the extension as it is.
	// +kubebuilder:pruning:PreserveUnknownFields
	ProviderConfig *runtime.RawExtension `json:"providerConfig,omitempty"`
}

// DNSExposure exposes a control plane through DNS records alone.
type DNSExposure struct{}

// WorkerKubernetes overrides version and kubelet configuration for a pool.
type WorkerKubernetes struct {
	// Kubelet replaces the shoot's kubelet configuration.
	Kubelet *KubeletConfig `json:"kubelet,omitempty"`
	// Version is the version of the kubelet.
	Version *string `json:"version,omitempty"`
}

// Machine is type and image of a pool's machines.
type Machine struct {
	// Type is the machine type.
	Type string `json:"type"`
	// Image is the operating system image.
	Image *ShootMachineImage `json:"image,omitempty"`
	// Architecture is the CPU architecture.
	Architecture *string `json:"architecture,omitempty"`
}

// ShootMachineImage is an operating system image.
type ShootMachineImage struct {
	// Name is the image's name in the CloudProfile.
	Name string `json:"name"`
	// ProviderConfig is handed to the OperatingSystemConfig extension as it is.
	// +kubebuilder:pruning:PreserveUnknownFields
	ProviderConfig *runtime.RawExtension `json:"providerConfig,omitempty"`
	// Version is the image's version.
	Version *string `json:"version,omitempty"`
}

// Volume is a root disk.
type Volume struct {
	// Name is the disk's name.
	Name *string `json:"name,omitempty"`
	// Type is the disk's type.
	Type *string `json:"type,omitempty"`
	// VolumeSize is the disk's size.
	VolumeSize string `json:"size"`
	// Encrypted is whether the disk is encrypted.
	Encrypted *bool `json:"encrypted,omitempty"`
}

// DataVolume is a further disk.
type DataVolume struct {
	// Name is the disk's name.
	Name string `json:"name"`
	// Type is the disk's type.
	Type *string `json:"type,omitempty"`
	// VolumeSize is the disk's size.
	VolumeSize string `json:"size"`
	// Encrypted is whether the disk is encrypted.
	Encrypted *bool `json:"encrypted,omitempty"`
}

// CRI is the container runtime of a pool.
type CRI struct {
	// Name is the runtime that the kubelet talks to.
	Name CRIName `json:"name"`
	// ContainerRuntimes are further runtimes, one ContainerRuntime extension each.
	ContainerRuntimes []ContainerRuntime `json:"containerRuntimes,omitempty"`
}

// CRIName is the name of a container runtime that the kubelet talks to.
type CRIName string

// CRINameContainerD is containerd.
const CRINameContainerD CRIName = "containerd"

// ContainerRuntime is a further container runtime.
type ContainerRuntime struct {
	// Type is the type of the ContainerRuntime extension.
	Type string `json:"type"`
	// ProviderConfig is handed to the extension as it is.
	// +kubebuilder:pruning:PreserveUnknownFields
	ProviderConfig *runtime.RawExtension `json:"providerConfig,omitempty"`
}

// WorkersSettings applies to all pools.
type WorkersSettings struct {
	// SSHAccess says whether nodes can be reached by SSH.
	SSHAccess *SSHAccess `json:"sshAccess,omitempty"`
}

// SSHAccess says whether nodes can be reached by SSH.
type SSHAccess struct {
	// Enabled is whether SSH is on.
	Enabled bool `json:"enabled"`
}

// WorkerSystemComponents says whether system components may run in a pool.
type WorkerSystemComponents struct {
	// Allow is whether they may.
	Allow bool `json:"allow"`
}

// MachineControllerManagerSettings are settings of the machine controller for a pool.
type MachineControllerManagerSettings struct {
	// MachineDrainTimeout is how long a drain may take.
	MachineDrainTimeout *metav1.Duration `json:"machineDrainTimeout,omitempty"`
	// MachineHealthTimeout is how long a machine may be unhealthy.
	MachineHealthTimeout *metav1.Duration `json:"machineHealthTimeout,omitempty"`
	// MachineCreationTimeout is how long a machine may take to come up.
	MachineCreationTimeout *metav1.Duration `json:"machineCreationTimeout,omitempty"`
	// MaxEvictRetries is how often an eviction is tried.
	MaxEvictRetries *int32 `json:"maxEvictRetries,omitempty"`
	// NodeConditions are the node conditions that make a machine unhealthy.
	NodeConditions []string `json:"nodeConditions,omitempty"`
	// MachineInPlaceUpdateTimeout is how long an in-place update may take.
	MachineInPlaceUpdateTimeout *metav1.Duration `json:"inPlaceUpdateTimeout,omitempty"`
	// DisableHealthTimeout keeps unhealthy machines.
	DisableHealthTimeout *bool `json:"disableHealthTimeout,omitempty"`
	// MachinePreserveTimeout is how long a failed machine is kept for inspection.
	MachinePreserveTimeout *metav1.Duration `json:"machinePreserveTimeout,omitempty"`
	// AutoPreserveFailedMachineMax is how many failed machines are kept for inspection.
	AutoPreserveFailedMachineMax *int32 `json:"autoPreserveFailedMachineMax,omitempty"`
}

// ClusterAutoscalerOptions are settings of the autoscaler for a pool.
type ClusterAutoscalerOptions struct {
	// ScaleDownUtilizationThreshold is the share of use below which a node goes.
	ScaleDownUtilizationThreshold *float64 `json:"scaleDownUtilizationThreshold,omitempty"`
	// ScaleDownGpuUtilizationThreshold is the share of GPU use below which a node goes.
	ScaleDownGpuUtilizationThreshold *float64 `json:"scaleDownGpuUtilizationThreshold,omitempty"`
	// ScaleDownUnneededTime is how long a node must be unneeded before it goes.
	ScaleDownUnneededTime *metav1.Duration `json:"scaleDownUnneededTime,omitempty"`
	// ScaleDownUnreadyTime is how long an unready node must be unneeded before it goes.
	ScaleDownUnreadyTime *metav1.Duration `json:"scaleDownUnreadyTime,omitempty"`
	// MaxNodeProvisionTime is how long a node may take to come up.
	MaxNodeProvisionTime *metav1.Duration `json:"maxNodeProvisionTime,omitempty"`
}
