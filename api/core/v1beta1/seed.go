package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Seed is a cluster that runs control planes of shoots (docs/specification/api.md#spec-1-4).
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=seeds,singular=seed,scope=Cluster
// +kubebuilder:printcolumn:name="Gardenlet",type=string,JSONPath=`.status.conditions[?(@.type=="GardenletReady")].status`
// +kubebuilder:printcolumn:name="Last Operation",type=string,JSONPath=`.status.lastOperation.type`
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.lastOperation.state`
// +kubebuilder:printcolumn:name="Backup Buckets",type=string,JSONPath=`.status.conditions[?(@.type=="BackupBucketsReady")].status`,priority=1
// +kubebuilder:printcolumn:name="Extensions",type=string,JSONPath=`.status.conditions[?(@.type=="ExtensionsReady")].status`,priority=1
// +kubebuilder:printcolumn:name="System",type=string,JSONPath=`.status.conditions[?(@.type=="SeedSystemComponentsHealthy")].status`,priority=1
// +kubebuilder:printcolumn:name="Provider",type=string,JSONPath=`.spec.provider.type`
// +kubebuilder:printcolumn:name="Region",type=string,JSONPath=`.spec.provider.region`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.status.gardener.version`
// +kubebuilder:printcolumn:name="K8S Version",type=string,JSONPath=`.status.kubernetesVersion`
type Seed struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the wanted state of the seed.
	Spec SeedSpec `json:"spec,omitempty"`
	// Status is the observed state of the seed.
	Status SeedStatus `json:"status,omitempty"`
}

// SeedList is a list of Seeds.
//
// +kubebuilder:object:root=true
type SeedList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the Seeds.
	Items []Seed `json:"items"`
}

// SeedSpec is the wanted state of a Seed.
type SeedSpec struct {
	// Backup is where the etcds of the seed's shoots are backed up. Both seeds of a migration need it.
	Backup *Backup `json:"backup,omitempty"`
	// DNS is the seed's domains.
	DNS SeedDNS `json:"dns"`
	// Networks are the seed's networks; those of its shoots must not overlap with them.
	Networks SeedNetworks `json:"networks"`
	// Provider is the seed's cloud.
	Provider SeedProvider `json:"provider"`
	// Taints keep shoots away that do not tolerate them (docs/specification/nodes-and-seeds.md#spec-7-2).
	Taints []SeedTaint `json:"taints,omitempty"`
	// Volume configures persistent volumes.
	Volume *SeedVolume `json:"volume,omitempty"`
	// Settings are further settings.
	Settings *SeedSettings `json:"settings,omitempty"`
	// Ingress is the domain of the seed's own web pages.
	Ingress *Ingress `json:"ingress,omitempty"`
	// AccessRestrictions are the restrictions that the seed honours.
	AccessRestrictions []AccessRestriction `json:"accessRestrictions,omitempty"`
	// Extensions are the extensions of the seed itself.
	Extensions []Extension `json:"extensions,omitempty"`
	// Resources are objects that extension configuration refers to by name.
	Resources []NamedResourceReference `json:"resources,omitempty"`
}

// SeedStatus is the observed state of a Seed.
type SeedStatus struct {
	// Gardener is the gardenlet of the seed.
	Gardener *Gardener `json:"gardener,omitempty"`
	// KubernetesVersion is the seed's version.
	KubernetesVersion *string `json:"kubernetesVersion,omitempty"`
	// Conditions are what is observed about the seed.
	Conditions []Condition `json:"conditions,omitempty"`
	// ObservedGeneration is the generation that was reconciled last.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// ClusterIdentity identifies the cluster to others.
	ClusterIdentity *string `json:"clusterIdentity,omitempty"`
	// Capacity is what the seed can hold, for example shoots.
	Capacity corev1.ResourceList `json:"capacity,omitempty"`
	// Allocatable is what the scheduler may use of Capacity.
	Allocatable corev1.ResourceList `json:"allocatable,omitempty"`
	// ClientCertificateExpirationTimestamp is when the gardenlet's certificate expires.
	ClientCertificateExpirationTimestamp *metav1.Time `json:"clientCertificateExpirationTimestamp,omitempty"`
	// LastOperation is the most recent operation on the seed.
	LastOperation *LastOperation `json:"lastOperation,omitempty"`
	// Constraints are what stands in the way of some operations.
	Constraints []Condition `json:"constraints,omitempty"`
}

// SeedResourceShoots is the resource that counts shoots in a seed's capacity.
const SeedResourceShoots corev1.ResourceName = "shoots"

// Backup is where etcds are backed up.
type Backup struct {
	// Provider is the type of the BackupBucket and BackupEntry extensions.
	Provider string `json:"provider"`
	// ProviderConfig is handed to the BackupBucket extension as it is.
	// +kubebuilder:pruning:PreserveUnknownFields
	ProviderConfig *runtime.RawExtension `json:"providerConfig,omitempty"`
	// Region is the bucket's region.
	Region *string `json:"region,omitempty"`
	// CredentialsRef is the object with the credentials.
	CredentialsRef *corev1.ObjectReference `json:"credentialsRef,omitempty"`
}

