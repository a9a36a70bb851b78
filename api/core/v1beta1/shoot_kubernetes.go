package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Kubernetes is version and configuration of the Kubernetes components.
type Kubernetes struct {
	// ClusterAutoscaler configures the cluster autoscaler.
	ClusterAutoscaler *ClusterAutoscaler `json:"clusterAutoscaler,omitempty"`
	// KubeAPIServer configures the kube-apiserver.
	KubeAPIServer *KubeAPIServerConfig `json:"kubeAPIServer,omitempty"`
	// KubeControllerManager configures the kube-controller-manager.
	KubeControllerManager *KubeControllerManagerConfig `json:"kubeControllerManager,omitempty"`
	// KubeScheduler configures the kube-scheduler.
	KubeScheduler *KubeSchedulerConfig `json:"kubeScheduler,omitempty"`
	// KubeProxy configures the kube-proxy.
	KubeProxy *KubeProxyConfig `json:"kubeProxy,omitempty"`
	// Kubelet configures the kubelets of all pools.
	Kubelet *KubeletConfig `json:"kubelet,omitempty"`
	// Version is the version of the control plane.
	Version string `json:"version,omitempty"`
	// VerticalPodAutoscaler configures the vertical pod autoscaler.
	VerticalPodAutoscaler *VerticalPodAutoscaler `json:"verticalPodAutoscaler,omitempty"`
	// ETCD configures the etcds.
	ETCD *ETCD `json:"etcd,omitempty"`
}

// KubernetesConfig is what all Kubernetes components share.
type KubernetesConfig struct {
	// FeatureGates switches features on and off.
	FeatureGates map[string]bool `json:"featureGates,omitempty"`
}

// ETCD configures the etcds of a shoot.
type ETCD struct {
	// Main is the etcd of everything but events.
	Main *ETCDConfig `json:"main,omitempty"`
	// Events is the etcd of events.
	Events *ETCDConfig `json:"events,omitempty"`
}

// ETCDConfig configures an etcd.
type ETCDConfig struct {
	// Autoscaling bounds its autoscaling.
	Autoscaling *ControlPlaneAutoscaling `json:"autoscaling,omitempty"`
}

// ControlPlaneAutoscaling bounds the autoscaling of a component.
type ControlPlaneAutoscaling struct {
	// MinAllowed is the least that is requested.
	MinAllowed corev1.ResourceList `json:"minAllowed"`
}

// KubeAPIServerConfig configures the kube-apiserver.
type KubeAPIServerConfig struct {
	KubernetesConfig `json:",inline"`

	// AdmissionPlugins are further admission plugins.
	AdmissionPlugins []AdmissionPlugin `json:"admissionPlugins,omitempty"`
	// APIAudiences are the accepted audiences of tokens.
	APIAudiences []string `json:"apiAudiences,omitempty"`
	// AuditConfig configures auditing.
	AuditConfig *AuditConfig `json:"auditConfig,omitempty"`
	// OIDCConfig configures OpenID Connect (old form).
	OIDCConfig *OIDCConfig `json:"oidcConfig,omitempty"`
	// RuntimeConfig switches APIs on and off.
	RuntimeConfig map[string]bool `json:"runtimeConfig,omitempty"`
	// ServiceAccountConfig configures service account tokens.
	ServiceAccountConfig *ServiceAccountConfig `json:"serviceAccountConfig,omitempty"`
	// WatchCacheSizes sizes the watch cache.
	WatchCacheSizes *WatchCacheSizes `json:"watchCacheSizes,omitempty"`
	// Requests limits requests in flight.
	Requests *APIServerRequests `json:"requests,omitempty"`
	// EnableAnonymousAuthentication lets anonymous requests in (old form).
	EnableAnonymousAuthentication *bool `json:"enableAnonymousAuthentication,omitempty"`
	// EventTTL is how long events are kept.
	EventTTL *metav1.Duration `json:"eventTTL,omitempty"`
	// Logging configures the log.
	Logging *APIServerLogging `json:"logging,omitempty"`
	// DefaultNotReadyTolerationSeconds is how long pods tolerate a node that is not ready.
	DefaultNotReadyTolerationSeconds *int64 `json:"defaultNotReadyTolerationSeconds,omitempty"`
	// DefaultUnreachableTolerationSeconds is how long pods tolerate a node that cannot be reached.
	DefaultUnreachableTolerationSeconds *int64 `json:"defaultUnreachableTolerationSeconds,omitempty"`
	// EncryptionConfig configures encryption at rest.
	EncryptionConfig *EncryptionConfig `json:"encryptionConfig,omitempty"`
	// StructuredAuthentication names an authentication configuration.
	StructuredAuthentication *StructuredAuthentication `json:"structuredAuthentication,omitempty"`
	// StructuredAuthorization names an authorization configuration.
	StructuredAuthorization *StructuredAuthorization `json:"structuredAuthorization,omitempty"`
	// Autoscaling bounds its autoscaling.
	Autoscaling *ControlPlaneAutoscaling `json:"autoscaling,omitempty"`
}

