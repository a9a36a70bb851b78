package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// Object is an extension object of any kind. It satisfies controller-runtime's client.Object.
//
// +kubebuilder:object:generate=false
type Object interface {
	metav1.Object
	runtime.Object

	// GetExtensionSpec returns what all kinds have in their spec.
	GetExtensionSpec() Spec
	// GetExtensionStatus returns what all kinds have in their status; what is set on it is set on the object.
	GetExtensionStatus() Status
}

// ObjectList is a list of extension objects of one kind. It satisfies controller-runtime's client.ObjectList.
//
// +kubebuilder:object:generate=false
type ObjectList interface {
	metav1.ListInterface
	runtime.Object

	// Objects returns the items; they share memory with the list.
	Objects() []Object
}

// Spec is what all kinds have in their spec.
//
// +kubebuilder:object:generate=false
type Spec interface {
	// GetExtensionType returns spec.type.
	GetExtensionType() string
	// GetExtensionClass returns spec.class, nil when absent.
	GetExtensionClass() *ExtensionClass
	// GetExtensionPurpose returns spec.purpose, nil for kinds without one.
	GetExtensionPurpose() *string
	// GetProviderConfig returns spec.providerConfig, nil when absent.
	GetProviderConfig() *runtime.RawExtension
}

// Status is what all kinds have in their status.
//
// +kubebuilder:object:generate=false
type Status interface {
	// GetProviderStatus returns status.providerStatus, nil when absent.
	GetProviderStatus() *runtime.RawExtension
	// SetProviderStatus sets status.providerStatus.
	SetProviderStatus(*runtime.RawExtension)
	// GetConditions returns status.conditions.
	GetConditions() []gardencorev1beta1.Condition
	// SetConditions sets status.conditions.
	SetConditions([]gardencorev1beta1.Condition)
	// GetLastOperation returns status.lastOperation, nil when absent.
	GetLastOperation() *gardencorev1beta1.LastOperation
	// SetLastOperation sets status.lastOperation.
	SetLastOperation(*gardencorev1beta1.LastOperation)
	// GetLastError returns status.lastError, nil when absent.
	GetLastError() *gardencorev1beta1.LastError
	// SetLastError sets status.lastError.
	SetLastError(*gardencorev1beta1.LastError)
	// GetObservedGeneration returns status.observedGeneration.
	GetObservedGeneration() int64
	// SetObservedGeneration sets status.observedGeneration.
	SetObservedGeneration(int64)
	// GetState returns status.state, nil when absent.
	GetState() *runtime.RawExtension
	// SetState sets status.state.
	SetState(*runtime.RawExtension)
	// GetResources returns status.resources.
	GetResources() []gardencorev1beta1.NamedResourceReference
	// SetResources sets status.resources.
	SetResources([]gardencorev1beta1.NamedResourceReference)
}

// ExtensionClass is whose object it is.
type ExtensionClass string

const (
	// ExtensionClassShoot is an object of a shoot; also meant when the class is absent.
	ExtensionClassShoot ExtensionClass = "shoot"
	// ExtensionClassSeed is an object of a seed.
	ExtensionClassSeed ExtensionClass = "seed"
	// ExtensionClassGarden is an object of the garden.
	ExtensionClassGarden ExtensionClass = "garden"
)

// DefaultSpec is what all kinds have in their spec.
//
// +kubebuilder:validation:XValidation:rule="(has(self.class) ? self.class : 'shoot') == (has(oldSelf.class) ? oldSelf.class : 'shoot')",message="class is immutable"
type DefaultSpec struct {
	// Type names the implementation; controllers look after objects of their types only.
	// +kubebuilder:validation:Required
	Type string `json:"type"`
	// Class is whose object it is.
	// +kubebuilder:validation:Enum=garden;seed;shoot
	Class *ExtensionClass `json:"class,omitempty"`
	// ProviderConfig is configuration for the implementation.
	// +kubebuilder:pruning:PreserveUnknownFields
	ProviderConfig *runtime.RawExtension `json:"providerConfig,omitempty"`
}

// GetExtensionType implements Spec.
func (s *DefaultSpec) GetExtensionType() string { return s.Type }

// GetExtensionClass implements Spec.
func (s *DefaultSpec) GetExtensionClass() *ExtensionClass { return s.Class }

// GetExtensionPurpose implements Spec for kinds without a purpose.
func (s *DefaultSpec) GetExtensionPurpose() *string { return nil }

// GetProviderConfig implements Spec.
func (s *DefaultSpec) GetProviderConfig() *runtime.RawExtension { return s.ProviderConfig }

// DefaultStatus is what all kinds have in their status.
type DefaultStatus struct {
	// ProviderStatus is what the implementation reports to others.
	// +kubebuilder:pruning:PreserveUnknownFields
	ProviderStatus *runtime.RawExtension `json:"providerStatus,omitempty"`
	// Conditions are what is observed, for example by health checks.
	Conditions []gardencorev1beta1.Condition `json:"conditions,omitempty"`
	// LastError is the error of the most recent operation.
	LastError *gardencorev1beta1.LastError `json:"lastError,omitempty"`
	// LastOperation is the most recent operation.
	LastOperation *gardencorev1beta1.LastOperation `json:"lastOperation,omitempty"`
	// ObservedGeneration is the generation that was dealt with last.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// State is what the implementation needs to take the object up on another seed; it goes into the ShootState.
	// +kubebuilder:pruning:PreserveUnknownFields
	State *runtime.RawExtension `json:"state,omitempty"`
	// Resources are objects of the namespace that go into the ShootState together with State.
	Resources []gardencorev1beta1.NamedResourceReference `json:"resources,omitempty"`
}

// GetProviderStatus implements Status.
func (s *DefaultStatus) GetProviderStatus() *runtime.RawExtension { return s.ProviderStatus }

// SetProviderStatus implements Status.
func (s *DefaultStatus) SetProviderStatus(status *runtime.RawExtension) { s.ProviderStatus = status }

// GetConditions implements Status.
func (s *DefaultStatus) GetConditions() []gardencorev1beta1.Condition { return s.Conditions }

// SetConditions implements Status.
func (s *DefaultStatus) SetConditions(c []gardencorev1beta1.Condition) { s.Conditions = c }

// GetLastOperation implements Status.
func (s *DefaultStatus) GetLastOperation() *gardencorev1beta1.LastOperation { return s.LastOperation }

// SetLastOperation implements Status.
func (s *DefaultStatus) SetLastOperation(o *gardencorev1beta1.LastOperation) { s.LastOperation = o }

// GetLastError implements Status.
func (s *DefaultStatus) GetLastError() *gardencorev1beta1.LastError { return s.LastError }

// SetLastError implements Status.
func (s *DefaultStatus) SetLastError(e *gardencorev1beta1.LastError) { s.LastError = e }

// GetObservedGeneration implements Status.
func (s *DefaultStatus) GetObservedGeneration() int64 { return s.ObservedGeneration }

// SetObservedGeneration implements Status.
func (s *DefaultStatus) SetObservedGeneration(generation int64) { s.ObservedGeneration = generation }

// GetState implements Status.
func (s *DefaultStatus) GetState() *runtime.RawExtension { return s.State }

// SetState implements Status.
func (s *DefaultStatus) SetState(state *runtime.RawExtension) { s.State = state }

// GetResources implements Status.
func (s *DefaultStatus) GetResources() []gardencorev1beta1.NamedResourceReference { return s.Resources }

// SetResources implements Status.
func (s *DefaultStatus) SetResources(r []gardencorev1beta1.NamedResourceReference) { s.Resources = r }
