package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// LastOperation is the most recent operation on an object (docs/specification/api.md#spec-1-2,
// docs/specification/extensions.md#spec-3-4).
type LastOperation struct {
	// Description says what is being done or was done.
	Description string `json:"description"`
	// LastUpdateTime is when the operation was reported last.
	LastUpdateTime metav1.Time `json:"lastUpdateTime"`
	// Progress is how far the operation is, 0 to 100.
	Progress int32 `json:"progress"`
	// State is where the operation stands.
	State LastOperationState `json:"state"`
	// Type is what is being done.
	Type LastOperationType `json:"type"`
}

// LastOperationType is what an operation does.
type LastOperationType string

const (
	// LastOperationTypeCreate creates the object for the first time.
	LastOperationTypeCreate LastOperationType = "Create"
	// LastOperationTypeReconcile brings an existing object in line with its specification.
	LastOperationTypeReconcile LastOperationType = "Reconcile"
	// LastOperationTypeDelete deletes the object.
	LastOperationTypeDelete LastOperationType = "Delete"
	// LastOperationTypeMigrate lets the object go from its seed without touching what it stands for.
	LastOperationTypeMigrate LastOperationType = "Migrate"
	// LastOperationTypeRestore takes the object up on another seed.
	LastOperationTypeRestore LastOperationType = "Restore"
)

// LastOperationState is where an operation stands.
type LastOperationState string

const (
	// LastOperationStateProcessing means that the operation is going on.
	LastOperationStateProcessing LastOperationState = "Processing"
	// LastOperationStateSucceeded means that the operation has ended well.
	LastOperationStateSucceeded LastOperationState = "Succeeded"
	// LastOperationStateError means that the operation has met an error and is tried again.
	LastOperationStateError LastOperationState = "Error"
	// LastOperationStateFailed means that the operation is not tried again without somebody's help.
	LastOperationStateFailed LastOperationState = "Failed"
	// LastOperationStatePending means that the operation has not begun.
	LastOperationStatePending LastOperationState = "Pending"
	// LastOperationStateAborted means that the operation was given up, for example a migration whose source is lost.
	LastOperationStateAborted LastOperationState = "Aborted"
)

// LastError is an error met during the last operation.
type LastError struct {
	// Description says what went wrong.
	Description string `json:"description"`
	// TaskID names the task of the flow that failed.
	TaskID *string `json:"taskID,omitempty"`
	// Codes classify the error (docs/specification/care.md#spec-5-8).
	Codes []ErrorCode `json:"codes,omitempty"`
	// LastUpdateTime is when the error was reported last.
	LastUpdateTime *metav1.Time `json:"lastUpdateTime,omitempty"`
}

// ErrorCode classifies an error (docs/specification/care.md#spec-5-8).
type ErrorCode string

const (
	// ErrorInfraUnauthenticated says that the cloud did not accept the credentials.
	ErrorInfraUnauthenticated ErrorCode = "ERR_INFRA_UNAUTHENTICATED"
	// ErrorInfraUnauthorized says that the credentials lack permissions.
	ErrorInfraUnauthorized ErrorCode = "ERR_INFRA_UNAUTHORIZED"
	// ErrorInfraQuotaExceeded says that a quota of the account is used up.
	ErrorInfraQuotaExceeded ErrorCode = "ERR_INFRA_QUOTA_EXCEEDED"
	// ErrorInfraRateLimitsExceeded says that the cloud throttles requests.
	ErrorInfraRateLimitsExceeded ErrorCode = "ERR_INFRA_RATE_LIMITS_EXCEEDED"
	// ErrorInfraDependencies says that something else needs or blocks a cloud resource.
	ErrorInfraDependencies ErrorCode = "ERR_INFRA_DEPENDENCIES"
	// ErrorRetryableInfraDependencies is ErrorInfraDependencies for causes that pass.
	ErrorRetryableInfraDependencies ErrorCode = "ERR_RETRYABLE_INFRA_DEPENDENCIES"
	// ErrorInfraResourcesDepleted says that the cloud has no capacity left.
	ErrorInfraResourcesDepleted ErrorCode = "ERR_INFRA_RESOURCES_DEPLETED"
	// ErrorCleanupClusterResources says that objects of the user cannot be deleted.
	ErrorCleanupClusterResources ErrorCode = "ERR_CLEANUP_CLUSTER_RESOURCES"
	// ErrorConfigurationProblem says that the user's configuration is wrong.
	ErrorConfigurationProblem ErrorCode = "ERR_CONFIGURATION_PROBLEM"
	// ErrorRetryableConfigurationProblem is ErrorConfigurationProblem for causes that pass.
	ErrorRetryableConfigurationProblem ErrorCode = "ERR_RETRYABLE_CONFIGURATION_PROBLEM"
	// ErrorProblematicWebhook says that a webhook of the user is in the way.
	ErrorProblematicWebhook ErrorCode = "ERR_PROBLEMATIC_WEBHOOK"
)

// Gardener is the program that acted on an object last.
type Gardener struct {
	// ID is the container id of the program.
	ID string `json:"id"`
	// Name is the host or pod name of the program.
	Name string `json:"name"`
	// Version is the version of the program.
	Version string `json:"version"`
}
