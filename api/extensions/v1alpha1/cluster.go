package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// ClusterResource is the kind's name.
const ClusterResource = "Cluster"

// Cluster is what extensions may know about a shoot: the Shoot, its CloudProfile and its Seed, as they are in the
// garden. Its name is the shoot's technical id. It is written before any extension object and refreshed at each
// operation.
//
// The objects are raw, so that fields nobody here models reach the extensions: fill them from the raw objects.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=clusters,singular=cluster,scope=Cluster
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Cluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec has the objects.
	Spec ClusterSpec `json:"spec"`
}

// ClusterList is a list of Clusters.
//
// +kubebuilder:object:root=true
type ClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the Clusters.
	Items []Cluster `json:"items"`
}

// ClusterSpec has the objects of a Cluster.
type ClusterSpec struct {
	// CloudProfile is the shoot's CloudProfile.
	// +kubebuilder:pruning:PreserveUnknownFields
	CloudProfile runtime.RawExtension `json:"cloudProfile"`
	// Seed is the shoot's Seed.
	// +kubebuilder:pruning:PreserveUnknownFields
	Seed runtime.RawExtension `json:"seed,omitempty"`
	// Shoot is the Shoot.
	// +kubebuilder:pruning:PreserveUnknownFields
	Shoot runtime.RawExtension `json:"shoot"`
}
