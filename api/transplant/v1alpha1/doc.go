// Package v1alpha1 has the types of our own API group that controllers store: parts of ShootStates that are too large
// for one object (docs/specification/state-size.md#spec-9-5). Scenarios are not here, they belong to the engine.
//
// +kubebuilder:object:generate=true
// +kubebuilder:validation:Optional
// +groupName=transplant.dev
package v1alpha1
