package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// MachineSet is a number of machines of one template.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas
// +kubebuilder:resource:path=machinesets,singular=machineset,scope=Namespaced,shortName=mcs
// +kubebuilder:printcolumn:name="Desired",type=integer,JSONPath=`.spec.replicas`
// +kubebuilder:printcolumn:name="Current",type=integer,JSONPath=`.status.replicas`
// +kubebuilder:printcolumn:name="Ready",type=integer,JSONPath=`.status.readyReplicas`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type MachineSet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the wanted set.
	Spec MachineSetSpec `json:"spec,omitempty"`
	// Status is the observed set.
	Status MachineSetStatus `json:"status,omitempty"`
}

// MachineSetList is a list of MachineSets.
//
// +kubebuilder:object:root=true
type MachineSetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the MachineSets.
	Items []MachineSet `json:"items"`
}

// LabelMachineTemplateHash is the label that distinguishes the MachineSets of one MachineDeployment.
const LabelMachineTemplateHash = "machine-template-hash"

// MachineSetSpec is a wanted set.
type MachineSetSpec struct {
	// Replicas is the number of machines.
	Replicas int32 `json:"replicas,omitempty"`
	// Selector selects the machines.
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
	// MachineClass is on the wire but not used: the template has the class.
	MachineClass ClassSpec `json:"machineClass,omitempty"`
	// Template is what machines are made from.
	Template MachineTemplateSpec `json:"template,omitempty"`
	// MinReadySeconds is how long a machine must be ready to count as available.
	MinReadySeconds int32 `json:"minReadySeconds,omitempty"`
	// AutoPreserveFailedMachineMax is how many failed machines are kept for inspection.
	AutoPreserveFailedMachineMax *int32 `json:"autoPreserveFailedMachineMax,omitempty"`
}

// MachineSetStatus is an observed set.
type MachineSetStatus struct {
	// Replicas is the number of machines.
	Replicas int32 `json:"replicas,omitempty"`
	// FullyLabeledReplicas is the number of machines with the labels of the template.
	FullyLabeledReplicas int32 `json:"fullyLabeledReplicas,omitempty"`
	// ReadyReplicas is the number of machines that are ready.
	ReadyReplicas int32 `json:"readyReplicas,omitempty"`
	// AvailableReplicas is the number of machines that are available.
	AvailableReplicas int32 `json:"availableReplicas,omitempty"`
	// ObservedGeneration is the generation that was dealt with last.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Conditions are what is observed.
	Conditions []MachineSetCondition `json:"machineSetCondition,omitempty"`
	// LastOperation is the most recent operation.
	LastOperation LastOperation `json:"lastOperation,omitempty"`
	// FailedMachines are the machines that failed.
	FailedMachines *[]MachineSummary `json:"failedMachines,omitempty"`
	// AutoPreserveFailedMachineCount is how many failed machines are kept for inspection.
	AutoPreserveFailedMachineCount *int32 `json:"autoPreserveFailedMachineCount,omitempty"`
}

// MachineSetCondition is what is observed about a set.
type MachineSetCondition struct {
	// Type names what is observed.
	Type string `json:"type"`
	// Status is True, False or Unknown.
	Status metav1.ConditionStatus `json:"status"`
	// LastTransitionTime is when the status changed last.
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty"`
	// Reason is a word for the cause.
	Reason string `json:"reason,omitempty"`
	// Message explains the observation.
	Message string `json:"message,omitempty"`
}

// MachineSummary is a machine that failed.
type MachineSummary struct {
	// Name is the machine's name.
	Name string `json:"name,omitempty"`
	// ProviderID identifies the machine at the cloud.
	ProviderID string `json:"providerID,omitempty"`
	// LastOperation is what failed.
	LastOperation LastOperation `json:"lastOperation,omitempty"`
	// OwnerRef is the MachineSet.
	OwnerRef string `json:"ownerRef,omitempty"`
}
