package v1beta1

import (
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// NamedResourceReference gives an object of the same namespace a name.
type NamedResourceReference struct {
	// Name is the name by which extension configuration calls the object.
	Name string `json:"name"`
	// ResourceRef is the object.
	ResourceRef autoscalingv1.CrossVersionObjectReference `json:"resourceRef"`
}

// Extension switches on an extension for a shoot or seed.
type Extension struct {
	// Type is the type of the extension.
	Type string `json:"type"`
	// ProviderConfig is handed to the extension as it is.
	// +kubebuilder:pruning:PreserveUnknownFields
	ProviderConfig *runtime.RawExtension `json:"providerConfig,omitempty"`
	// Disabled switches off an extension that would be on by default.
	Disabled *bool `json:"disabled,omitempty"`
}

// CloudProfileReference names a CloudProfile or NamespacedCloudProfile.
type CloudProfileReference struct {
	// Kind is CloudProfile or NamespacedCloudProfile.
	Kind string `json:"kind"`
	// Name is the object's name.
	Name string `json:"name"`
}

// Toleration lets a shoot onto seeds with a taint (docs/specification/nodes-and-seeds.md#spec-7-2).
type Toleration struct {
	// Key is the key of the taint.
	Key string `json:"key"`
	// Value is the value of the taint; absent means any value.
	Value *string `json:"value,omitempty"`
}

// AccessRestriction names an access restriction.
type AccessRestriction struct {
	// Name is the name of the restriction.
	Name string `json:"name"`
}

// AccessRestrictionWithOptions names an access restriction and how it applies.
type AccessRestrictionWithOptions struct {
	AccessRestriction `json:",inline"`

	// Options adjust the restriction.
	Options map[string]string `json:"options,omitempty"`
}

// IPFamily is IPv4 or IPv6.
type IPFamily string

const (
	// IPFamilyIPv4 is IPv4.
	IPFamilyIPv4 IPFamily = "IPv4"
	// IPFamilyIPv6 is IPv6.
	IPFamilyIPv6 IPFamily = "IPv6"
)
