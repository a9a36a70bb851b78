package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Maintenance says when and what may be maintained (docs/specification/versions.md#spec-4-6).
type Maintenance struct {
	// AutoUpdate says which versions are updated.
	AutoUpdate *MaintenanceAutoUpdate `json:"autoUpdate,omitempty"`
	// TimeWindow is when maintenance may happen.
	TimeWindow *MaintenanceTimeWindow `json:"timeWindow,omitempty"`
	// ConfineSpecUpdateRollout delays changes of the specification to the time window.
	ConfineSpecUpdateRollout *bool `json:"confineSpecUpdateRollout,omitempty"`
	// AutoRotation says which credentials are rotated.
	AutoRotation *MaintenanceAutoRotation `json:"autoRotation,omitempty"`
}

// MaintenanceAutoUpdate says which versions are updated.
type MaintenanceAutoUpdate struct {
	// KubernetesVersion is whether patch versions of Kubernetes are updated.
	KubernetesVersion bool `json:"kubernetesVersion"`
	// MachineImageVersion is whether machine images are updated.
	MachineImageVersion *bool `json:"machineImageVersion,omitempty"`
}

// MaintenanceTimeWindow is a window of the day.
type MaintenanceTimeWindow struct {
	// Begin is the window's begin, HHMMSS+ZZZZ.
	Begin string `json:"begin"`
	// End is the window's end, HHMMSS+ZZZZ.
	End string `json:"end"`
}

// MaintenanceAutoRotation says which credentials are rotated.
type MaintenanceAutoRotation struct {
	// Credentials are the credentials and their periods.
	Credentials *MaintenanceCredentialsAutoRotation `json:"credentials,omitempty"`
}

// MaintenanceCredentialsAutoRotation are credentials and how often they are rotated.
type MaintenanceCredentialsAutoRotation struct {
	// Observability are the observability passwords.
	Observability *MaintenanceRotationConfig `json:"observability,omitempty"`
	// SSHKeypair is the nodes' SSH key.
	SSHKeypair *MaintenanceRotationConfig `json:"sshKeypair,omitempty"`
	// ETCDEncryptionKey is the key that encrypts etcd.
	ETCDEncryptionKey *MaintenanceRotationConfig `json:"etcdEncryptionKey,omitempty"`
}

// MaintenanceRotationConfig says how often a credential is rotated.
type MaintenanceRotationConfig struct {
	// RotationPeriod is the time between two rotations; zero switches them off.
	RotationPeriod *metav1.Duration `json:"rotationPeriod,omitempty"`
}
