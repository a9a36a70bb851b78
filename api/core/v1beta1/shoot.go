package v1beta1

import (
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Shoot is a cluster whose control plane runs on a seed (docs/specification/api.md#spec-1-2).
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=shoots,singular=shoot,scope=Namespaced
// +kubebuilder:printcolumn:name="CloudProfile",type=string,JSONPath=`.spec.cloudProfile.name`
// +kubebuilder:printcolumn:name="Provider",type=string,JSONPath=`.spec.provider.type`
// +kubebuilder:printcolumn:name="Region",type=string,JSONPath=`.spec.region`
// +kubebuilder:printcolumn:name="Seed",type=string,JSONPath=`.status.seedName`,priority=1
// +kubebuilder:printcolumn:name="K8S Version",type=string,JSONPath=`.spec.kubernetes.version`
// +kubebuilder:printcolumn:name="Hibernation",type=boolean,JSONPath=`.status.hibernated`
// +kubebuilder:printcolumn:name="Last Operation",type=string,JSONPath=`.status.lastOperation.type`
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.lastOperation.state`
// +kubebuilder:printcolumn:name="Progress",type=integer,JSONPath=`.status.lastOperation.progress`
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.metadata.labels.shoot\.gardener\.cloud/status`
// +kubebuilder:printcolumn:name="Purpose",type=string,JSONPath=`.spec.purpose`,priority=1
// +kubebuilder:printcolumn:name="Gardener Version",type=string,JSONPath=`.status.gardener.version`,priority=1
// +kubebuilder:printcolumn:name="APIServer",type=string,JSONPath=`.status.conditions[?(@.type=="APIServerAvailable")].status`,priority=1
// +kubebuilder:printcolumn:name="Control",type=string,JSONPath=`.status.conditions[?(@.type=="ControlPlaneHealthy")].status`,priority=1
// +kubebuilder:printcolumn:name="Observability",type=string,JSONPath=`.status.conditions[?(@.type=="ObservabilityComponentsHealthy")].status`,priority=1
// +kubebuilder:printcolumn:name="Nodes",type=string,JSONPath=`.status.conditions[?(@.type=="EveryNodeReady")].status`,priority=1
// +kubebuilder:printcolumn:name="System",type=string,JSONPath=`.status.conditions[?(@.type=="SystemComponentsHealthy")].status`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Shoot struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the wanted state of the cluster.
	Spec ShootSpec `json:"spec,omitempty"`
	// Status is the observed state of the cluster.
	Status ShootStatus `json:"status,omitempty"`
}

// ShootList is a list of Shoots.
//
// +kubebuilder:object:root=true
type ShootList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the Shoots.
	Items []Shoot `json:"items"`
}

// ShootSpec is the wanted state of a Shoot.
//
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.seedName) || has(self.seedName)",message="seedName must not be unset once it is set"
type ShootSpec struct {
	// Addons are optional components in the shoot.
	Addons *Addons `json:"addons,omitempty"`
	// CloudProfileName is the old form of CloudProfile.
	CloudProfileName *string `json:"cloudProfileName,omitempty"`
	// DNS is the shoot's domain and who serves it.
	DNS *DNS `json:"dns,omitempty"`
	// Extensions are the extensions of the shoot.
	Extensions []Extension `json:"extensions,omitempty"`
	// Hibernation says whether and when the shoot sleeps.
	Hibernation *Hibernation `json:"hibernation,omitempty"`
	// Kubernetes is version and configuration of the Kubernetes components.
	Kubernetes Kubernetes `json:"kubernetes"`
	// Networking is the shoot's network.
	Networking *Networking `json:"networking,omitempty"`
	// Maintenance says when and what may be maintained.
	Maintenance *Maintenance `json:"maintenance,omitempty"`
	// Monitoring configures alerts.
	Monitoring *Monitoring `json:"monitoring,omitempty"`
	// Provider is the cloud of the shoot and its worker pools.
	Provider Provider `json:"provider"`
	// Purpose is how important the shoot is.
	Purpose *ShootPurpose `json:"purpose,omitempty"`
	// Region is the cloud's region.
	Region string `json:"region"`
	// SecretBindingName names the SecretBinding with the cloud credentials (old form).
	SecretBindingName *string `json:"secretBindingName,omitempty"`
	// SeedName is the seed that shall run the control plane. A change starts a migration
	// (docs/specification/migration.md#spec-2-2).
	SeedName *string `json:"seedName,omitempty"`
	// SeedSelector restricts the seeds that may run the control plane.
	SeedSelector *SeedSelector `json:"seedSelector,omitempty"`
	// Resources are objects that extension configuration refers to by name.
	Resources []NamedResourceReference `json:"resources,omitempty"`
	// Tolerations let the shoot onto tainted seeds.
	Tolerations []Toleration `json:"tolerations,omitempty"`
	// ExposureClassName names how the control plane is exposed.
	ExposureClassName *string `json:"exposureClassName,omitempty"`
	// SystemComponents configures components that every shoot has.
	SystemComponents *SystemComponents `json:"systemComponents,omitempty"`
	// ControlPlane configures the control plane as a whole.
	ControlPlane *ControlPlane `json:"controlPlane,omitempty"`
	// SchedulerName names the scheduler that picks the seed.
	SchedulerName *string `json:"schedulerName,omitempty"`
	// CloudProfile names the profile that the shoot is checked against.
	CloudProfile *CloudProfileReference `json:"cloudProfile,omitempty"`
	// CredentialsBindingName names the CredentialsBinding with the cloud credentials.
	CredentialsBindingName *string `json:"credentialsBindingName,omitempty"`
	// AccessRestrictions are restrictions that seed and region must honour.
	AccessRestrictions []AccessRestrictionWithOptions `json:"accessRestrictions,omitempty"`
}

