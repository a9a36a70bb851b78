package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Unit is a systemd unit.
type Unit struct {
	// Name is the unit's name.
	Name string `json:"name"`
	// Command is what is to be done with the unit.
	Command *UnitCommand `json:"command,omitempty"`
	// Enable is whether the unit is enabled.
	Enable *bool `json:"enable,omitempty"`
	// Content is the unit's content.
	Content *string `json:"content,omitempty"`
	// DropIns are drop-ins of the unit.
	DropIns []DropIn `json:"dropIns,omitempty"`
	// FilePaths are files whose change restarts the unit.
	FilePaths []string `json:"filePaths,omitempty"`
}

// UnitCommand is what is to be done with a unit.
type UnitCommand string

const (
	// CommandStart starts the unit.
	CommandStart UnitCommand = "start"
	// CommandRestart restarts the unit.
	CommandRestart UnitCommand = "restart"
	// CommandStop stops the unit.
	CommandStop UnitCommand = "stop"
)

// DropIn is a drop-in of a systemd unit.
type DropIn struct {
	// Name is the drop-in's name.
	Name string `json:"name"`
	// Content is the drop-in's content.
	Content string `json:"content"`
}

// File is a file on the machine.
type File struct {
	// Path is where it goes.
	Path string `json:"path"`
	// Permissions are its permissions; absent means 0600.
	Permissions *uint32 `json:"permissions,omitempty"`
	// Content is what is in it.
	Content FileContent `json:"content"`
	// HostName restricts the file to one machine.
	HostName *string `json:"hostName,omitempty"`
}

// FileContent is what is in a file: exactly one of its sources.
type FileContent struct {
	// SecretRef is a key of a Secret.
	SecretRef *FileContentSecretRef `json:"secretRef,omitempty"`
	// Inline is the content itself.
	Inline *FileContentInline `json:"inline,omitempty"`
	// TransmitUnencoded asks not to encode the content on its way.
	TransmitUnencoded *bool `json:"transmitUnencoded,omitempty"`
	// ImageRef is a file of a container image.
	ImageRef *FileContentImageRef `json:"imageRef,omitempty"`
}

// FileContentSecretRef is a key of a Secret of the namespace.
type FileContentSecretRef struct {
	// Name is the Secret's name.
	Name string `json:"name"`
	// DataKey is the key.
	DataKey string `json:"dataKey"`
}

// FileContentInline is content in the object.
type FileContentInline struct {
	// Encoding is empty or b64.
	Encoding string `json:"encoding"`
	// Data is the content.
	Data string `json:"data"`
}

// FileContentImageRef is a file of a container image.
type FileContentImageRef struct {
	// Image is the image.
	Image string `json:"image"`
	// FilePathInImage is the file.
	FilePathInImage string `json:"filePathInImage"`
}

// CloudConfig is the result of an OperatingSystemConfig.
type CloudConfig struct {
	// SecretRef is the Secret with it.
	SecretRef corev1.SecretReference `json:"secretRef"`
}

// CRIConfig configures the container runtime.
type CRIConfig struct {
	// Name is the runtime.
	Name CRIName `json:"name"`
	// CgroupDriver is systemd or cgroupfs.
	CgroupDriver *CgroupDriverName `json:"cgroupDriver,omitempty"`
	// Containerd configures containerd.
	Containerd *ContainerdConfig `json:"containerd,omitempty"`
}

// CRIName is the name of a container runtime.
type CRIName string

// CRINameContainerD is containerd.
const CRINameContainerD CRIName = "containerd"

// CgroupDriverName is the name of a cgroup driver.
type CgroupDriverName string

const (
	// CgroupDriverCgroupfs writes cgroups itself.
	CgroupDriverCgroupfs CgroupDriverName = "cgroupfs"
	// CgroupDriverSystemd lets systemd write cgroups.
	CgroupDriverSystemd CgroupDriverName = "systemd"
)

