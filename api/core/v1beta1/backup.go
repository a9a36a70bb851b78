package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// BackupBucket is the bucket of a seed's backups. Its name is the Seed's UID (docs/specification/api.md#spec-1-7).
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=backupbuckets,singular=backupbucket,scope=Cluster,shortName=bbc
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.lastOperation.state`
// +kubebuilder:printcolumn:name="Provider",type=string,JSONPath=`.spec.provider.type`
// +kubebuilder:printcolumn:name="Region",type=string,JSONPath=`.spec.provider.region`
// +kubebuilder:printcolumn:name="Seed",type=string,JSONPath=`.spec.seedName`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type BackupBucket struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the wanted bucket.
	Spec BackupBucketSpec `json:"spec,omitempty"`
	// Status is the observed bucket.
	Status BackupBucketStatus `json:"status,omitempty"`
}

// BackupBucketList is a list of BackupBuckets.
//
// +kubebuilder:object:root=true
type BackupBucketList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the BackupBuckets.
	Items []BackupBucket `json:"items"`
}

// BackupBucketSpec is a wanted bucket.
type BackupBucketSpec struct {
	// Provider is where the bucket is.
	Provider BackupBucketProvider `json:"provider"`
	// ProviderConfig is handed to the extension as it is.
	// +kubebuilder:pruning:PreserveUnknownFields
	ProviderConfig *runtime.RawExtension `json:"providerConfig,omitempty"`
	// SeedName is the seed whose bucket it is.
	SeedName *string `json:"seedName,omitempty"`
	// CredentialsRef is the object with the credentials.
	CredentialsRef *corev1.ObjectReference `json:"credentialsRef,omitempty"`
	// ShootRef is the self-hosted shoot whose bucket it is.
	ShootRef *corev1.ObjectReference `json:"shootRef,omitempty"`
}

// BackupBucketProvider is where a bucket is.
type BackupBucketProvider struct {
	// Type is the type of the extension.
	Type string `json:"type"`
	// Region is the bucket's region.
	Region string `json:"region"`
}

// BackupBucketStatus is an observed bucket.
type BackupBucketStatus struct {
	// ProviderStatus is what the extension reported.
	// +kubebuilder:pruning:PreserveUnknownFields
	ProviderStatus *runtime.RawExtension `json:"providerStatus,omitempty"`
	// LastOperation is the most recent operation.
	LastOperation *LastOperation `json:"lastOperation,omitempty"`
	// LastError is the error of the most recent operation.
	LastError *LastError `json:"lastError,omitempty"`
	// ObservedGeneration is the generation that was reconciled last.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// GeneratedSecretRef is the Secret that the extension made for the bucket.
	GeneratedSecretRef *corev1.SecretReference `json:"generatedSecretRef,omitempty"`
}

// BackupEntry is a shoot's part of a bucket. Its name is <technicalID>--<shoot.status.uid>, with the prefix "source-"
// for the copy that a restore reads from (docs/specification/api.md#spec-1-7).
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=backupentries,singular=backupentry,scope=Namespaced,shortName=bec
// +kubebuilder:printcolumn:name="Bucket",type=string,JSONPath=`.spec.bucketName`
// +kubebuilder:printcolumn:name="Seed",type=string,JSONPath=`.spec.seedName`
// +kubebuilder:printcolumn:name="Operation",type=string,JSONPath=`.status.lastOperation.type`
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.lastOperation.state`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type BackupEntry struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the wanted entry.
	Spec BackupEntrySpec `json:"spec,omitempty"`
	// Status is the observed entry.
	Status BackupEntryStatus `json:"status,omitempty"`
}

// BackupEntryList is a list of BackupEntries.
//
// +kubebuilder:object:root=true
type BackupEntryList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the BackupEntries.
	Items []BackupEntry `json:"items"`
}

// BackupEntrySpec is a wanted entry.
type BackupEntrySpec struct {
	// BucketName is the bucket.
	BucketName string `json:"bucketName"`
	// SeedName is the seed that shall look after the entry.
	SeedName *string `json:"seedName,omitempty"`
	// ShootRef is the self-hosted shoot that looks after the entry.
	ShootRef *corev1.ObjectReference `json:"shootRef,omitempty"`
}

// BackupEntryStatus is an observed entry.
type BackupEntryStatus struct {
	// LastOperation is the most recent operation.
	LastOperation *LastOperation `json:"lastOperation,omitempty"`
	// LastError is the error of the most recent operation.
	LastError *LastError `json:"lastError,omitempty"`
	// ObservedGeneration is the generation that was reconciled last.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// SeedName is the seed that looks after the entry.
	SeedName *string `json:"seedName,omitempty"`
	// MigrationStartTime is on the wire but written by nobody today.
	MigrationStartTime *metav1.Time `json:"migrationStartTime,omitempty"`
}
