package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var (
	_ Object     = &Extension{}
	_ ObjectList = &ExtensionList{}
)

// ExtensionResource is the kind's name.
const ExtensionResource = "Extension"

// Extension is anything that an extension does for a shoot besides the other kinds. Its name is its type.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=extensions,singular=extension,scope=Namespaced,shortName=ext
// +kubebuilder:printcolumn:name="Type",type=string,JSONPath=`.spec.type`
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.lastOperation.state`
// +kubebuilder:printcolumn:name="Operation",type=string,JSONPath=`.status.lastOperation.type`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Extension struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what is wanted.
	// +kubebuilder:validation:Required
	Spec ExtensionSpec `json:"spec"`
	// Status is what was achieved.
	Status ExtensionStatus `json:"status,omitempty"`
}

// GetExtensionSpec implements Object.
func (o *Extension) GetExtensionSpec() Spec { return &o.Spec }

// GetExtensionStatus implements Object.
func (o *Extension) GetExtensionStatus() Status { return &o.Status }

// ExtensionList is a list of Extensions.
//
// +kubebuilder:object:root=true
type ExtensionList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the Extensions.
	Items []Extension `json:"items"`
}

// Objects implements ObjectList.
func (l *ExtensionList) Objects() []Object { return pointers[Extension](l.Items) }

// ExtensionSpec is what is wanted of an Extension.
type ExtensionSpec struct {
	DefaultSpec `json:",inline"`
}

// ExtensionStatus is what was achieved of an Extension.
type ExtensionStatus struct {
	DefaultStatus `json:",inline"`
}
