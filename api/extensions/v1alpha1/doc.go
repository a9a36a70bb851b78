// Package v1alpha1 models the API group extensions.gardener.cloud/v1alpha1: the objects by which a gardenlet and
// extension controllers talk (docs/specification/api.md#spec-1-9, docs/specification/extensions.md#spec-3). Go and JSON
// names are those of Gardener.
//
// It has the shape of the contract, not its behaviour: who may write what and when is in controllers/extension.
//
// +kubebuilder:object:generate=true
// +kubebuilder:validation:Optional
// +groupName=extensions.gardener.cloud
package v1alpha1
