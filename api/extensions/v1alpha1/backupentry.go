package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

var (
	_ Object     = &BackupEntry{}
	_ ObjectList = &BackupEntryList{}
)

// BackupEntryResource is the kind's name.
const BackupEntryResource = "BackupEntry"

// BackupEntry is a shoot's part of a bucket. Its name is that of the core BackupEntry.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=backupentries,singular=backupentry,scope=Cluster,shortName=be
// +kubebuilder:printcolumn:name="Type",type=string,JSONPath=`.spec.type`
// +kubebuilder:printcolumn:name="Region",type=string,JSONPath=`.spec.region`
// +kubebuilder:printcolumn:name="Bucket",type=string,JSONPath=`.spec.bucketName`
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.lastOperation.state`
// +kubebuilder:printcolumn:name="Operation",type=string,JSONPath=`.status.lastOperation.type`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type BackupEntry struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what is wanted.
	// +kubebuilder:validation:Required
	Spec BackupEntrySpec `json:"spec"`
	// Status is what was achieved.
	Status BackupEntryStatus `json:"status,omitempty"`
}

// GetExtensionSpec implements Object.
func (o *BackupEntry) GetExtensionSpec() Spec { return &o.Spec }

// GetExtensionStatus implements Object.
func (o *BackupEntry) GetExtensionStatus() Status { return &o.Status }

// BackupEntryList is a list of BackupEntries.
//
// +kubebuilder:object:root=true
type BackupEntryList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the BackupEntries.
	Items []BackupEntry `json:"items"`
}

// Objects implements ObjectList.
func (l *BackupEntryList) Objects() []Object { return pointers[BackupEntry](l.Items) }

// BackupEntrySpec is what is wanted of a BackupEntry.
type BackupEntrySpec struct {
	DefaultSpec `json:",inline"`

	// BackupBucketProviderStatus is the BackupBucket's status.providerStatus.
	// +kubebuilder:pruning:PreserveUnknownFields
	BackupBucketProviderStatus *runtime.RawExtension `json:"backupBucketProviderStatus,omitempty"`
	// Region is the bucket's region.
	Region string `json:"region"`
	// BucketName is the bucket.
	BucketName string `json:"bucketName"`
	// SecretRef is the Secret with the bucket's credentials.
	SecretRef corev1.SecretReference `json:"secretRef"`
}

// BackupEntryStatus is what was achieved of a BackupEntry.
type BackupEntryStatus struct {
	DefaultStatus `json:",inline"`
}