// AdmissionPlugin is an admission plugin of the kube-apiserver.
type AdmissionPlugin struct {
	// Name is the plugin's name.
	Name string `json:"name"`
	// Config is the plugin's configuration.
	// +kubebuilder:pruning:PreserveUnknownFields
	Config *runtime.RawExtension `json:"config,omitempty"`
	// Disabled switches the plugin off.
	Disabled *bool `json:"disabled,omitempty"`
	// KubeconfigSecretName names the Secret with the plugin's kubeconfig.
	KubeconfigSecretName *string `json:"kubeconfigSecretName,omitempty"`
}

// AuditConfig configures auditing.
type AuditConfig struct {
	// AuditPolicy is what is audited.
	AuditPolicy *AuditPolicy `json:"auditPolicy,omitempty"`
}

// AuditPolicy is what is audited.
type AuditPolicy struct {
	// ConfigMapRef is the ConfigMap with the policy.
	ConfigMapRef *corev1.ObjectReference `json:"configMapRef,omitempty"`
}

// OIDCConfig configures OpenID Connect.
type OIDCConfig struct {
	// CABundle is trusted for the issuer.
	CABundle *string `json:"caBundle,omitempty"`
	// ClientAuthentication is for generated kubeconfigs (old form).
	ClientAuthentication *OpenIDConnectClientAuthentication `json:"clientAuthentication,omitempty"`
	// ClientID is the client's id.
	ClientID *string `json:"clientID,omitempty"`
	// GroupsClaim is the claim with the groups.
	GroupsClaim *string `json:"groupsClaim,omitempty"`
	// GroupsPrefix is put before groups.
	GroupsPrefix *string `json:"groupsPrefix,omitempty"`
	// IssuerURL is the issuer.
	IssuerURL *string `json:"issuerURL,omitempty"`
	// RequiredClaims are claims that a token must have.
	RequiredClaims map[string]string `json:"requiredClaims,omitempty"`
	// SigningAlgs are the accepted signatures.
	SigningAlgs []string `json:"signingAlgs,omitempty"`
	// UsernameClaim is the claim with the name.
	UsernameClaim *string `json:"usernameClaim,omitempty"`
	// UsernamePrefix is put before names.
	UsernamePrefix *string `json:"usernamePrefix,omitempty"`
}

// OpenIDConnectClientAuthentication is for generated kubeconfigs.
type OpenIDConnectClientAuthentication struct {
	// ExtraConfig is added to the kubeconfig.
	ExtraConfig map[string]string `json:"extraConfig,omitempty"`
	// Secret is the client's secret.
	Secret *string `json:"secret,omitempty"`
}

