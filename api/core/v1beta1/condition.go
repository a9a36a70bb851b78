package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Condition is one observation about an object (docs/specification/api.md#spec-1-2).
type Condition struct {
	// Type names what is observed.
	Type ConditionType `json:"type"`
	// Status is the outcome of the observation.
	Status ConditionStatus `json:"status"`
	// LastTransitionTime is when the status changed last.
	LastTransitionTime metav1.Time `json:"lastTransitionTime"`
	// LastUpdateTime is when any field of the condition changed last.
	LastUpdateTime metav1.Time `json:"lastUpdateTime"`
	// Reason is a word for the cause of the last transition.
	Reason string `json:"reason"`
	// Message explains the observation to a human.
	Message string `json:"message"`
	// Codes are well-known error codes behind a bad status.
	Codes []ErrorCode `json:"codes,omitempty"`
}

// ConditionType names what a condition observes.
type ConditionType string

// ConditionStatus is the outcome of an observation.
type ConditionStatus string

const (
	// ConditionTrue means that the condition holds.
	ConditionTrue ConditionStatus = "True"
	// ConditionFalse means that the condition does not hold.
	ConditionFalse ConditionStatus = "False"
	// ConditionUnknown means that the check could not be made.
	ConditionUnknown ConditionStatus = "Unknown"
	// ConditionProgressing means that the condition stopped holding only a short time ago
	// (docs/specification/care.md#spec-5-3).
	ConditionProgressing ConditionStatus = "Progressing"
)

// Reasons of conditions that are used in several places.
const (
	// ConditionCheckError is the reason of a condition whose check itself failed.
	ConditionCheckError = "ConditionCheckError"
	// ConditionNotChecked is the reason of a condition that does not apply at present, for example while hibernated.
	ConditionNotChecked = "ConditionNotChecked"
	// ConditionInitialized is the reason of a condition that was never checked before.
	ConditionInitialized = "ConditionInitialized"
	// ConditionUnknownMessage is the message of a condition that was never checked before.
	ConditionUnknownMessage = "The condition has been initialized but its semantic check has not been performed yet."
)

// Conditions and constraints of a Shoot (docs/specification/care.md#spec-5-2, docs/specification/care.md#spec-5-5,
// docs/specification/migration.md#spec-2-4).
const (
	// ShootAPIServerAvailable shows whether the shoot's API server answers.
	ShootAPIServerAvailable ConditionType = "APIServerAvailable"
	// ShootControlPlaneHealthy shows whether the components of the control plane in the seed are healthy.
	ShootControlPlaneHealthy ConditionType = "ControlPlaneHealthy"
	// ShootObservabilityComponentsHealthy shows whether monitoring and logging of the shoot are healthy.
	ShootObservabilityComponentsHealthy ConditionType = "ObservabilityComponentsHealthy"
	// ShootEveryNodeReady shows whether all nodes are there and ready.
	ShootEveryNodeReady ConditionType = "EveryNodeReady"
	// ShootSystemComponentsHealthy shows whether the components in the shoot itself are healthy.
	ShootSystemComponentsHealthy ConditionType = "SystemComponentsHealthy"
	// ShootHibernationPossible is the constraint that nothing prevents hibernation or wake-up.
	ShootHibernationPossible ConditionType = "HibernationPossible"
	// ShootMaintenancePreconditionsSatisfied is the constraint that nothing prevents maintenance.
	ShootMaintenancePreconditionsSatisfied ConditionType = "MaintenancePreconditionsSatisfied"
	// ShootCACertificateValiditiesAcceptable is the constraint that no certificate authority expires soon.
	ShootCACertificateValiditiesAcceptable ConditionType = "CACertificateValiditiesAcceptable"
	// ShootCRDsWithProblematicConversionWebhooks is the constraint about CRDs with several stored versions and a webhook.
	ShootCRDsWithProblematicConversionWebhooks ConditionType = "CRDsWithProblematicConversionWebhooks"
	// ShootManualInPlaceWorkersUpdated is the constraint that no manual in-place update is due.
	ShootManualInPlaceWorkersUpdated ConditionType = "ManualInPlaceWorkersUpdated"
	// ShootReadyForMigration is the constraint that both seeds are ready for a change of seed
	// (docs/specification/migration.md#spec-2-4).
	ShootReadyForMigration ConditionType = "ReadyForMigration"
	// ShootEvacuationPossible is False on a shoot whose seed is lost and that can go nowhere; the message says why for
	// each seed, or what a restore would miss (reason StateIncomplete). It is absent otherwise.
	ShootEvacuationPossible ConditionType = "EvacuationPossible"
	// ShootManagedResourcesHonored is the constraint, True while no ManagedResource is ignored, whatever its name says.
	ShootManagedResourcesHonored ConditionType = "HasIgnoredManagedResources"
	// ShootPreservedFailedMachinesAbsent is the constraint, True while no failed machine is kept for inspection.
	ShootPreservedFailedMachinesAbsent ConditionType = "PreservedFailedMachinesAbsent"
)

// Conditions of a Seed (docs/specification/api.md#spec-1-4).
const (
	// SeedGardenletReady shows whether the seed's gardenlet renews its Lease.
	SeedGardenletReady ConditionType = "GardenletReady"
	// SeedBackupBucketsReady shows whether the buckets of the seed are ready.
	SeedBackupBucketsReady ConditionType = "BackupBucketsReady"
	// SeedExtensionsReady shows whether the extensions on the seed are installed and healthy.
	SeedExtensionsReady ConditionType = "ExtensionsReady"
	// SeedSystemComponentsHealthy shows whether the seed's own components are healthy.
	SeedSystemComponentsHealthy ConditionType = "SeedSystemComponentsHealthy"
	// SeedEmergencyStopShootReconciliations shows whether operations on the seed's shoots are stopped.
	SeedEmergencyStopShootReconciliations ConditionType = "EmergencyStopShootReconciliations"
)
