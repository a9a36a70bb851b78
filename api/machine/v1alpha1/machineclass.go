package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// MachineClass is what a machine is made of in the cloud. It has no spec.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=machineclasses,singular=machineclass,scope=Namespaced,shortName=mcc
// +kubebuilder:printcolumn:name="Provider",type=string,JSONPath=`.provider`
// +kubebuilder:printcolumn:name="Instance Type",type=string,JSONPath=`.nodeTemplate.instanceType`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type MachineClass struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// NodeTemplate is what a node has to offer.
	NodeTemplate *NodeTemplate `json:"nodeTemplate,omitempty"`
	// CredentialsSecretRef is the Secret with the cloud's credentials.
	CredentialsSecretRef *corev1.SecretReference `json:"credentialsSecretRef,omitempty"`
	// Provider is the driver's name.
	Provider string `json:"provider,omitempty"`
	// ProviderSpec is the machine in the driver's words.
	// +kubebuilder:pruning:PreserveUnknownFields
	ProviderSpec runtime.RawExtension `json:"providerSpec"`
	// SecretRef is the Secret with what the machine is started with.
	SecretRef *corev1.SecretReference `json:"secretRef,omitempty"`
}

// MachineClassList is a list of MachineClasses.
//
// +kubebuilder:object:root=true
type MachineClassList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the MachineClasses.
	Items []MachineClass `json:"items"`
}

// MachineClassKind is the kind of classes that machines refer to.
const MachineClassKind = "MachineClass"

// NodeTemplate is what a node has to offer.
type NodeTemplate struct {
	// Capacity are the node's resources.
	Capacity corev1.ResourceList `json:"capacity"`
	// VirtualCapacity are resources that the machine type does not have by itself.
	VirtualCapacity corev1.ResourceList `json:"virtualCapacity,omitempty"`
	// InstanceType is the machine type.
	InstanceType string `json:"instanceType"`
	// Region is the machine's region.
	Region string `json:"region"`
	// Zone is the machine's zone.
	Zone string `json:"zone"`
	// Architecture is the CPU architecture.
	Architecture *string `json:"architecture,omitempty"`
}
