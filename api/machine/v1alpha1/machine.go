package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Machine is a machine in the cloud and the node that it becomes. The label node has the node's name.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=machines,singular=machine,scope=Namespaced,shortName=mc
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.currentStatus.phase`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Node",type=string,JSONPath=`.metadata.labels.node`
// +kubebuilder:printcolumn:name="Provider ID",type=string,JSONPath=`.spec.providerID`,priority=1
type Machine struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the wanted machine.
	Spec MachineSpec `json:"spec,omitempty"`
	// Status is the observed machine.
	Status MachineStatus `json:"status,omitempty"`
}

// MachineList is a list of Machines.
//
// +kubebuilder:object:root=true
type MachineList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the Machines.
	Items []Machine `json:"items"`
}

// LabelNode is the label of a Machine with its node's name.
const LabelNode = "node"

// LabelForceDeletion is the label of a Machine that is ended without its node being drained, if it has the value
// ForceDeletion.
const (
	LabelForceDeletion = "force-deletion"
	ForceDeletion      = "True"
)

// AnnotationOrphan is on a Machine that was made only to end a machine of the cloud that no Machine stood for: it is
// deleted as soon as it is seen.
const AnnotationOrphan = "transplant.dev/orphan"

// Labels of nodes in an update in place (docs/specification/versions.md#spec-4-9).
const (
	// LabelCandidateForUpdate is on nodes whose machines are of an older class than their deployment.
	LabelCandidateForUpdate = "node.machine.sapcloud.io/candidate-for-update"
	// LabelSelectedForUpdate is on candidates that are to be updated now: the machine controller chooses them, or the
	// user.
	LabelSelectedForUpdate = "node.machine.sapcloud.io/selected-for-update"
	// LabelUpdateResult is on selected nodes that were updated, with how it ended.
	LabelUpdateResult = "node.machine.sapcloud.io/update-result"
	// UpdateSuccessful and UpdateFailed are the values of LabelUpdateResult.
	UpdateSuccessful, UpdateFailed = "successful", "failed"
	// ConditionInPlaceUpdate is the type of a node's condition, and ReasonReadyForUpdate its reason when the node is
	// drained and waits for its update.
	ConditionInPlaceUpdate, ReasonReadyForUpdate = "InPlaceUpdate", "ReadyForUpdate"
	// LabelTrue is the value of the others.
	LabelTrue = "true"
)

// MachineSpec is a wanted machine.
type MachineSpec struct {
	// Class is the MachineClass.
	Class ClassSpec `json:"class,omitempty"`
	// ProviderID identifies the machine at the cloud.
	ProviderID string `json:"providerID,omitempty"`
	// NodeTemplateSpec is what the node gets.
	NodeTemplateSpec NodeTemplateSpec `json:"nodeTemplate,omitempty"`

	*MachineConfiguration `json:",inline"`
}

// ClassSpec names a MachineClass.
type ClassSpec struct {
	// APIGroup is the class's group.
	APIGroup string `json:"apiGroup,omitempty"`
	// Kind is the class's kind.
	Kind string `json:"kind,omitempty"`
	// Name is the class's name.
	Name string `json:"name,omitempty"`
}

// NodeTemplateSpec is what a node gets.
type NodeTemplateSpec struct {
	// ObjectMeta has labels and annotations of the node.
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec has taints of the node.
	Spec corev1.NodeSpec `json:"spec,omitempty"`
}

// MachineTemplateSpec is what machines are made from.
type MachineTemplateSpec struct {
	// ObjectMeta has labels and annotations of the machines.
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the spec of the machines.
	Spec MachineSpec `json:"spec,omitempty"`
}

// MachineConfiguration are settings of the machine controller for a machine.
type MachineConfiguration struct {
	// MachineDrainTimeout is how long a drain may take.
	MachineDrainTimeout *metav1.Duration `json:"drainTimeout,omitempty"`
	// MachineHealthTimeout is how long the machine may be unhealthy.
	MachineHealthTimeout *metav1.Duration `json:"healthTimeout,omitempty"`
	// MachineCreationTimeout is how long the machine may take to come up.
	MachineCreationTimeout *metav1.Duration `json:"creationTimeout,omitempty"`
	// MachineInPlaceUpdateTimeout is how long an in-place update may take.
	MachineInPlaceUpdateTimeout *metav1.Duration `json:"inPlaceUpdateTimeout,omitempty"`
	// MachinePreserveTimeout is how long a failed machine is kept for inspection.
	MachinePreserveTimeout *metav1.Duration `json:"preserveTimeout,omitempty"`
	// DisableHealthTimeout keeps an unhealthy machine.
	DisableHealthTimeout *bool `json:"disableHealthTimeout,omitempty"`
	// MaxEvictRetries is how often an eviction is tried.
	MaxEvictRetries *int32 `json:"maxEvictRetries,omitempty"`
	// NodeConditions are the node conditions that make the machine unhealthy, separated by commas.
	NodeConditions *string `json:"nodeConditions,omitempty"`
}

// MachineStatus is an observed machine.
type MachineStatus struct {
	// Addresses are the machine's addresses.
	Addresses []corev1.NodeAddress `json:"addresses,omitempty"`
	// Conditions are the node's conditions.
	Conditions []corev1.NodeCondition `json:"conditions,omitempty"`
	// LastOperation is the most recent operation.
	LastOperation LastOperation `json:"lastOperation,omitempty"`
	// CurrentStatus is where the machine stands.
	CurrentStatus CurrentStatus `json:"currentStatus,omitempty"`
	// LastKnownState is what the driver remembers.
	LastKnownState string `json:"lastKnownState,omitempty"`
}

// LastOperation is the most recent operation on a machine.
type LastOperation struct {
	// Description says what was done.
	Description string `json:"description,omitempty"`
	// ErrorCode is the code of an error.
	ErrorCode string `json:"errorCode,omitempty"`
	// LastUpdateTime is when it was reported last.
	LastUpdateTime metav1.Time `json:"lastUpdateTime,omitempty"`
	// State is where it stands.
	State MachineState `json:"state,omitempty"`
	// Type is what is done.
	Type MachineOperationType `json:"type,omitempty"`
}

// CurrentStatus is where a machine stands.
type CurrentStatus struct {
	// Phase is where the machine stands.
	Phase MachinePhase `json:"phase,omitempty"`
	// TimeoutActive is whether a timeout is running.
	TimeoutActive bool `json:"timeoutActive,omitempty"`
	// LastUpdateTime is when the phase changed last.
	LastUpdateTime metav1.Time `json:"lastUpdateTime,omitempty"`
	// PreserveExpiryTime is until when the machine is kept for inspection.
	PreserveExpiryTime *metav1.Time `json:"preserveExpiryTime,omitempty"`
}

// MachinePhase is where a machine stands.
type MachinePhase string

const (
	// MachinePending means that the machine is being created.
	MachinePending MachinePhase = "Pending"
	// MachineAvailable means that the machine is there but no node has come.
	MachineAvailable MachinePhase = "Available"
	// MachineRunning means that the node is healthy.
	MachineRunning MachinePhase = "Running"
	// MachineInPlaceUpdating means that the machine is being updated in place.
	MachineInPlaceUpdating MachinePhase = "InPlaceUpdating"
	// MachineInPlaceUpdateSuccessful means that an update in place ended well.
	MachineInPlaceUpdateSuccessful MachinePhase = "InPlaceUpdateSuccessful"
	// MachineInPlaceUpdateFailed means that an update in place failed.
	MachineInPlaceUpdateFailed MachinePhase = "InPlaceUpdateFailed"
	// MachineTerminating means that the machine is being deleted.
	MachineTerminating MachinePhase = "Terminating"
	// MachineUnknown means that the node is not healthy.
	MachineUnknown MachinePhase = "Unknown"
	// MachineFailed means that the machine is given up.
	MachineFailed MachinePhase = "Failed"
	// MachineCrashLoopBackOff means that creation fails again and again.
	MachineCrashLoopBackOff MachinePhase = "CrashLoopBackOff"
)

// MachineState is where an operation on a machine stands.
type MachineState string

const (
	// MachineStateProcessing means that the operation is going on.
	MachineStateProcessing MachineState = "Processing"
	// MachineStateFailed means that the operation failed.
	MachineStateFailed MachineState = "Failed"
	// MachineStateSuccessful means that the operation ended well.
	MachineStateSuccessful MachineState = "Successful"
)

// MachineOperationType is what is done to a machine.
type MachineOperationType string

const (
	// MachineOperationCreate creates it.
	MachineOperationCreate MachineOperationType = "Create"
	// MachineOperationUpdate updates it.
	MachineOperationUpdate MachineOperationType = "Update"
	// MachineOperationInPlaceUpdate updates it in place.
	MachineOperationInPlaceUpdate MachineOperationType = "InPlaceUpdate"
	// MachineOperationDrainNode drains its node.
	MachineOperationDrainNode MachineOperationType = "DrainNode"
	// MachineOperationHealthCheck looks at its health.
	MachineOperationHealthCheck MachineOperationType = "HealthCheck"
	// MachineOperationDelete deletes it.
	MachineOperationDelete MachineOperationType = "Delete"
)
