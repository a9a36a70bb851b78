package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var (
	_ Object     = &SelfHostedShootExposure{}
	_ ObjectList = &SelfHostedShootExposureList{}
)

// SelfHostedShootExposureResource is the kind's name.
const SelfHostedShootExposureResource = "SelfHostedShootExposure"

// SelfHostedShootExposure makes the control plane of a self-hosted shoot reachable.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=selfhostedshootexposures,singular=selfhostedshootexposure,scope=Namespaced,shortName=exp
// +kubebuilder:printcolumn:name="Type",type=string,JSONPath=`.spec.type`
// +kubebuilder:printcolumn:name="IP",type=string,JSONPath=`.status.ingress[*].ip`
// +kubebuilder:printcolumn:name="Hostname",type=string,JSONPath=`.status.ingress[*].hostname`
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.lastOperation.state`
// +kubebuilder:printcolumn:name="Operation",type=string,JSONPath=`.status.lastOperation.type`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type SelfHostedShootExposure struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what is wanted.
	// +kubebuilder:validation:Required
	Spec SelfHostedShootExposureSpec `json:"spec"`
	// Status is what was achieved.
	Status SelfHostedShootExposureStatus `json:"status,omitempty"`
}

// GetExtensionSpec implements Object.
func (o *SelfHostedShootExposure) GetExtensionSpec() Spec { return &o.Spec }

// GetExtensionStatus implements Object.
func (o *SelfHostedShootExposure) GetExtensionStatus() Status { return &o.Status }

// SelfHostedShootExposureList is a list of SelfHostedShootExposures.
//
// +kubebuilder:object:root=true
type SelfHostedShootExposureList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the SelfHostedShootExposures.
	Items []SelfHostedShootExposure `json:"items"`
}

// Objects implements ObjectList.
func (l *SelfHostedShootExposureList) Objects() []Object {
	return pointers[SelfHostedShootExposure](l.Items)
}

// SelfHostedShootExposureSpec is what is wanted of a SelfHostedShootExposure.
type SelfHostedShootExposureSpec struct {
	DefaultSpec `json:",inline"`

	// CredentialsRef is the object with the cloud's credentials.
	CredentialsRef *corev1.ObjectReference `json:"credentialsRef,omitempty"`
	// Endpoints are the nodes of the control plane.
	Endpoints []ControlPlaneEndpoint `json:"endpoints"`
}

// SelfHostedShootExposureStatus is what was achieved of a SelfHostedShootExposure.
type SelfHostedShootExposureStatus struct {
	DefaultStatus `json:",inline"`

	// Ingress is where the control plane is reached.
	Ingress []corev1.LoadBalancerIngress `json:"ingress,omitempty"`
}

// ControlPlaneEndpoint is a node of a control plane.
type ControlPlaneEndpoint struct {
	// NodeName is the node's name.
	NodeName string `json:"nodeName"`
	// Addresses are the node's addresses.
	Addresses []corev1.NodeAddress `json:"addresses"`
	// Port is the port of the API server.
	Port int32 `json:"port"`
}
