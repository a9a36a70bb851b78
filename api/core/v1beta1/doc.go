// Package v1beta1 models the part of the API group core.gardener.cloud/v1beta1 that the reference controllers read and
// write: JSON and Go names are those of Gardener, so that objects can be exchanged with it
// (docs/specification/api.md#spec-1).
//
// It is not a copy of Gardener's API server: nothing is defaulted or converted here, and whatever a single object
// cannot show is checked by admission. Fields that are not modelled survive on the wire because the CRDs keep them and
// because objects are written by patch only.
//
// +kubebuilder:object:generate=true
// +kubebuilder:validation:Optional
// +groupName=core.gardener.cloud
package v1beta1
