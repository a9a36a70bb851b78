package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SecretBinding binds shoots to the Secret with their cloud credentials.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=secretbindings,singular=secretbinding,scope=Namespaced,shortName=sb
// +kubebuilder:printcolumn:name="Provider",type=string,JSONPath=`.provider.type`
// +kubebuilder:printcolumn:name="Secret",type=string,JSONPath=`.secretRef.name`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type SecretBinding struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// SecretRef is the Secret.
	SecretRef corev1.SecretReference `json:"secretRef"`
	// Quotas limit the shoots.
	Quotas []corev1.ObjectReference `json:"quotas,omitempty"`
	// Provider is the cloud of the credentials.
	Provider *SecretBindingProvider `json:"provider,omitempty"`
}

// SecretBindingList is a list of SecretBindings.
//
// +kubebuilder:object:root=true
type SecretBindingList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the SecretBindings.
	Items []SecretBinding `json:"items"`
}

// SecretBindingProvider is the cloud of credentials.
type SecretBindingProvider struct {
	// Type is the provider's type, or several, separated by commas.
	Type string `json:"type"`
}
