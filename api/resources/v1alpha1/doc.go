// Package v1alpha1 models the API group resources.gardener.cloud/v1alpha1: sets of objects that are applied to a seed
// or a shoot and kept that way (docs/specification/api.md#spec-1-10). Names are those of Gardener. It does not apply
// anything.
//
// +kubebuilder:object:generate=true
// +kubebuilder:validation:Optional
// +groupName=resources.gardener.cloud
package v1alpha1