// ShootPurpose is how important a shoot is.
type ShootPurpose string

const (
	// ShootPurposeEvaluation is for trying things out.
	ShootPurposeEvaluation ShootPurpose = "evaluation"
	// ShootPurposeTesting is for tests.
	ShootPurposeTesting ShootPurpose = "testing"
	// ShootPurposeDevelopment is for development.
	ShootPurposeDevelopment ShootPurpose = "development"
	// ShootPurposeProduction is for production.
	ShootPurposeProduction ShootPurpose = "production"
	// ShootPurposeInfrastructure is for shoots that others stand on.
	ShootPurposeInfrastructure ShootPurpose = "infrastructure"
)

// Hibernation says whether and when a shoot sleeps.
type Hibernation struct {
	// Enabled is whether the shoot shall sleep now.
	Enabled *bool `json:"enabled,omitempty"`
	// Schedules are times at which Enabled is switched.
	Schedules []HibernationSchedule `json:"schedules,omitempty"`
}

// HibernationSchedule is a pair of cron expressions.
type HibernationSchedule struct {
	// Start is when the shoot goes to sleep.
	Start *string `json:"start,omitempty"`
	// End is when the shoot wakes up.
	End *string `json:"end,omitempty"`
	// Location is the time zone of both.
	Location *string `json:"location,omitempty"`
}

// Networking is the shoot's network.
type Networking struct {
	// Type is the type of the Network extension.
	Type *string `json:"type,omitempty"`
	// ProviderConfig is handed to the Network extension as it is.
	// +kubebuilder:pruning:PreserveUnknownFields
	ProviderConfig *runtime.RawExtension `json:"providerConfig,omitempty"`
	// Pods is the CIDR of the pods.
	Pods *string `json:"pods,omitempty"`
	// Nodes is the CIDR of the nodes; absent until the infrastructure reports it.
	Nodes *string `json:"nodes,omitempty"`
	// Services is the CIDR of the services.
	Services *string `json:"services,omitempty"`
	// IPFamilies are the IP versions in use.
	IPFamilies []IPFamily `json:"ipFamilies,omitempty"`
}

// DNS is the shoot's domain and who serves it.
type DNS struct {
	// Domain is the public domain of the shoot.
	Domain *string `json:"domain,omitempty"`
	// Providers are the DNS providers of the shoot.
	Providers []DNSProvider `json:"providers,omitempty"`
}

// DNSProvider is an account at a DNS provider.
type DNSProvider struct {
	// CredentialsRef is the object with the credentials, in the shoot's project.
	CredentialsRef *autoscalingv1.CrossVersionObjectReference `json:"credentialsRef,omitempty"`
	// Domains in- or excludes domains.
	Domains *DNSIncludeExclude `json:"domains,omitempty"`
	// Primary marks the provider of the shoot's own domain.
	Primary *bool `json:"primary,omitempty"`
	// SecretName names the Secret with the credentials (old form).
	SecretName *string `json:"secretName,omitempty"`
	// Type is the type of the DNSRecord extension.
	Type *string `json:"type,omitempty"`
	// Zones in- or excludes zones.
	Zones *DNSIncludeExclude `json:"zones,omitempty"`
}

// DNSIncludeExclude in- and excludes names.
type DNSIncludeExclude struct {
	// Include are the names that count.
	Include []string `json:"include,omitempty"`
	// Exclude are the names that do not count.
	Exclude []string `json:"exclude,omitempty"`
}

// ControlPlane configures the control plane as a whole.
type ControlPlane struct {
	// HighAvailability says what the control plane must survive.
	HighAvailability *HighAvailability `json:"highAvailability,omitempty"`
}

// HighAvailability says what a control plane must survive.
type HighAvailability struct {
	// FailureTolerance is the failure that is survived.
	FailureTolerance FailureTolerance `json:"failureTolerance"`
}

// FailureTolerance is a failure that is survived.
type FailureTolerance struct {
	// Type is node or zone.
	Type FailureToleranceType `json:"type"`
}

// FailureToleranceType is node or zone.
type FailureToleranceType string

const (
	// FailureToleranceTypeNode means that the loss of a node is survived.
	FailureToleranceTypeNode FailureToleranceType = "node"
	// FailureToleranceTypeZone means that the loss of a zone is survived.
	FailureToleranceTypeZone FailureToleranceType = "zone"
)

// Monitoring configures alerts.
type Monitoring struct {
	// Alerting says who gets alerts.
	Alerting *Alerting `json:"alerting,omitempty"`
}

// Alerting says who gets alerts.
type Alerting struct {
	// EmailReceivers are mail addresses.
	EmailReceivers []string `json:"emailReceivers,omitempty"`
}
