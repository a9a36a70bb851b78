package v1beta1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// CloudProfile is what a cloud offers (docs/specification/api.md#spec-1-5).
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=cloudprofiles,singular=cloudprofile,scope=Cluster,shortName=cprofile;cpfl
// +kubebuilder:printcolumn:name="Provider",type=string,JSONPath=`.spec.type`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type CloudProfile struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the offer.
	Spec CloudProfileSpec `json:"spec,omitempty"`
	// Status is what follows from the offer at present.
	Status CloudProfileStatus `json:"status,omitempty"`
}

// CloudProfileList is a list of CloudProfiles.
//
// +kubebuilder:object:root=true
type CloudProfileList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the CloudProfiles.
	Items []CloudProfile `json:"items"`
}

// CloudProfileSpec is what a cloud offers.
type CloudProfileSpec struct {
	// CABundle is trusted by all machines.
	CABundle *string `json:"caBundle,omitempty"`
	// Kubernetes are the offered versions.
	Kubernetes KubernetesSettings `json:"kubernetes"`
	// MachineImages are the offered images.
	MachineImages []MachineImage `json:"machineImages"`
	// MachineTypes are the offered machine types.
	MachineTypes []MachineType `json:"machineTypes"`
	// ProviderConfig is the provider's configuration.
	// +kubebuilder:pruning:PreserveUnknownFields
	ProviderConfig *runtime.RawExtension `json:"providerConfig,omitempty"`
	// Regions are the cloud's regions.
	Regions []Region `json:"regions"`
	// SeedSelector restricts the seeds of shoots that use the profile.
	SeedSelector *SeedSelector `json:"seedSelector,omitempty"`
	// Type is the provider's type.
	Type string `json:"type"`
	// VolumeTypes are the offered volume types.
	VolumeTypes []VolumeType `json:"volumeTypes,omitempty"`
	// Bastion is what bastions are made of.
	Bastion *Bastion `json:"bastion,omitempty"`
	// Limits are limits for shoots.
	Limits *Limits `json:"limits,omitempty"`
	// MachineCapabilities are the capabilities that images and types may name.
	MachineCapabilities []CapabilityDefinition `json:"machineCapabilities,omitempty"`
}

// CloudProfileStatus is what follows from a profile at present.
type CloudProfileStatus struct {
	// Kubernetes are the present classifications of versions.
	Kubernetes *KubernetesStatus `json:"kubernetes,omitempty"`
	// MachineImageVersions are the present classifications of images.
	MachineImageVersions []MachineImageStatus `json:"machineImages,omitempty"`
}

// KubernetesStatus are present classifications of Kubernetes versions.
type KubernetesStatus struct {
	// Versions are the versions.
	Versions []ExpirableVersionStatus `json:"versions,omitempty"`
}

// MachineImageStatus are present classifications of an image's versions.
type MachineImageStatus struct {
	// Name is the image.
	Name string `json:"name"`
	// Versions are its versions.
	Versions []ExpirableVersionStatus `json:"versions,omitempty"`
}

// ExpirableVersionStatus is the present classification of a version.
type ExpirableVersionStatus struct {
	// Version is the version.
	Version string `json:"version"`
	// Classification is its present classification.
	Classification VersionClassification `json:"classification"`
}

// KubernetesSettings are the offered Kubernetes versions.
type KubernetesSettings struct {
	// Versions are the versions.
	Versions []ExpirableVersion `json:"versions,omitempty"`
}

// ExpirableVersion is a version and its life (docs/specification/versions.md#spec-4-1).
type ExpirableVersion struct {
	// Version is the version.
	Version string `json:"version"`
	// ExpirationDate is when the version expires.
	ExpirationDate *metav1.Time `json:"expirationDate,omitempty"`
	// Classification is the version's classification.
	Classification *VersionClassification `json:"classification,omitempty"`
	// Lifecycle are classifications over time, in place of the two fields above.
	Lifecycle []LifecycleStage `json:"lifecycle,omitempty"`
}

// LifecycleStage is a classification from a moment on.
type LifecycleStage struct {
	// Classification is the classification.
	Classification VersionClassification `json:"classification"`
	// StartTime is when it begins; absent means always.
	StartTime *metav1.Time `json:"startTime,omitempty"`
}

// VersionClassification is where a version is in its life.
type VersionClassification string

const (
	// ClassificationUnavailable means that the version is not offered yet.
	ClassificationUnavailable VersionClassification = "unavailable"
	// ClassificationPreview means that the version is new and not updated to by itself.
	ClassificationPreview VersionClassification = "preview"
	// ClassificationSupported means that the version is recommended.
	ClassificationSupported VersionClassification = "supported"
	// ClassificationDeprecated means that the version should be left.
	ClassificationDeprecated VersionClassification = "deprecated"
	// ClassificationExpired means that the version is left by force.
	ClassificationExpired VersionClassification = "expired"
)

// MachineImage is an offered image.
type MachineImage struct {
	// Name is the image's name.
	Name string `json:"name"`
	// Versions are its versions.
	Versions []MachineImageVersion `json:"versions"`
	// UpdateStrategy is how far an automatic update goes.
	UpdateStrategy *MachineImageUpdateStrategy `json:"updateStrategy,omitempty"`
}

// MachineImageUpdateStrategy is how far an automatic update goes.
type MachineImageUpdateStrategy string

