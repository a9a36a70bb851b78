// Package v1alpha1 models the part of the API group security.gardener.cloud/v1alpha1 that shoots refer to: the binding
// to their cloud credentials (docs/specification/api.md#spec-1-1). Workload identities are out of scope.
//
// +kubebuilder:object:generate=true
// +kubebuilder:validation:Optional
// +groupName=security.gardener.cloud
package v1alpha1
