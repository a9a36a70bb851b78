package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var (
	_ Object     = &Network{}
	_ ObjectList = &NetworkList{}
)

// NetworkResource is the kind's name.
const NetworkResource = "Network"

// Network is the pod network of a shoot. Its name is the shoot's.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=networks,singular=network,scope=Namespaced
// +kubebuilder:printcolumn:name="Type",type=string,JSONPath=`.spec.type`
// +kubebuilder:printcolumn:name="Pod CIDR",type=string,JSONPath=`.spec.podCIDR`
// +kubebuilder:printcolumn:name="Service CIDR",type=string,JSONPath=`.spec.serviceCIDR`
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.lastOperation.state`
// +kubebuilder:printcolumn:name="Operation",type=string,JSONPath=`.status.lastOperation.type`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Network struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what is wanted.
	// +kubebuilder:validation:Required
	Spec NetworkSpec `json:"spec"`
	// Status is what was achieved.
	Status NetworkStatus `json:"status,omitempty"`
}

// GetExtensionSpec implements Object.
func (o *Network) GetExtensionSpec() Spec { return &o.Spec }

// GetExtensionStatus implements Object.
func (o *Network) GetExtensionStatus() Status { return &o.Status }

// NetworkList is a list of Networks.
//
// +kubebuilder:object:root=true
type NetworkList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the Networks.
	Items []Network `json:"items"`
}

// Objects implements ObjectList.
func (l *NetworkList) Objects() []Object { return pointers[Network](l.Items) }

// NetworkSpec is what is wanted of a Network.
type NetworkSpec struct {
	DefaultSpec `json:",inline"`

	// PodCIDR is the CIDR of the pods.
	PodCIDR string `json:"podCIDR"`
	// ServiceCIDR is the CIDR of the services.
	ServiceCIDR string `json:"serviceCIDR"`
	// IPFamilies are the wanted IP versions.
	IPFamilies []IPFamily `json:"ipFamilies,omitempty"`
}

// NetworkStatus is what was achieved of a Network.
type NetworkStatus struct {
	DefaultStatus `json:",inline"`

	// IPFamilies are the IP versions in use.
	IPFamilies []IPFamily `json:"ipFamilies,omitempty"`
}

// IPFamily is IPv4 or IPv6.
type IPFamily string

const (
	// IPFamilyIPv4 is IPv4.
	IPFamilyIPv4 IPFamily = "IPv4"
	// IPFamilyIPv6 is IPv6.
	IPFamilyIPv6 IPFamily = "IPv6"
)