const (
	// UpdateStrategyPatch stays in the minor version.
	UpdateStrategyPatch MachineImageUpdateStrategy = "patch"
	// UpdateStrategyMinor stays in the major version.
	UpdateStrategyMinor MachineImageUpdateStrategy = "minor"
	// UpdateStrategyMajor goes to the latest version.
	UpdateStrategyMajor MachineImageUpdateStrategy = "major"
)

// MachineImageVersion is a version of an image.
type MachineImageVersion struct {
	ExpirableVersion `json:",inline"`

	// CRI are the container runtimes of the image.
	CRI []CRI `json:"cri,omitempty"`
	// Architectures are the CPU architectures of the image.
	Architectures []string `json:"architectures,omitempty"`
	// KubeletVersionConstraint is a range of fitting kubelet versions.
	KubeletVersionConstraint *string `json:"kubeletVersionConstraint,omitempty"`
	// InPlaceUpdates says whether the image can be updated to in place.
	InPlaceUpdates *InPlaceUpdates `json:"inPlaceUpdates,omitempty"`
	// CapabilityFlavors are the sets of capabilities that the image exists for.
	CapabilityFlavors []MachineImageFlavor `json:"capabilityFlavors,omitempty"`
}

// InPlaceUpdates says whether an image can be updated to in place.
type InPlaceUpdates struct {
	// Supported is whether it can.
	Supported bool `json:"supported"`
	// MinVersionForUpdate is the oldest version from which it can.
	MinVersionForUpdate *string `json:"minVersionForUpdate,omitempty"`
}

// MachineImageFlavor is a set of capabilities that an image exists for: values by name of the capability.
type MachineImageFlavor map[string]CapabilityValues

// Capabilities are values by name of the capability.
type Capabilities map[string]CapabilityValues

// CapabilityValues are values of a capability.
type CapabilityValues []string

// CapabilityDefinition is a capability that images and types may name.
type CapabilityDefinition struct {
	// Name is the capability's name.
	Name string `json:"name"`
	// Values are all its values.
	Values CapabilityValues `json:"values"`
}

// MachineType is an offered machine type.
type MachineType struct {
	// CPU is the number of CPUs.
	CPU resource.Quantity `json:"cpu"`
	// GPU is the number of GPUs.
	GPU resource.Quantity `json:"gpu"`
	// Memory is the amount of memory.
	Memory resource.Quantity `json:"memory"`
	// Name is the type's name.
	Name string `json:"name"`
	// Storage is the root disk that comes with the type.
	Storage *MachineTypeStorage `json:"storage,omitempty"`
	// Usable is whether new shoots may use the type.
	Usable *bool `json:"usable,omitempty"`
	// Architecture is the CPU architecture.
	Architecture *string `json:"architecture,omitempty"`
	// Capabilities are the type's capabilities.
	Capabilities Capabilities `json:"capabilities,omitempty"`
}

// MachineTypeStorage is the root disk that comes with a machine type.
type MachineTypeStorage struct {
	// Class is the disk's class.
	Class string `json:"class"`
	// StorageSize is the disk's size.
	StorageSize *resource.Quantity `json:"size,omitempty"`
	// Type is the disk's type.
	Type string `json:"type"`
	// MinSize is the least size.
	MinSize *resource.Quantity `json:"minSize,omitempty"`
}

// Region is a region of a cloud.
type Region struct {
	// Name is the region's name.
	Name string `json:"name"`
	// Zones are the region's zones.
	Zones []AvailabilityZone `json:"zones,omitempty"`
	// Labels describe the region.
	Labels map[string]string `json:"labels,omitempty"`
	// AccessRestrictions are restrictions that can be had in the region.
	AccessRestrictions []AccessRestriction `json:"accessRestrictions,omitempty"`
}

// AvailabilityZone is a zone of a region.
type AvailabilityZone struct {
	// Name is the zone's name.
	Name string `json:"name"`
	// UnavailableMachineTypes cannot be had in the zone.
	UnavailableMachineTypes []string `json:"unavailableMachineTypes,omitempty"`
	// UnavailableVolumeTypes cannot be had in the zone.
	UnavailableVolumeTypes []string `json:"unavailableVolumeTypes,omitempty"`
}

// VolumeType is an offered volume type.
type VolumeType struct {
	// Class is the volume's class.
	Class string `json:"class"`
	// Name is the type's name.
	Name string `json:"name"`
	// Usable is whether new shoots may use the type.
	Usable *bool `json:"usable,omitempty"`
	// MinSize is the least size.
	MinSize *resource.Quantity `json:"minSize,omitempty"`
}

// Bastion is what bastions are made of.
type Bastion struct {
	// MachineImage is the image.
	MachineImage *BastionMachineImage `json:"machineImage,omitempty"`
	// MachineType is the machine type.
	MachineType *BastionMachineType `json:"machineType,omitempty"`
}

// BastionMachineImage is the image of bastions.
type BastionMachineImage struct {
	// Name is the image's name.
	Name string `json:"name"`
	// Version is the image's version.
	Version *string `json:"version,omitempty"`
}

// BastionMachineType is the machine type of bastions.
type BastionMachineType struct {
	// Name is the type's name.
	Name string `json:"name"`
}

// Limits are limits for shoots.
type Limits struct {
	// MaxNodesTotal is the most nodes a shoot may have.
	MaxNodesTotal *int32 `json:"maxNodesTotal,omitempty"`
}
