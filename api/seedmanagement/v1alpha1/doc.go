// Package v1alpha1 models the part of the API group seedmanagement.gardener.cloud/v1alpha1 that makes a seed of a shoot
// (docs/specification/api.md#spec-1-1). ManagedSeedSets, and the deployment of gardenlets, are out of scope.
//
// +kubebuilder:object:generate=true
// +kubebuilder:validation:Optional
// +groupName=seedmanagement.gardener.cloud
package v1alpha1
