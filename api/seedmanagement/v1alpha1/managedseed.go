package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// ManagedSeed makes a Seed of a Shoot in its own namespace. The Seed has the name of the ManagedSeed
// (docs/specification/nodes-and-seeds.md#spec-7-7).
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=managedseeds,singular=managedseed,scope=Namespaced,shortName=ms
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.conditions[?(@.type=="SeedRegistered")].status`
// +kubebuilder:printcolumn:name="Shoot",type=string,JSONPath=`.spec.shoot.name`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ManagedSeed struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the wanted state.
	// +kubebuilder:validation:Required
	Spec ManagedSeedSpec `json:"spec"`
	// Status is the observed state.
	Status ManagedSeedStatus `json:"status,omitempty"`
}

// ManagedSeedList is a list of ManagedSeeds.
//
// +kubebuilder:object:root=true
type ManagedSeedList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the ManagedSeeds.
	Items []ManagedSeed `json:"items"`
}

// ManagedSeedSpec is the wanted state of a ManagedSeed.
//
// +kubebuilder:validation:XValidation:rule="self.shoot.name == oldSelf.shoot.name",message="shoot is immutable"
type ManagedSeedSpec struct {
	// Shoot is the shoot that is the seed.
	// +kubebuilder:validation:Required
	Shoot Shoot `json:"shoot"`
	// Gardenlet is the gardenlet of the seed; nil for a seed that somebody else registers.
	Gardenlet *Gardenlet `json:"gardenlet,omitempty"`
}

// Shoot names the shoot that is a seed.
type Shoot struct {
	// Name is the name of a Shoot in the namespace of the ManagedSeed.
	// +kubebuilder:validation:Required
	Name string `json:"name"`
}

// Gardenlet is the gardenlet of a managed seed.
type Gardenlet struct {
	// Config is a GardenletConfiguration of the group gardenlet.config.gardener.cloud. Its seedConfig is the Seed.
	// +kubebuilder:pruning:PreserveUnknownFields
	Config *runtime.RawExtension `json:"config,omitempty"`
}

// ManagedSeedStatus is the observed state of a ManagedSeed.
type ManagedSeedStatus struct {
	// Conditions are what is observed about the seed.
	Conditions []gardencorev1beta1.Condition `json:"conditions,omitempty"`
	// ObservedGeneration is the generation that was reconciled last.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
}

// ManagedSeedSeedRegistered shows whether the Seed of a ManagedSeed is as its seedConfig says.
const ManagedSeedSeedRegistered gardencorev1beta1.ConditionType = "SeedRegistered"
