package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ShootStatus is the observed state of a Shoot.
type ShootStatus struct {
	// Conditions are what care observes (docs/specification/care.md#spec-5-2).
	Conditions []Condition `json:"conditions,omitempty"`
	// Constraints are what stands in the way of some operations (docs/specification/care.md#spec-5-5,
	// docs/specification/migration.md#spec-2-4).
	Constraints []Condition `json:"constraints,omitempty"`
	// Gardener is the gardenlet that acted last.
	Gardener Gardener `json:"gardener"`
	// IsHibernated is whether the shoot actually sleeps.
	IsHibernated bool `json:"hibernated"`
	// LastOperation is the most recent operation.
	LastOperation *LastOperation `json:"lastOperation,omitempty"`
	// LastErrors are the errors of the most recent operation, one per failed task.
	LastErrors []LastError `json:"lastErrors,omitempty"`
	// ObservedGeneration is the generation that was reconciled last.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// RetryCycleStartTime is when the present cycle of retries began.
	RetryCycleStartTime *metav1.Time `json:"retryCycleStartTime,omitempty"`
	// SeedName is the seed that holds the control plane.
	SeedName *string `json:"seedName,omitempty"`
	// TechnicalID names the shoot in seed and cloud; it never changes.
	TechnicalID string `json:"technicalID"`
	// UID distinguishes this shoot from an earlier one of the same name; it never changes.
	UID types.UID `json:"uid"`
	// ClusterIdentity identifies the cluster to others.
	ClusterIdentity *string `json:"clusterIdentity,omitempty"`
	// AdvertisedAddresses are URLs of the cluster.
	AdvertisedAddresses []ShootAdvertisedAddress `json:"advertisedAddresses,omitempty"`
	// MigrationStartTime is on the wire but written by nobody today.
	MigrationStartTime *metav1.Time `json:"migrationStartTime,omitempty"`
	// Credentials is the state of the shoot's credentials.
	Credentials *ShootCredentials `json:"credentials,omitempty"`
	// LastHibernationTriggerTime is when a schedule switched hibernation last.
	LastHibernationTriggerTime *metav1.Time `json:"lastHibernationTriggerTime,omitempty"`
	// LastMaintenance is the outcome of the last maintenance.
	LastMaintenance *LastMaintenance `json:"lastMaintenance,omitempty"`
	// EncryptedResources are the resources encrypted at rest (old form).
	EncryptedResources []string `json:"encryptedResources,omitempty"`
	// Networking is the network as the infrastructure reported it.
	Networking *NetworkingStatus `json:"networking,omitempty"`
	// InPlaceUpdates are in-place updates that are due.
	InPlaceUpdates *InPlaceUpdatesStatus `json:"inPlaceUpdates,omitempty"`
	// ManualWorkerPoolRollout are rollouts that were asked for by operation annotation.
	ManualWorkerPoolRollout *ManualWorkerPoolRollout `json:"manualWorkerPoolRollout,omitempty"`
	// LiveMigration is reserved for migration without downtime.
	LiveMigration *LiveMigrationStatus `json:"liveMigration,omitempty"`
}

// ShootAdvertisedAddress is a URL of the cluster.
type ShootAdvertisedAddress struct {
	// Name says what kind of address it is, for example external or internal.
	Name string `json:"name"`
	// URL is the address.
	URL string `json:"url"`
	// Application names what is served there.
	Application *string `json:"application,omitempty"`
}

// Names of advertised addresses.
const (
	// AdvertisedAddressExternal is the API server's public name.
	AdvertisedAddressExternal = "external"
	// AdvertisedAddressInternal is the API server's name in the landscape's own domain.
	AdvertisedAddressInternal = "internal"
	// AdvertisedAddressServiceAccountIssuer is the issuer of service account tokens.
	AdvertisedAddressServiceAccountIssuer = "service-account-issuer"
)

// LastMaintenance is the outcome of a maintenance.
type LastMaintenance struct {
	// Description lists what was done.
	Description string `json:"description"`
	// TriggeredTime is when the maintenance began.
	TriggeredTime metav1.Time `json:"triggeredTime"`
	// State is Processing, Succeeded or Failed.
	State LastOperationState `json:"state"`
	// FailureReason says what could not be done.
	FailureReason *string `json:"failureReason,omitempty"`
}

// NetworkingStatus is a network as the infrastructure reported it.
type NetworkingStatus struct {
	// Pods are the CIDRs of the pods.
	Pods []string `json:"pods,omitempty"`
	// Nodes are the CIDRs of the nodes.
	Nodes []string `json:"nodes,omitempty"`
	// Services are the CIDRs of the services.
	Services []string `json:"services,omitempty"`
	// EgressCIDRs are the addresses from which the cluster's traffic comes.
	EgressCIDRs []string `json:"egressCIDRs,omitempty"`
}

// InPlaceUpdatesStatus are in-place updates that are due.
type InPlaceUpdatesStatus struct {
	// PendingWorkerUpdates are the worker pools with updates due.
	PendingWorkerUpdates *PendingWorkerUpdates `json:"pendingWorkerUpdates,omitempty"`
}

// PendingWorkerUpdates are worker pools with in-place updates due.
type PendingWorkerUpdates struct {
	// AutoInPlaceUpdate are the pools that the machine controller updates.
	AutoInPlaceUpdate []string `json:"autoInPlaceUpdate,omitempty"`
	// ManualInPlaceUpdate are the pools that the user updates.
	ManualInPlaceUpdate []string `json:"manualInPlaceUpdate,omitempty"`
}

// ManualWorkerPoolRollout are rollouts that were asked for by operation annotation.
type ManualWorkerPoolRollout struct {
	// PendingWorkersRollouts are the pools that still roll.
	PendingWorkersRollouts []PendingWorkersRollout `json:"pendingWorkersRollouts,omitempty"`
}

// LiveMigrationStatus is reserved for migration without downtime.
type LiveMigrationStatus struct {
	// Conditions are the steps of the migration.
	Conditions []Condition `json:"conditions,omitempty"`
}
