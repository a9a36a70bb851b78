// Package v1alpha1 models the API group machine.sapcloud.io/v1alpha1: machines of shoots, as the machine controller and
// the Worker extension use them, and as they stand in a ShootState (docs/specification/api.md#spec-1-11,
// docs/specification/extensions.md#spec-3-7). Names are those of the machine controller manager. It is only the shape;
// what the controller does is in controllers/machine.
//
// +kubebuilder:object:generate=true
// +kubebuilder:validation:Optional
// +groupName=machine.sapcloud.io
package v1alpha1
