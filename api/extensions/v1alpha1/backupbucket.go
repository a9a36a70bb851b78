package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var (
	_ Object     = &BackupBucket{}
	_ ObjectList = &BackupBucketList{}
)

// BackupBucketResource is the kind's name.
const BackupBucketResource = "BackupBucket"

// BackupBucket is a bucket for backups. Its name is that of the core BackupBucket.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=backupbuckets,singular=backupbucket,scope=Cluster,shortName=bb
// +kubebuilder:printcolumn:name="Type",type=string,JSONPath=`.spec.type`
// +kubebuilder:printcolumn:name="Region",type=string,JSONPath=`.spec.region`
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.lastOperation.state`
// +kubebuilder:printcolumn:name="Operation",type=string,JSONPath=`.status.lastOperation.type`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type BackupBucket struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what is wanted.
	// +kubebuilder:validation:Required
	Spec BackupBucketSpec `json:"spec"`
	// Status is what was achieved.
	Status BackupBucketStatus `json:"status,omitempty"`
}

// GetExtensionSpec implements Object.
func (o *BackupBucket) GetExtensionSpec() Spec { return &o.Spec }

// GetExtensionStatus implements Object.
func (o *BackupBucket) GetExtensionStatus() Status { return &o.Status }

// BackupBucketList is a list of BackupBuckets.
//
// +kubebuilder:object:root=true
type BackupBucketList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the BackupBuckets.
	Items []BackupBucket `json:"items"`
}

// Objects implements ObjectList.
func (l *BackupBucketList) Objects() []Object { return pointers[BackupBucket](l.Items) }

// BackupBucketSpec is what is wanted of a BackupBucket.
type BackupBucketSpec struct {
	DefaultSpec `json:",inline"`

	// Region is the bucket's region.
	Region string `json:"region"`
	// SecretRef is the Secret with the cloud's credentials.
	SecretRef corev1.SecretReference `json:"secretRef"`
}

// BackupBucketStatus is what was achieved of a BackupBucket.
type BackupBucketStatus struct {
	DefaultStatus `json:",inline"`

	// GeneratedSecretRef is a Secret that was made for the bucket alone.
	GeneratedSecretRef *corev1.SecretReference `json:"generatedSecretRef,omitempty"`
}
