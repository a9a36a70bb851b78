package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// MachineDeployment is the machines of a zone of a pool, and how they are updated.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas
// +kubebuilder:resource:path=machinedeployments,singular=machinedeployment,scope=Namespaced,shortName=mcd
// +kubebuilder:printcolumn:name="Ready",type=integer,JSONPath=`.status.readyReplicas`
// +kubebuilder:printcolumn:name="Desired",type=integer,JSONPath=`.spec.replicas`
// +kubebuilder:printcolumn:name="Up-to-date",type=integer,JSONPath=`.status.updatedReplicas`
// +kubebuilder:printcolumn:name="Available",type=integer,JSONPath=`.status.availableReplicas`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type MachineDeployment struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the wanted deployment.
	Spec MachineDeploymentSpec `json:"spec,omitempty"`
	// Status is the observed deployment.
	Status MachineDeploymentStatus `json:"status,omitempty"`
}

// MachineDeploymentList is a list of MachineDeployments.
//
// +kubebuilder:object:root=true
type MachineDeploymentList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the MachineDeployments.
	Items []MachineDeployment `json:"items"`
}

// MachineDeploymentSpec is a wanted deployment.
type MachineDeploymentSpec struct {
	// Replicas is the number of machines.
	Replicas int32 `json:"replicas,omitempty"`
	// Selector selects the machines.
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
	// Template is what machines are made from.
	Template MachineTemplateSpec `json:"template"`
	// Strategy is how machines are updated.
	Strategy MachineDeploymentStrategy `json:"strategy,omitempty"`
	// MinReadySeconds is how long a machine must be ready to count as available.
	MinReadySeconds int32 `json:"minReadySeconds,omitempty"`
	// RevisionHistoryLimit is how many old MachineSets are kept.
	RevisionHistoryLimit *int32 `json:"revisionHistoryLimit,omitempty"`
	// Paused stops the deployment's updates.
	Paused bool `json:"paused,omitempty"`
	// RollbackTo is a revision to go back to.
	RollbackTo *RollbackConfig `json:"rollbackTo,omitempty"`
	// ProgressDeadlineSeconds is how long an update may make no progress.
	ProgressDeadlineSeconds *int32 `json:"progressDeadlineSeconds,omitempty"`
	// AutoPreserveFailedMachineMax is how many failed machines are kept for inspection.
	AutoPreserveFailedMachineMax *int32 `json:"autoPreserveFailedMachineMax,omitempty"`
}

// RollbackConfig is a revision to go back to.
type RollbackConfig struct {
	// Revision is the revision; 0 means the one before.
	Revision int64 `json:"revision,omitempty"`
}

// MachineDeploymentStrategy is how machines are updated.
type MachineDeploymentStrategy struct {
	// Type is RollingUpdate, Recreate or InPlaceUpdate.
	Type MachineDeploymentStrategyType `json:"type,omitempty"`
	// RollingUpdate is for the type RollingUpdate.
	RollingUpdate *RollingUpdateMachineDeployment `json:"rollingUpdate,omitempty"`
	// InPlaceUpdate is for the type InPlaceUpdate.
	InPlaceUpdate *InPlaceUpdateMachineDeployment `json:"inPlaceUpdate,omitempty"`
}

// MachineDeploymentStrategyType is how machines are updated.
type MachineDeploymentStrategyType string

const (
	// RecreateMachineDeploymentStrategyType deletes all machines before it creates new ones.
	RecreateMachineDeploymentStrategyType MachineDeploymentStrategyType = "Recreate"
	// RollingUpdateMachineDeploymentStrategyType replaces machines step by step.
	RollingUpdateMachineDeploymentStrategyType MachineDeploymentStrategyType = "RollingUpdate"
	// InPlaceUpdateMachineDeploymentStrategyType updates machines where they are.
	InPlaceUpdateMachineDeploymentStrategyType MachineDeploymentStrategyType = "InPlaceUpdate"
)

// UpdateConfiguration bounds an update.
type UpdateConfiguration struct {
	// MaxUnavailable is how many machines may be missing.
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
	// MaxSurge is how many machines may be added.
	MaxSurge *intstr.IntOrString `json:"maxSurge,omitempty"`
}

// RollingUpdateMachineDeployment replaces machines step by step.
type RollingUpdateMachineDeployment struct {
	UpdateConfiguration `json:",inline"`
}

// InPlaceUpdateMachineDeployment updates machines where they are.
type InPlaceUpdateMachineDeployment struct {
	UpdateConfiguration `json:",inline"`

	// OrchestrationType is who chooses the machines.
	OrchestrationType OrchestrationType `json:"orchestrationType,omitempty"`
}

// OrchestrationType is who chooses the machines of an update in place.
type OrchestrationType string

const (
	// OrchestrationTypeAuto means the machine controller.
	OrchestrationTypeAuto OrchestrationType = "Auto"
	// OrchestrationTypeManual means the user.
	OrchestrationTypeManual OrchestrationType = "Manual"
)

// MachineDeploymentStatus is an observed deployment.
type MachineDeploymentStatus struct {
	// ObservedGeneration is the generation that was dealt with last.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Replicas is the number of machines.
	Replicas int32 `json:"replicas,omitempty"`
	// UpdatedReplicas is the number of machines of the present template.
	UpdatedReplicas int32 `json:"updatedReplicas,omitempty"`
	// ReadyReplicas is the number of machines that are ready.
	ReadyReplicas int32 `json:"readyReplicas,omitempty"`
	// AvailableReplicas is the number of machines that are available.
	AvailableReplicas int32 `json:"availableReplicas,omitempty"`
	// UnavailableReplicas is the number of machines that are missing.
	UnavailableReplicas int32 `json:"unavailableReplicas,omitempty"`
	// Conditions are what is observed.
	Conditions []MachineDeploymentCondition `json:"conditions,omitempty"`
	// CollisionCount counts collisions of template hashes.
	CollisionCount *int32 `json:"collisionCount,omitempty"`
	// FailedMachines are the machines that failed.
	FailedMachines []*MachineSummary `json:"failedMachines,omitempty"`
}

// MachineDeploymentCondition is what is observed about a deployment.
type MachineDeploymentCondition struct {
	// Type names what is observed.
	Type string `json:"type"`
	// Status is True, False or Unknown.
	Status metav1.ConditionStatus `json:"status"`
	// LastUpdateTime is when the condition was written last.
	LastUpdateTime metav1.Time `json:"lastUpdateTime,omitempty"`
	// LastTransitionTime is when the status changed last.
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty"`
	// Reason is a word for the cause.
	Reason string `json:"reason,omitempty"`
	// Message explains the observation.
	Message string `json:"message,omitempty"`
}
