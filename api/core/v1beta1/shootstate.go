package v1beta1

import (
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// ShootState is what a shoot's control plane needs to be restored on another seed (docs/specification/api.md#spec-1-3,
// docs/specification/migration.md#spec-2-8). Name and namespace are those of the Shoot. It holds secrets: only
// gardenlets and the garden's own controllers may read it (docs/specification/state-size.md#z6).
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=shootstates,singular=shootstate,scope=Namespaced
// +kubebuilder:printcolumn:name="Saved",type=string,JSONPath=`.metadata.annotations.gardener\.cloud/timestamp`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ShootState struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the state.
	Spec ShootStateSpec `json:"spec,omitempty"`
}

// ShootStateList is a list of ShootStates.
//
// +kubebuilder:object:root=true
type ShootStateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the ShootStates.
	Items []ShootState `json:"items"`
}

// ShootStateSpec is the state of a shoot's control plane.
type ShootStateSpec struct {
	// Gardener is the gardenlet's own state: persisted Secrets and the machine state.
	Gardener []GardenerResourceData `json:"gardener,omitempty"`
	// Extensions is the state of the extension objects.
	Extensions []ExtensionResourceState `json:"extensions,omitempty"`
	// Resources are the objects that extension objects refer to.
	Resources []ResourceData `json:"resources,omitempty"`
}

// Types of GardenerResourceData.
const (
	// DataTypeSecret is a Secret: name and labels are its own, the data has its data, type and immutable.
	DataTypeSecret = "secret"
	// DataTypeMachineState is the machine state (docs/specification/extensions.md#spec-3-7).
	DataTypeMachineState = "machine-state"
)

// GardenerResourceData is one piece of the gardenlet's state.
type GardenerResourceData struct {
	// Name is the name of the piece.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:Required
	Name string `json:"name"`
	// Type says how to read Data.
	Type string `json:"type"`
	// Data is the piece itself.
	// +kubebuilder:pruning:PreserveUnknownFields
	Data runtime.RawExtension `json:"data"`
	// Labels are the labels of the Secret.
	Labels map[string]string `json:"labels,omitempty"`
}

// ExtensionResourceState is the state of one extension object.
type ExtensionResourceState struct {
	// Kind is the object's kind.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:Required
	Kind string `json:"kind"`
	// Name is the object's name.
	Name *string `json:"name,omitempty"`
	// Purpose is the object's purpose.
	Purpose *string `json:"purpose,omitempty"`
	// State is the object's status.state.
	// +kubebuilder:pruning:PreserveUnknownFields
	State *runtime.RawExtension `json:"state,omitempty"`
	// Resources is the object's status.resources.
	Resources []NamedResourceReference `json:"resources,omitempty"`
}

// ResourceData is an object that an extension object refers to.
type ResourceData struct {
	autoscalingv1.CrossVersionObjectReference `json:",inline"`

	// Data is the object itself.
	// +kubebuilder:pruning:PreserveUnknownFields
	Data runtime.RawExtension `json:"data"`
}
