package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var (
	_ Object     = &Bastion{}
	_ ObjectList = &BastionList{}
)

// BastionResource is the kind's name.
const BastionResource = "Bastion"

// Bastion is a machine through which nodes can be reached. It must not exist during a migration.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=bastions,singular=bastion,scope=Namespaced
// +kubebuilder:printcolumn:name="Type",type=string,JSONPath=`.spec.type`
// +kubebuilder:printcolumn:name="IP",type=string,JSONPath=`.status.ingress.ip`
// +kubebuilder:printcolumn:name="Hostname",type=string,JSONPath=`.status.ingress.hostname`
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.lastOperation.state`
// +kubebuilder:printcolumn:name="Operation",type=string,JSONPath=`.status.lastOperation.type`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Bastion struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what is wanted.
	// +kubebuilder:validation:Required
	Spec BastionSpec `json:"spec"`
	// Status is what was achieved.
	Status BastionStatus `json:"status,omitempty"`
}

// GetExtensionSpec implements Object.
func (o *Bastion) GetExtensionSpec() Spec { return &o.Spec }

// GetExtensionStatus implements Object.
func (o *Bastion) GetExtensionStatus() Status { return &o.Status }

// BastionList is a list of Bastions.
//
// +kubebuilder:object:root=true
type BastionList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the Bastions.
	Items []Bastion `json:"items"`
}

// Objects implements ObjectList.
func (l *BastionList) Objects() []Object { return pointers[Bastion](l.Items) }

// BastionSpec is what is wanted of a Bastion.
type BastionSpec struct {
	DefaultSpec `json:",inline"`

	// UserData is run by the machine when it starts.
	UserData []byte `json:"userData"`
	// Ingress is from where the machine may be reached.
	Ingress []BastionIngressPolicy `json:"ingress"`
}

// BastionStatus is what was achieved of a Bastion.
type BastionStatus struct {
	DefaultStatus `json:",inline"`

	// Ingress is where the machine is reached.
	Ingress *corev1.LoadBalancerIngress `json:"ingress,omitempty"`
}

// BastionIngressPolicy is from where a bastion may be reached.
type BastionIngressPolicy struct {
	// IPBlock is a range of addresses.
	IPBlock networkingv1.IPBlock `json:"ipBlock"`
}
