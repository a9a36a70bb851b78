package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// ManagedResource is a set of objects, kept in Secrets, that is applied to a cluster and kept that way.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=managedresources,singular=managedresource,scope=Namespaced,shortName=mr
// +kubebuilder:printcolumn:name="Class",type=string,JSONPath=`.spec.class`
// +kubebuilder:printcolumn:name="Applied",type=string,JSONPath=`.status.conditions[?(@.type=="ResourcesApplied")].status`
// +kubebuilder:printcolumn:name="Healthy",type=string,JSONPath=`.status.conditions[?(@.type=="ResourcesHealthy")].status`
// +kubebuilder:printcolumn:name="Progressing",type=string,JSONPath=`.status.conditions[?(@.type=="ResourcesProgressing")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ManagedResource struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what is applied.
	Spec ManagedResourceSpec `json:"spec,omitempty"`
	// Status is what was applied.
	Status ManagedResourceStatus `json:"status,omitempty"`
}

// ManagedResourceList is a list of ManagedResources.
//
// +kubebuilder:object:root=true
type ManagedResourceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the ManagedResources.
	Items []ManagedResource `json:"items"`
}

// ClassSeed is the class of sets that are applied to the seed; without a class they are applied to the shoot.
const ClassSeed = "seed"

// ManagedResourceSpec is what is applied.
type ManagedResourceSpec struct {
	// Class is whose resource manager looks after the set.
	Class *string `json:"class,omitempty"`
	// SecretRefs are the Secrets with the objects.
	SecretRefs []corev1.LocalObjectReference `json:"secretRefs"`
	// InjectLabels are set on all objects.
	InjectLabels map[string]string `json:"injectLabels,omitempty"`
	// ForceOverwriteLabels removes labels that others set.
	ForceOverwriteLabels *bool `json:"forceOverwriteLabels,omitempty"`
	// ForceOverwriteAnnotations removes annotations that others set.
	ForceOverwriteAnnotations *bool `json:"forceOverwriteAnnotations,omitempty"`
	// KeepObjects leaves the objects behind when the set is deleted.
	KeepObjects *bool `json:"keepObjects,omitempty"`
	// Equivalences are kinds whose objects are the same.
	Equivalences [][]metav1.GroupKind `json:"equivalences,omitempty"`
	// DeletePersistentVolumeClaims deletes the claims of StatefulSets that are deleted.
	DeletePersistentVolumeClaims *bool `json:"deletePersistentVolumeClaims,omitempty"`
}

// ManagedResourceStatus is what was applied.
type ManagedResourceStatus struct {
	// Conditions are what is observed.
	Conditions []gardencorev1beta1.Condition `json:"conditions,omitempty"`
	// ObservedGeneration is the generation that was dealt with last.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Resources are the objects.
	Resources []ObjectReference `json:"resources,omitempty"`
	// SecretsDataChecksum is the checksum of the Secrets that were applied last.
	SecretsDataChecksum *string `json:"secretsDataChecksum,omitempty"`
}

// ObjectReference is an object that was applied.
type ObjectReference struct {
	corev1.ObjectReference `json:",inline"`

	// Labels are the labels that it was applied with.
	Labels map[string]string `json:"labels,omitempty"`
	// Annotations are the annotations that it was applied with.
	Annotations map[string]string `json:"annotations,omitempty"`
}

// Conditions of a ManagedResource.
const (
	// ResourcesApplied shows whether all objects were applied.
	ResourcesApplied gardencorev1beta1.ConditionType = "ResourcesApplied"
	// ResourcesHealthy shows whether all objects are healthy.
	ResourcesHealthy gardencorev1beta1.ConditionType = "ResourcesHealthy"
	// ResourcesProgressing shows whether objects are still being rolled out.
	ResourcesProgressing gardencorev1beta1.ConditionType = "ResourcesProgressing"
)

// Labels and annotations of ManagedResources and their objects.
const (
	// LabelOrigin is the label with whose set it is.
	LabelOrigin = "origin"
	// OriginGardener marks the sets of the landscape itself.
	OriginGardener = "gardener"
	// Ignore stops the application of a set or an object.
	Ignore = "resources.gardener.cloud/ignore"
	// ManagedBy is the label of applied objects.
	ManagedBy = "resources.gardener.cloud/managed-by"
)
