package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// ControllerRegistration says which kinds and types of extension objects a controller looks after, and when in the flow
// they are dealt with (docs/specification/api.md#spec-1-8).
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=controllerregistrations,singular=controllerregistration,scope=Cluster,shortName=ctrlreg
// +kubebuilder:printcolumn:name="Resources",type=string,JSONPath=`.spec.resources[*].kind`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ControllerRegistration struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the registration.
	Spec ControllerRegistrationSpec `json:"spec,omitempty"`
}

// ControllerRegistrationList is a list of ControllerRegistrations.
//
// +kubebuilder:object:root=true
type ControllerRegistrationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the ControllerRegistrations.
	Items []ControllerRegistration `json:"items"`
}

// ControllerRegistrationSpec is a registration.
type ControllerRegistrationSpec struct {
	// Resources are the kinds and types.
	Resources []ControllerResource `json:"resources,omitempty"`
	// Deployment says how the controller is deployed.
	Deployment *ControllerRegistrationDeployment `json:"deployment,omitempty"`
}

// ControllerResource is a kind and type that a controller looks after.
type ControllerResource struct {
	// Kind is the kind.
	Kind string `json:"kind"`
	// Type is the type.
	Type string `json:"type"`
	// ReconcileTimeout is how long a reconciliation is waited for.
	ReconcileTimeout *metav1.Duration `json:"reconcileTimeout,omitempty"`
	// Primary says whether this controller decides about the object's life; absent means yes.
	Primary *bool `json:"primary,omitempty"`
	// Lifecycle says when in the flow objects are dealt with.
	Lifecycle *ControllerResourceLifecycle `json:"lifecycle,omitempty"`
	// WorkerlessSupported says whether shoots without workers may have it.
	WorkerlessSupported *bool `json:"workerlessSupported,omitempty"`
	// AutoEnable are the cluster types that have it by default.
	AutoEnable []ClusterType `json:"autoEnable,omitempty"`
	// ClusterCompatibility are the cluster types that may have it.
	ClusterCompatibility []ClusterType `json:"clusterCompatibility,omitempty"`
	// ContinuousEndpointUpdate lets the extension update endpoints at any time.
	ContinuousEndpointUpdate *bool `json:"continuousEndpointUpdate,omitempty"`
}

// ClusterType is shoot, seed or garden.
type ClusterType string

const (
	// ClusterTypeShoot is a shoot.
	ClusterTypeShoot ClusterType = "shoot"
	// ClusterTypeSeed is a seed.
	ClusterTypeSeed ClusterType = "seed"
	// ClusterTypeGarden is the garden.
	ClusterTypeGarden ClusterType = "garden"
)

// ControllerResourceLifecycle says when in the flow objects are dealt with.
type ControllerResourceLifecycle struct {
	// Reconcile is for create, reconcile and restore; default AfterKubeAPIServer.
	// +kubebuilder:validation:Enum=BeforeKubeAPIServer;AfterKubeAPIServer;AfterWorker
	Reconcile *ControllerResourceLifecycleStrategy `json:"reconcile,omitempty"`
	// Delete is for delete; default BeforeKubeAPIServer.
	// +kubebuilder:validation:Enum=BeforeKubeAPIServer;AfterKubeAPIServer
	Delete *ControllerResourceLifecycleStrategy `json:"delete,omitempty"`
	// Migrate is for migrate; default BeforeKubeAPIServer.
	// +kubebuilder:validation:Enum=BeforeKubeAPIServer;AfterKubeAPIServer
	Migrate *ControllerResourceLifecycleStrategy `json:"migrate,omitempty"`
}

// ControllerResourceLifecycleStrategy is a place in the flow.
type ControllerResourceLifecycleStrategy string

const (
	// BeforeKubeAPIServer is before the kube-apiserver changes.
	BeforeKubeAPIServer ControllerResourceLifecycleStrategy = "BeforeKubeAPIServer"
	// AfterKubeAPIServer is after the kube-apiserver changed.
	AfterKubeAPIServer ControllerResourceLifecycleStrategy = "AfterKubeAPIServer"
	// AfterWorker is after the workers are there; for reconcile only.
	AfterWorker ControllerResourceLifecycleStrategy = "AfterWorker"
)

