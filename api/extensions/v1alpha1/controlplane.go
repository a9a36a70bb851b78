package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

var (
	_ Object     = &ControlPlane{}
	_ ObjectList = &ControlPlaneList{}
)

// ControlPlaneResource is the kind's name.
const ControlPlaneResource = "ControlPlane"

// ControlPlane is what the provider adds to a control plane. Its name is the shoot's.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=controlplanes,singular=controlplane,scope=Namespaced,shortName=cp
// +kubebuilder:printcolumn:name="Type",type=string,JSONPath=`.spec.type`
// +kubebuilder:printcolumn:name="Region",type=string,JSONPath=`.spec.region`
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.lastOperation.state`
// +kubebuilder:printcolumn:name="Operation",type=string,JSONPath=`.status.lastOperation.type`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ControlPlane struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what is wanted.
	// +kubebuilder:validation:Required
	Spec ControlPlaneSpec `json:"spec"`
	// Status is what was achieved.
	Status ControlPlaneStatus `json:"status,omitempty"`
}

// GetExtensionSpec implements Object.
func (o *ControlPlane) GetExtensionSpec() Spec { return &o.Spec }

// GetExtensionStatus implements Object.
func (o *ControlPlane) GetExtensionStatus() Status { return &o.Status }

// ControlPlaneList is a list of ControlPlanes.
//
// +kubebuilder:object:root=true
type ControlPlaneList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the ControlPlanes.
	Items []ControlPlane `json:"items"`
}

// Objects implements ObjectList.
func (l *ControlPlaneList) Objects() []Object { return pointers[ControlPlane](l.Items) }

// ControlPlaneSpec is what is wanted of a ControlPlane.
type ControlPlaneSpec struct {
	DefaultSpec `json:",inline"`

	// InfrastructureProviderStatus is the Infrastructure's status.providerStatus.
	// +kubebuilder:pruning:PreserveUnknownFields
	InfrastructureProviderStatus *runtime.RawExtension `json:"infrastructureProviderStatus,omitempty"`
	// Region is the cloud's region.
	Region string `json:"region"`
	// SecretRef is the Secret with the cloud's credentials.
	SecretRef corev1.SecretReference `json:"secretRef"`
}

// ControlPlaneStatus is what was achieved of a ControlPlane.
type ControlPlaneStatus struct {
	DefaultStatus `json:",inline"`
}
