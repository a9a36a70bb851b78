package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var (
	_ Object     = &OperatingSystemConfig{}
	_ ObjectList = &OperatingSystemConfigList{}
)

// OperatingSystemConfigResource is the kind's name.
const OperatingSystemConfigResource = "OperatingSystemConfig"

// OperatingSystemConfig is what the machines of a pool are set up with. Its name is
// gardener-node-agent-<pool>-<key>-{init,original}.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=operatingsystemconfigs,singular=operatingsystemconfig,scope=Namespaced,shortName=osc
// +kubebuilder:printcolumn:name="Type",type=string,JSONPath=`.spec.type`
// +kubebuilder:printcolumn:name="Purpose",type=string,JSONPath=`.spec.purpose`
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.lastOperation.state`
// +kubebuilder:printcolumn:name="Operation",type=string,JSONPath=`.status.lastOperation.type`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type OperatingSystemConfig struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what is wanted.
	// +kubebuilder:validation:Required
	Spec OperatingSystemConfigSpec `json:"spec"`
	// Status is what was achieved.
	Status OperatingSystemConfigStatus `json:"status,omitempty"`
}

// GetExtensionSpec implements Object.
func (o *OperatingSystemConfig) GetExtensionSpec() Spec { return &o.Spec }

// GetExtensionStatus implements Object.
func (o *OperatingSystemConfig) GetExtensionStatus() Status { return &o.Status }

// OperatingSystemConfigList is a list of OperatingSystemConfigs.
//
// +kubebuilder:object:root=true
type OperatingSystemConfigList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the OperatingSystemConfigs.
	Items []OperatingSystemConfig `json:"items"`
}

// Objects implements ObjectList.
func (l *OperatingSystemConfigList) Objects() []Object {
	return pointers[OperatingSystemConfig](l.Items)
}

// OperatingSystemConfigSpec is what is wanted of an OperatingSystemConfig.
type OperatingSystemConfigSpec struct {
	DefaultSpec `json:",inline"`

	// CRIConfig configures the container runtime.
	CRIConfig *CRIConfig `json:"criConfig,omitempty"`
	// Purpose is whether it is for the first start of a machine or for one that runs.
	// +kubebuilder:validation:Enum=provision;reconcile
	// +kubebuilder:validation:Required
	Purpose OperatingSystemConfigPurpose `json:"purpose"`
	// Units are the systemd units.
	Units []Unit `json:"units,omitempty"`
	// Files are the files.
	Files []File `json:"files,omitempty"`
	// InPlaceUpdates is what an in-place update goes to.
	InPlaceUpdates *InPlaceUpdates `json:"inPlaceUpdates,omitempty"`
}

// OperatingSystemConfigStatus is what was achieved of an OperatingSystemConfig.
type OperatingSystemConfigStatus struct {
	DefaultStatus `json:",inline"`

	// ExtensionUnits are units that the extension adds.
	ExtensionUnits []Unit `json:"extensionUnits,omitempty"`
	// ExtensionFiles are files that the extension adds.
	ExtensionFiles []File `json:"extensionFiles,omitempty"`
	// CloudConfig is the result for the purpose provision.
	CloudConfig *CloudConfig `json:"cloudConfig,omitempty"`
	// InPlaceUpdates is how an in-place update is done.
	InPlaceUpdates *InPlaceUpdatesStatus `json:"inPlaceUpdates,omitempty"`
}

// GetExtensionPurpose implements Spec.
func (s *OperatingSystemConfigSpec) GetExtensionPurpose() *string { return (*string)(&s.Purpose) }

// OperatingSystemConfigPurpose is provision or reconcile.
type OperatingSystemConfigPurpose string

const (
	// OperatingSystemConfigPurposeProvision is for the first start of a machine.
	OperatingSystemConfigPurposeProvision OperatingSystemConfigPurpose = "provision"
	// OperatingSystemConfigPurposeReconcile is for a machine that runs.
	OperatingSystemConfigPurposeReconcile OperatingSystemConfigPurpose = "reconcile"
)
