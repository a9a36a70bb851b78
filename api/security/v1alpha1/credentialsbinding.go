package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// CredentialsBinding binds shoots to their cloud credentials.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=credentialsbindings,singular=credentialsbinding,scope=Namespaced,shortName=cb
// +kubebuilder:printcolumn:name="Provider",type=string,JSONPath=`.provider.type`
// +kubebuilder:printcolumn:name="Credentials Namespace",type=string,JSONPath=`.credentialsRef.namespace`,priority=1
// +kubebuilder:printcolumn:name="Credentials Kind",type=string,JSONPath=`.credentialsRef.kind`,priority=1
// +kubebuilder:printcolumn:name="Credentials",type=string,JSONPath=`.credentialsRef.name`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type CredentialsBinding struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Provider is the cloud of the credentials.
	Provider CredentialsBindingProvider `json:"provider"`
	// CredentialsRef is the object with the credentials: a Secret, or a WorkloadIdentity.
	CredentialsRef corev1.ObjectReference `json:"credentialsRef"`
	// Quotas limit the shoots.
	Quotas []corev1.ObjectReference `json:"quotas,omitempty"`
}

// CredentialsBindingList is a list of CredentialsBindings.
//
// +kubebuilder:object:root=true
type CredentialsBindingList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the CredentialsBindings.
	Items []CredentialsBinding `json:"items"`
}

// CredentialsBindingProvider is the cloud of credentials.
type CredentialsBindingProvider struct {
	// Type is the provider's type.
	Type string `json:"type"`
}
