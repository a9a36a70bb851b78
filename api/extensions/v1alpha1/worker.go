package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

var (
	_ Object     = &Worker{}
	_ ObjectList = &WorkerList{}
)

// WorkerResource is the kind's name.
const WorkerResource = "Worker"

// Worker is the machines of a shoot. Its name is the shoot's.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=workers,singular=worker,scope=Namespaced
// +kubebuilder:printcolumn:name="Type",type=string,JSONPath=`.spec.type`
// +kubebuilder:printcolumn:name="Region",type=string,JSONPath=`.spec.region`
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.lastOperation.state`
// +kubebuilder:printcolumn:name="Operation",type=string,JSONPath=`.status.lastOperation.type`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Worker struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what is wanted.
	// +kubebuilder:validation:Required
	Spec WorkerSpec `json:"spec"`
	// Status is what was achieved.
	Status WorkerStatus `json:"status,omitempty"`
}

// GetExtensionSpec implements Object.
func (o *Worker) GetExtensionSpec() Spec { return &o.Spec }

// GetExtensionStatus implements Object.
func (o *Worker) GetExtensionStatus() Status { return &o.Status }

// WorkerList is a list of Workers.
//
// +kubebuilder:object:root=true
type WorkerList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the Workers.
	Items []Worker `json:"items"`
}

// Objects implements ObjectList.
func (l *WorkerList) Objects() []Object { return pointers[Worker](l.Items) }

// WorkerSpec is what is wanted of a Worker.
type WorkerSpec struct {
	DefaultSpec `json:",inline"`

	// InfrastructureProviderStatus is the Infrastructure's status.providerStatus.
	// +kubebuilder:pruning:PreserveUnknownFields
	InfrastructureProviderStatus *runtime.RawExtension `json:"infrastructureProviderStatus,omitempty"`
	// Region is the cloud's region.
	Region string `json:"region"`
	// SecretRef is the Secret with the cloud's credentials.
	SecretRef corev1.SecretReference `json:"secretRef"`
	// SSHPublicKey is the key for the machines.
	SSHPublicKey []byte `json:"sshPublicKey,omitempty"`
	// Pools are the worker pools.
	Pools []WorkerPool `json:"pools"`
}

// WorkerStatus is what was achieved of a Worker.
type WorkerStatus struct {
	DefaultStatus `json:",inline"`

	// MachineDeployments are the machine deployments that were created.
	MachineDeployments []MachineDeployment `json:"machineDeployments,omitempty"`
	// MachineDeploymentsLastUpdateTime is when MachineDeployments was written last.
	MachineDeploymentsLastUpdateTime *metav1.Time `json:"machineDeploymentsLastUpdateTime,omitempty"`
	// InPlaceUpdates is the state of in-place updates.
	InPlaceUpdates *InPlaceUpdatesWorkerStatus `json:"inPlaceUpdates,omitempty"`
}

// MachineDeployment is a machine deployment that was created for a zone of a pool.
type MachineDeployment struct {
	// Name is its name.
	Name string `json:"name"`
	// Minimum is the smallest number of machines.
	Minimum int32 `json:"minimum"`
	// Maximum is the largest number of machines.
	Maximum int32 `json:"maximum"`
	// Priority is its weight for the autoscaler.
	Priority *int32 `json:"priority,omitempty"`
}

// InPlaceUpdatesWorkerStatus is the state of in-place updates.
type InPlaceUpdatesWorkerStatus struct {
	// WorkerPoolToHashMap has the hash of each pool with an in-place strategy
	// (docs/specification/versions.md#spec-4-9).
	WorkerPoolToHashMap map[string]string `json:"workerPoolToHashMap,omitempty"`
}
