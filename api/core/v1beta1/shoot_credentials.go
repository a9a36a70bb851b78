package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ShootCredentials is the state of a shoot's credentials. Only the SSH key pair is rotated
// (docs/specification/README.md#spec-0-0); what others have written of other rotations is input to the rolling update
// triggers (docs/specification/versions.md#spec-4-8).
type ShootCredentials struct {
	// Rotation is the state of the rotations.
	Rotation *ShootCredentialsRotation `json:"rotation,omitempty"`
	// EncryptionAtRest is what etcd holds encrypted.
	EncryptionAtRest *EncryptionAtRest `json:"encryptionAtRest,omitempty"`
}

// EncryptionAtRest is what etcd holds encrypted, and how.
type EncryptionAtRest struct {
	// Resources are the encrypted resources.
	Resources []string `json:"resources,omitempty"`
	// Provider is the way of encryption.
	Provider *EncryptionProviderStatus `json:"provider,omitempty"`
}

// EncryptionProviderStatus is the way of encryption in use.
type EncryptionProviderStatus struct {
	// Type is the way of encryption.
	Type EncryptionProviderType `json:"type"`
}

// ShootCredentialsRotation is the state of the rotations.
type ShootCredentialsRotation struct {
	// CertificateAuthorities is the rotation of the certificate authorities.
	CertificateAuthorities *CARotation `json:"certificateAuthorities,omitempty"`
	// Kubeconfig is the rotation of the static token (old form).
	Kubeconfig *ShootKubeconfigRotation `json:"kubeconfig,omitempty"`
	// SSHKeypair is the rotation of the nodes' SSH key.
	SSHKeypair *ShootSSHKeypairRotation `json:"sshKeypair,omitempty"`
	// Observability is the rotation of the passwords of the observability components.
	Observability *ObservabilityRotation `json:"observability,omitempty"`
	// ServiceAccountKey is the rotation of the key that signs service account tokens.
	ServiceAccountKey *ServiceAccountKeyRotation `json:"serviceAccountKey,omitempty"`
	// ETCDEncryptionKey is the rotation of the key that encrypts etcd.
	ETCDEncryptionKey *ETCDEncryptionKeyRotation `json:"etcdEncryptionKey,omitempty"`
}

// CARotation is the rotation of the certificate authorities.
type CARotation struct {
	// Phase is where the rotation stands.
	Phase CredentialsRotationPhase `json:"phase"`
	// LastCompletionTime is when a rotation was completed last.
	LastCompletionTime *metav1.Time `json:"lastCompletionTime,omitempty"`
	// LastInitiationTime is when a rotation was begun last.
	LastInitiationTime *metav1.Time `json:"lastInitiationTime,omitempty"`
	// LastInitiationFinishedTime is when the preparation ended last.
	LastInitiationFinishedTime *metav1.Time `json:"lastInitiationFinishedTime,omitempty"`
	// LastCompletionTriggeredTime is when the completion was asked for last.
	LastCompletionTriggeredTime *metav1.Time `json:"lastCompletionTriggeredTime,omitempty"`
	// PendingWorkersRollouts are the pools that still have to roll.
	PendingWorkersRollouts []PendingWorkersRollout `json:"pendingWorkersRollouts,omitempty"`
}

// ShootKubeconfigRotation is the rotation of the static token.
type ShootKubeconfigRotation struct {
	// LastInitiationTime is when a rotation was begun last.
	LastInitiationTime *metav1.Time `json:"lastInitiationTime,omitempty"`
	// LastCompletionTime is when a rotation was completed last.
	LastCompletionTime *metav1.Time `json:"lastCompletionTime,omitempty"`
}

// ShootSSHKeypairRotation is the rotation of the nodes' SSH key.
type ShootSSHKeypairRotation struct {
	// LastInitiationTime is when a rotation was begun last.
	LastInitiationTime *metav1.Time `json:"lastInitiationTime,omitempty"`
	// LastCompletionTime is when a rotation was completed last.
	LastCompletionTime *metav1.Time `json:"lastCompletionTime,omitempty"`
}