// SeedDNS is the seed's domains.
type SeedDNS struct {
	// Provider serves the seed's ingress domain.
	Provider *SeedDNSProvider `json:"provider,omitempty"`
	// Internal is the domain of the shoots' internal names. It must be the same on both seeds of a migration.
	Internal *SeedDNSProviderConfig `json:"internal,omitempty"`
	// Defaults are domains for shoots that bring none.
	Defaults []SeedDNSProviderConfig `json:"defaults,omitempty"`
}

// SeedDNSProvider serves the seed's ingress domain.
type SeedDNSProvider struct {
	// Type is the type of the DNSRecord extension.
	Type string `json:"type"`
	// CredentialsRef is the object with the credentials.
	CredentialsRef *corev1.ObjectReference `json:"credentialsRef,omitempty"`
}

// SeedDNSProviderConfig is a domain and who serves it.
type SeedDNSProviderConfig struct {
	// Type is the type of the DNSRecord extension.
	Type string `json:"type"`
	// Domain is the domain.
	Domain string `json:"domain"`
	// Zone is the zone of the records.
	Zone *string `json:"zone,omitempty"`
	// CredentialsRef is the object with the credentials.
	CredentialsRef corev1.ObjectReference `json:"credentialsRef"`
}

// SeedNetworks are the networks of a seed.
type SeedNetworks struct {
	// Nodes is the CIDR of the nodes.
	Nodes *string `json:"nodes,omitempty"`
	// Pods is the CIDR of the pods.
	Pods string `json:"pods"`
	// Services is the CIDR of the services.
	Services string `json:"services"`
	// ShootDefaults are the CIDRs of shoots that bring none.
	ShootDefaults *ShootNetworks `json:"shootDefaults,omitempty"`
	// BlockCIDRs must not be reached from control planes.
	BlockCIDRs []string `json:"blockCIDRs,omitempty"`
	// IPFamilies are the IP versions in use.
	IPFamilies []IPFamily `json:"ipFamilies,omitempty"`
}

// ShootNetworks are CIDRs of shoots that bring none.
type ShootNetworks struct {
	// Pods is the CIDR of the pods.
	Pods *string `json:"pods,omitempty"`
	// Services is the CIDR of the services.
	Services *string `json:"services,omitempty"`
}

// SeedProvider is the seed's cloud.
type SeedProvider struct {
	// Type is the type of the provider.
	Type string `json:"type"`
	// ProviderConfig is the provider's configuration for the seed.
	// +kubebuilder:pruning:PreserveUnknownFields
	ProviderConfig *runtime.RawExtension `json:"providerConfig,omitempty"`
	// Region is the seed's region.
	Region string `json:"region"`
	// Zones are the seed's zones.
	Zones []string `json:"zones,omitempty"`
}

// SeedTaint keeps shoots away from a seed.
type SeedTaint struct {
	// Key is the key of the taint.
	Key string `json:"key"`
	// Value is the value of the taint.
	Value *string `json:"value,omitempty"`
}

// Taints of seeds that Gardener knows.
const (
	// SeedTaintProtected marks seeds for shoots of the landscape's own projects.
	SeedTaintProtected = "seed.gardener.cloud/protected"
)

// SeedSelector restricts seeds by label and provider.
type SeedSelector struct {
	metav1.LabelSelector `json:",inline"`

	// ProviderTypes are the providers of fitting seeds; "*" fits all.
	ProviderTypes []string `json:"providerTypes,omitempty"`
}

// SeedVolume configures persistent volumes of a seed.
type SeedVolume struct {
	// MinimumSize is the least size of a volume.
	MinimumSize *resource.Quantity `json:"minimumSize,omitempty"`
	// Providers are storage classes by purpose.
	Providers []SeedVolumeProvider `json:"providers,omitempty"`
}

// SeedVolumeProvider is a storage class for a purpose.
type SeedVolumeProvider struct {
	// Purpose is what the class is for.
	Purpose string `json:"purpose"`
	// Name is the class.
	Name string `json:"name"`
}

// Ingress is the domain of a seed's own web pages.
type Ingress struct {
	// Domain is the domain.
	Domain string `json:"domain"`
	// Controller serves it.
	Controller IngressController `json:"controller"`
}

// IngressController serves a seed's ingress domain.
type IngressController struct {
	// Kind is the kind of the controller.
	Kind string `json:"kind"`
	// ProviderConfig is the controller's configuration.
	// +kubebuilder:pruning:PreserveUnknownFields
	ProviderConfig *runtime.RawExtension `json:"providerConfig,omitempty"`
}
