package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var (
	_ Object     = &ContainerRuntime{}
	_ ObjectList = &ContainerRuntimeList{}
)

// ContainerRuntimeResource is the kind's name.
const ContainerRuntimeResource = "ContainerRuntime"

// ContainerRuntime is a further container runtime on the nodes of a pool. Its name is <runtime>-<pool>.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=containerruntimes,singular=containerruntime,scope=Namespaced,shortName=cr
// +kubebuilder:printcolumn:name="Type",type=string,JSONPath=`.spec.type`
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.lastOperation.state`
// +kubebuilder:printcolumn:name="Operation",type=string,JSONPath=`.status.lastOperation.type`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ContainerRuntime struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what is wanted.
	// +kubebuilder:validation:Required
	Spec ContainerRuntimeSpec `json:"spec"`
	// Status is what was achieved.
	Status ContainerRuntimeStatus `json:"status,omitempty"`
}

// GetExtensionSpec implements Object.
func (o *ContainerRuntime) GetExtensionSpec() Spec { return &o.Spec }

// GetExtensionStatus implements Object.
func (o *ContainerRuntime) GetExtensionStatus() Status { return &o.Status }

// ContainerRuntimeList is a list of ContainerRuntimes.
//
// +kubebuilder:object:root=true
type ContainerRuntimeList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the ContainerRuntimes.
	Items []ContainerRuntime `json:"items"`
}

// Objects implements ObjectList.
func (l *ContainerRuntimeList) Objects() []Object { return pointers[ContainerRuntime](l.Items) }

// ContainerRuntimeSpec is what is wanted of a ContainerRuntime.
type ContainerRuntimeSpec struct {
	DefaultSpec `json:",inline"`

	// BinaryPath is where the runtime's binaries go on the nodes.
	BinaryPath string `json:"binaryPath"`
	// WorkerPool is the pool.
	WorkerPool ContainerRuntimeWorkerPool `json:"workerPool"`
}

// ContainerRuntimeStatus is what was achieved of a ContainerRuntime.
type ContainerRuntimeStatus struct {
	DefaultStatus `json:",inline"`
}

// ContainerRuntimeWorkerPool is the pool of a ContainerRuntime.
type ContainerRuntimeWorkerPool struct {
	// Name is the pool's name.
	Name string `json:"name"`
	// Selector selects the pool's nodes.
	Selector metav1.LabelSelector `json:"selector"`
}