// ControllerRegistrationDeployment says how a controller is deployed.
type ControllerRegistrationDeployment struct {
	// Policy says when it is deployed.
	Policy *ControllerDeploymentPolicy `json:"policy,omitempty"`
	// SeedSelector says where it may be deployed.
	SeedSelector *metav1.LabelSelector `json:"seedSelector,omitempty"`
	// DeploymentRefs are what is deployed.
	DeploymentRefs []DeploymentRef `json:"deploymentRefs,omitempty"`
}

// ControllerDeploymentPolicy says when a controller is deployed.
type ControllerDeploymentPolicy string

const (
	// ControllerDeploymentPolicyOnDemand deploys it where it is needed.
	ControllerDeploymentPolicyOnDemand ControllerDeploymentPolicy = "OnDemand"
	// ControllerDeploymentPolicyAlways deploys it everywhere.
	ControllerDeploymentPolicyAlways ControllerDeploymentPolicy = "Always"
	// ControllerDeploymentPolicyAlwaysExceptNoShoots deploys it on every seed with shoots.
	ControllerDeploymentPolicyAlwaysExceptNoShoots ControllerDeploymentPolicy = "AlwaysExceptNoShoots"
)

// DeploymentRef names a ControllerDeployment.
type DeploymentRef struct {
	// Name is its name.
	Name string `json:"name"`
}

// ControllerInstallation is a controller on a seed (docs/specification/api.md#spec-1-8).
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=controllerinstallations,singular=controllerinstallation,scope=Cluster,shortName=ctrlinst
// +kubebuilder:printcolumn:name="Registration",type=string,JSONPath=`.spec.registrationRef.name`
// +kubebuilder:printcolumn:name="Seed",type=string,JSONPath=`.spec.seedRef.name`
// +kubebuilder:printcolumn:name="Valid",type=string,JSONPath=`.status.conditions[?(@.type=="Valid")].status`
// +kubebuilder:printcolumn:name="Installed",type=string,JSONPath=`.status.conditions[?(@.type=="Installed")].status`
// +kubebuilder:printcolumn:name="Healthy",type=string,JSONPath=`.status.conditions[?(@.type=="Healthy")].status`
// +kubebuilder:printcolumn:name="Progressing",type=string,JSONPath=`.status.conditions[?(@.type=="Progressing")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ControllerInstallation struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what is installed where.
	Spec ControllerInstallationSpec `json:"spec,omitempty"`
	// Status is how it fares.
	Status ControllerInstallationStatus `json:"status,omitempty"`
}

// ControllerInstallationList is a list of ControllerInstallations.
//
// +kubebuilder:object:root=true
type ControllerInstallationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the ControllerInstallations.
	Items []ControllerInstallation `json:"items"`
}

// ControllerInstallationSpec is what is installed where.
type ControllerInstallationSpec struct {
	// RegistrationRef is the ControllerRegistration.
	RegistrationRef corev1.ObjectReference `json:"registrationRef"`
	// SeedRef is the seed.
	SeedRef *corev1.ObjectReference `json:"seedRef,omitempty"`
	// ShootRef is the self-hosted shoot.
	ShootRef *corev1.ObjectReference `json:"shootRef,omitempty"`
	// DeploymentRef is the ControllerDeployment.
	DeploymentRef *corev1.ObjectReference `json:"deploymentRef,omitempty"`
}

// ControllerInstallationStatus is how an installation fares.
type ControllerInstallationStatus struct {
	// Conditions are what is observed.
	Conditions []Condition `json:"conditions,omitempty"`
	// ProviderStatus is the controller's own status.
	// +kubebuilder:pruning:PreserveUnknownFields
	ProviderStatus *runtime.RawExtension `json:"providerStatus,omitempty"`
}

// Conditions of a ControllerInstallation.
const (
	// ControllerInstallationValid shows whether the registration can be installed.
	ControllerInstallationValid ConditionType = "Valid"
	// ControllerInstallationInstalled shows whether the controller is installed.
	ControllerInstallationInstalled ConditionType = "Installed"
	// ControllerInstallationHealthy shows whether the controller is healthy.
	ControllerInstallationHealthy ConditionType = "Healthy"
	// ControllerInstallationProgressing shows whether the controller is being rolled out.
	ControllerInstallationProgressing ConditionType = "Progressing"
	// ControllerInstallationRequired shows whether anything on the seed needs the controller.
	ControllerInstallationRequired ConditionType = "Required"
)