// ContainerdConfig configures containerd (docs/specification/nodes-and-seeds.md#spec-7-3).
type ContainerdConfig struct {
	// Registries configures registries.
	Registries []RegistryConfig `json:"registries,omitempty"`
	// SandboxImage is the image of the pause container.
	SandboxImage string `json:"sandboxImage"`
	// Plugins changes the configuration of plugins.
	Plugins []PluginConfig `json:"plugins,omitempty"`
}

// PluginPathOperation is what is done at a path of the plugins' configuration.
type PluginPathOperation string

const (
	// AddPluginPathOperation adds values.
	AddPluginPathOperation PluginPathOperation = "add"
	// RemovePluginPathOperation removes the path.
	RemovePluginPathOperation PluginPathOperation = "remove"
)

// PluginConfig changes the configuration of a containerd plugin.
type PluginConfig struct {
	// Op is what is done; absent means add.
	Op *PluginPathOperation `json:"op,omitempty"`
	// Path is where.
	Path []string `json:"path"`
	// Values are what is added.
	// +kubebuilder:pruning:PreserveUnknownFields
	Values *apiextensionsv1.JSON `json:"values,omitempty"`
}

// RegistryConfig configures a registry.
type RegistryConfig struct {
	// Upstream is the registry's name.
	Upstream string `json:"upstream"`
	// Server is the registry's URL.
	Server *string `json:"server,omitempty"`
	// Hosts are mirrors.
	Hosts []RegistryHost `json:"hosts,omitempty"`
	// ReadinessProbe is whether mirrors must answer before they are used.
	ReadinessProbe *bool `json:"readinessProbe,omitempty"`
}

// RegistryCapability is what a mirror can do.
type RegistryCapability string

const (
	// PullCapability is to serve content.
	PullCapability RegistryCapability = "pull"
	// ResolveCapability is to resolve tags.
	ResolveCapability RegistryCapability = "resolve"
	// PushCapability is to take content.
	PushCapability RegistryCapability = "push"
)

// RegistryHost is a mirror.
type RegistryHost struct {
	// URL is the mirror's URL.
	URL string `json:"url"`
	// Capabilities are what it can do.
	Capabilities []RegistryCapability `json:"capabilities,omitempty"`
	// CACerts are trusted for it.
	CACerts []string `json:"caCerts,omitempty"`
	// OverridePath is whether the URL's path replaces the API's.
	OverridePath *bool `json:"overridePath,omitempty"`
}

// InPlaceUpdates is what an in-place update goes to.
type InPlaceUpdates struct {
	// OperatingSystemVersion is the version of the operating system.
	OperatingSystemVersion string `json:"operatingSystemVersion"`
	// KubeletVersion is the version of the kubelet.
	KubeletVersion string `json:"kubelet"`
	// CredentialsRotation is the state of rotations.
	CredentialsRotation *CredentialsRotation `json:"credentialsRotation,omitempty"`
}

// CredentialsRotation is the state of rotations that nodes take part in.
type CredentialsRotation struct {
	// CertificateAuthorities is the rotation of the certificate authorities.
	CertificateAuthorities *CARotation `json:"certificateAuthorities,omitempty"`
	// ServiceAccountKey is the rotation of the service account key.
	ServiceAccountKey *ServiceAccountKeyRotation `json:"serviceAccountKey,omitempty"`
}

// CARotation is the rotation of the certificate authorities.
type CARotation struct {
	// LastInitiationTime is when it was begun last.
	LastInitiationTime *metav1.Time `json:"lastInitiationTime,omitempty"`
}

// ServiceAccountKeyRotation is the rotation of the service account key.
type ServiceAccountKeyRotation struct {
	// LastInitiationTime is when it was begun last.
	LastInitiationTime *metav1.Time `json:"lastInitiationTime,omitempty"`
}

// InPlaceUpdatesStatus is how an in-place update is done.
type InPlaceUpdatesStatus struct {
	// OSUpdate is how the operating system is updated.
	OSUpdate *OSUpdate `json:"osUpdate,omitempty"`
}

// OSUpdate is a command that updates the operating system.
type OSUpdate struct {
	// Command is the command.
	Command string `json:"command"`
	// Args are its arguments.
	Args []string `json:"args,omitempty"`
}