// ServiceAccountConfig configures service account tokens.
type ServiceAccountConfig struct {
	// Issuer is the issuer of new tokens.
	Issuer *string `json:"issuer,omitempty"`
	// ExtendTokenExpiration prolongs injected tokens.
	ExtendTokenExpiration *bool `json:"extendTokenExpiration,omitempty"`
	// MaxTokenExpiration is the longest life of a token.
	MaxTokenExpiration *metav1.Duration `json:"maxTokenExpiration,omitempty"`
	// AcceptedIssuers are further issuers whose tokens are accepted.
	AcceptedIssuers []string `json:"acceptedIssuers,omitempty"`
}

// WatchCacheSizes sizes the watch cache.
type WatchCacheSizes struct {
	// Default is the size for resources that are not listed (old form).
	Default *int32 `json:"default,omitempty"`
	// Resources are sizes by resource.
	Resources []ResourceWatchCacheSize `json:"resources,omitempty"`
}

// ResourceWatchCacheSize sizes the watch cache of a resource.
type ResourceWatchCacheSize struct {
	// APIGroup is the resource's group.
	APIGroup *string `json:"apiGroup,omitempty"`
	// Resource is the resource.
	Resource string `json:"resource"`
	// CacheSize is the size.
	CacheSize int32 `json:"size"`
}

// APIServerRequests limits requests in flight.
type APIServerRequests struct {
	// MaxNonMutatingInflight limits reads.
	MaxNonMutatingInflight *int32 `json:"maxNonMutatingInflight,omitempty"`
	// MaxMutatingInflight limits writes.
	MaxMutatingInflight *int32 `json:"maxMutatingInflight,omitempty"`
}

// APIServerLogging configures the log of the kube-apiserver.
type APIServerLogging struct {
	// Verbosity is the log level.
	Verbosity *int32 `json:"verbosity,omitempty"`
	// HTTPAccessVerbosity is the log level of HTTP requests.
	HTTPAccessVerbosity *int32 `json:"httpAccessVerbosity,omitempty"`
}

// EncryptionConfig configures encryption at rest.
type EncryptionConfig struct {
	// Resources are encrypted besides Secrets.
	Resources []string `json:"resources,omitempty"`
	// Provider is the way of encryption.
	Provider *EncryptionProvider `json:"provider,omitempty"`
}

// EncryptionProvider is a way of encryption.
type EncryptionProvider struct {
	// Type is the way of encryption.
	Type *EncryptionProviderType `json:"type,omitempty"`
}

// EncryptionProviderType is a way of encryption.
type EncryptionProviderType string

const (
	// EncryptionProviderTypeAESCBC is AES-CBC.
	EncryptionProviderTypeAESCBC EncryptionProviderType = "aescbc"
	// EncryptionProviderTypeAESGCM is AES-GCM.
	EncryptionProviderTypeAESGCM EncryptionProviderType = "aesgcm"
	// EncryptionProviderTypeSecretbox is XSalsa20 and Poly1305.
	EncryptionProviderTypeSecretbox EncryptionProviderType = "secretbox"
)

// StructuredAuthentication names an authentication configuration.
type StructuredAuthentication struct {
	// ConfigMapName names the ConfigMap with it.
	ConfigMapName string `json:"configMapName"`
}

// StructuredAuthorization names an authorization configuration.
type StructuredAuthorization struct {
	// ConfigMapName names the ConfigMap with it.
	ConfigMapName string `json:"configMapName"`
	// Kubeconfigs are the kubeconfigs of webhook authorizers.
	Kubeconfigs []AuthorizerKubeconfigReference `json:"kubeconfigs"`
}

// AuthorizerKubeconfigReference is the kubeconfig of a webhook authorizer.
type AuthorizerKubeconfigReference struct {
	// AuthorizerName is the authorizer's name.
	AuthorizerName string `json:"authorizerName"`
	// SecretName names the Secret with the kubeconfig.
	SecretName string `json:"secretName"`
}