// ObservabilityRotation is the rotation of the observability passwords.
type ObservabilityRotation struct {
	// LastInitiationTime is when a rotation was begun last.
	LastInitiationTime *metav1.Time `json:"lastInitiationTime,omitempty"`
	// LastCompletionTime is when a rotation was completed last.
	LastCompletionTime *metav1.Time `json:"lastCompletionTime,omitempty"`
}

// ServiceAccountKeyRotation is the rotation of the key that signs service account tokens.
type ServiceAccountKeyRotation struct {
	// Phase is where the rotation stands.
	Phase CredentialsRotationPhase `json:"phase"`
	// LastCompletionTime is when a rotation was completed last.
	LastCompletionTime *metav1.Time `json:"lastCompletionTime,omitempty"`
	// LastInitiationTime is when a rotation was begun last.
	LastInitiationTime *metav1.Time `json:"lastInitiationTime,omitempty"`
	// LastInitiationFinishedTime is when the preparation ended last.
	LastInitiationFinishedTime *metav1.Time `json:"lastInitiationFinishedTime,omitempty"`
	// LastCompletionTriggeredTime is when the completion was asked for last.
	LastCompletionTriggeredTime *metav1.Time `json:"lastCompletionTriggeredTime,omitempty"`
	// PendingWorkersRollouts are the pools that still have to roll.
	PendingWorkersRollouts []PendingWorkersRollout `json:"pendingWorkersRollouts,omitempty"`
}

// ETCDEncryptionKeyRotation is the rotation of the key that encrypts etcd.
type ETCDEncryptionKeyRotation struct {
	// Phase is where the rotation stands.
	Phase CredentialsRotationPhase `json:"phase"`
	// LastCompletionTime is when a rotation was completed last.
	LastCompletionTime *metav1.Time `json:"lastCompletionTime,omitempty"`
	// LastInitiationTime is when a rotation was begun last.
	LastInitiationTime *metav1.Time `json:"lastInitiationTime,omitempty"`
	// LastInitiationFinishedTime is when the preparation ended last.
	LastInitiationFinishedTime *metav1.Time `json:"lastInitiationFinishedTime,omitempty"`
	// LastCompletionTriggeredTime is when the completion was asked for last.
	LastCompletionTriggeredTime *metav1.Time `json:"lastCompletionTriggeredTime,omitempty"`
	// AutoCompleteAfterPrepared completes the rotation without being asked.
	AutoCompleteAfterPrepared *bool `json:"autoCompleteAfterPrepared,omitempty"`
}

// PendingWorkersRollout is a worker pool that has to roll.
type PendingWorkersRollout struct {
	// Name is the pool's name.
	Name string `json:"name"`
	// LastInitiationTime is when its last rollout was begun.
	LastInitiationTime *metav1.Time `json:"lastInitiationTime,omitempty"`
}

// CredentialsRotationPhase is where a rotation stands.
type CredentialsRotationPhase string

const (
	// RotationPreparing means that old and new are being made to work side by side.
	RotationPreparing CredentialsRotationPhase = "Preparing"
	// RotationPreparingWithoutWorkersRollout is RotationPreparing without rolling the workers.
	RotationPreparingWithoutWorkersRollout CredentialsRotationPhase = "PreparingWithoutWorkersRollout"
	// RotationWaitingForWorkersRollout means that only the workers have still to roll.
	RotationWaitingForWorkersRollout CredentialsRotationPhase = "WaitingForWorkersRollout"
	// RotationPrepared means that old and new work side by side.
	RotationPrepared CredentialsRotationPhase = "Prepared"
	// RotationCompleting means that the old is being taken away.
	RotationCompleting CredentialsRotationPhase = "Completing"
	// RotationCompleted means that only the new is left.
	RotationCompleted CredentialsRotationPhase = "Completed"
)
