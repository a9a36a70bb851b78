package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var (
	_ Object     = &Infrastructure{}
	_ ObjectList = &InfrastructureList{}
)

// InfrastructureResource is the kind's name.
const InfrastructureResource = "Infrastructure"

// Infrastructure is the network and what else a shoot needs in the cloud. Its name is the shoot's.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=infrastructures,singular=infrastructure,scope=Namespaced,shortName=infra
// +kubebuilder:printcolumn:name="Type",type=string,JSONPath=`.spec.type`
// +kubebuilder:printcolumn:name="Region",type=string,JSONPath=`.spec.region`
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.lastOperation.state`
// +kubebuilder:printcolumn:name="Operation",type=string,JSONPath=`.status.lastOperation.type`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Infrastructure struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what is wanted.
	// +kubebuilder:validation:Required
	Spec InfrastructureSpec `json:"spec"`
	// Status is what was achieved.
	Status InfrastructureStatus `json:"status,omitempty"`
}

// GetExtensionSpec implements Object.
func (o *Infrastructure) GetExtensionSpec() Spec { return &o.Spec }

// GetExtensionStatus implements Object.
func (o *Infrastructure) GetExtensionStatus() Status { return &o.Status }

// InfrastructureList is a list of Infrastructures.
//
// +kubebuilder:object:root=true
type InfrastructureList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the Infrastructures.
	Items []Infrastructure `json:"items"`
}

// Objects implements ObjectList.
func (l *InfrastructureList) Objects() []Object { return pointers[Infrastructure](l.Items) }

// InfrastructureSpec is what is wanted of an Infrastructure.
type InfrastructureSpec struct {
	DefaultSpec `json:",inline"`

	// Region is the cloud's region.
	Region string `json:"region"`
	// SecretRef is the Secret with the cloud's credentials.
	SecretRef corev1.SecretReference `json:"secretRef"`
	// SSHPublicKey is the key for the machines.
	SSHPublicKey []byte `json:"sshPublicKey,omitempty"`
}

// InfrastructureStatus is what was achieved of an Infrastructure.
type InfrastructureStatus struct {
	DefaultStatus `json:",inline"`

	// NodesCIDR is the CIDR of the nodes.
	NodesCIDR *string `json:"nodesCIDR,omitempty"`
	// EgressCIDRs are the addresses from which the cluster's traffic comes.
	EgressCIDRs []string `json:"egressCIDRs,omitempty"`
	// Networking are the networks.
	Networking *InfrastructureStatusNetworking `json:"networking,omitempty"`
}

// InfrastructureStatusNetworking are the networks of an Infrastructure.
type InfrastructureStatusNetworking struct {
	// Pods are the CIDRs of the pods.
	Pods []string `json:"pods,omitempty"`
	// Nodes are the CIDRs of the nodes.
	Nodes []string `json:"nodes,omitempty"`
	// Services are the CIDRs of the services.
	Services []string `json:"services,omitempty"`
}
