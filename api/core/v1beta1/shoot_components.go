package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// KubeControllerManagerConfig configures the kube-controller-manager.
type KubeControllerManagerConfig struct {
	KubernetesConfig `json:",inline"`

	// HorizontalPodAutoscalerConfig configures the horizontal pod autoscaler.
	HorizontalPodAutoscalerConfig *HorizontalPodAutoscalerConfig `json:"horizontalPodAutoscaler,omitempty"`
	// NodeCIDRMaskSize is the size of a node's pod range.
	NodeCIDRMaskSize *int32 `json:"nodeCIDRMaskSize,omitempty"`
	// NodeCIDRMaskSizeIPv6 is the size of a node's IPv6 pod range.
	NodeCIDRMaskSizeIPv6 *int32 `json:"nodeCIDRMaskSizeIPv6,omitempty"`
	// PodEvictionTimeout is how long pods stay on failed nodes (old form).
	PodEvictionTimeout *metav1.Duration `json:"podEvictionTimeout,omitempty"`
	// NodeMonitorGracePeriod is how long a node may be silent.
	NodeMonitorGracePeriod *metav1.Duration `json:"nodeMonitorGracePeriod,omitempty"`
}

// HorizontalPodAutoscalerConfig configures the horizontal pod autoscaler.
type HorizontalPodAutoscalerConfig struct {
	// CPUInitializationPeriod is how long start-up load of a pod is not counted.
	CPUInitializationPeriod *metav1.Duration `json:"cpuInitializationPeriod,omitempty"`
	// DownscaleStabilization is the window of recommendations that is looked at.
	DownscaleStabilization *metav1.Duration `json:"downscaleStabilization,omitempty"`
	// InitialReadinessDelay is how long a pod counts as not yet ready.
	InitialReadinessDelay *metav1.Duration `json:"initialReadinessDelay,omitempty"`
	// SyncPeriod is how often numbers are adjusted.
	SyncPeriod *metav1.Duration `json:"syncPeriod,omitempty"`
	// Tolerance is the least change of the ratio that counts.
	Tolerance *float64 `json:"tolerance,omitempty"`
}

// KubeSchedulerConfig configures the kube-scheduler.
type KubeSchedulerConfig struct {
	KubernetesConfig `json:",inline"`

	// KubeMaxPDVols limits volumes per node (old form).
	KubeMaxPDVols *string `json:"kubeMaxPDVols,omitempty"`
	// Profile is the scheduling profile.
	Profile *SchedulingProfile `json:"profile,omitempty"`
}

// SchedulingProfile is a profile of the kube-scheduler.
type SchedulingProfile string

const (
	// SchedulingProfileBalanced spreads pods.
	SchedulingProfileBalanced SchedulingProfile = "balanced"
	// SchedulingProfileBinPacking packs pods.
	SchedulingProfileBinPacking SchedulingProfile = "bin-packing"
)

// KubeProxyConfig configures the kube-proxy.
type KubeProxyConfig struct {
	KubernetesConfig `json:",inline"`

	// Mode is how services are implemented.
	Mode *ProxyMode `json:"mode,omitempty"`
	// Enabled is whether kube-proxy is deployed.
	Enabled *bool `json:"enabled,omitempty"`
}

// ProxyMode is how services are implemented.
type ProxyMode string

const (
	// ProxyModeIPTables uses iptables.
	ProxyModeIPTables ProxyMode = "IPTables"
	// ProxyModeIPVS uses IPVS.
	ProxyModeIPVS ProxyMode = "IPVS"
	// ProxyModeNFTables uses nftables.
	ProxyModeNFTables ProxyMode = "NFTables"
)

// ClusterAutoscaler configures the cluster autoscaler.
type ClusterAutoscaler struct {
	// FeatureGates switches features on and off.
	FeatureGates map[string]bool `json:"featureGates,omitempty"`
	// ScaleDownDelayAfterAdd is the pause after a scale-up.
	ScaleDownDelayAfterAdd *metav1.Duration `json:"scaleDownDelayAfterAdd,omitempty"`
	// ScaleDownDelayAfterDelete is the pause after a deletion.
	ScaleDownDelayAfterDelete *metav1.Duration `json:"scaleDownDelayAfterDelete,omitempty"`
	// ScaleDownDelayAfterFailure is the pause after a failure.
	ScaleDownDelayAfterFailure *metav1.Duration `json:"scaleDownDelayAfterFailure,omitempty"`
	// ScaleDownUnneededTime is how long a node must be unneeded before it goes.
	ScaleDownUnneededTime *metav1.Duration `json:"scaleDownUnneededTime,omitempty"`
	// ScaleDownUtilizationThreshold is the share of use below which a node goes.
	ScaleDownUtilizationThreshold *float64 `json:"scaleDownUtilizationThreshold,omitempty"`
	// ScanInterval is how often the autoscaler looks.
	ScanInterval *metav1.Duration `json:"scanInterval,omitempty"`
	// Expander is how a pool is picked.
	Expander *ExpanderMode `json:"expander,omitempty"`
	// MaxNodeProvisionTime is how long a node may take to come up.
	MaxNodeProvisionTime *metav1.Duration `json:"maxNodeProvisionTime,omitempty"`
	// MaxGracefulTerminationSeconds is how long pods may take to end.
	MaxGracefulTerminationSeconds *int32 `json:"maxGracefulTerminationSeconds,omitempty"`
	// IgnoreTaints are taints that are not looked at (old form).
	IgnoreTaints []string `json:"ignoreTaints,omitempty"`
	// NewPodScaleUpDelay is how long new pods are not looked at.
	NewPodScaleUpDelay *metav1.Duration `json:"newPodScaleUpDelay,omitempty"`
	// MaxEmptyBulkDelete is how many empty nodes go at a time (old form).
	MaxEmptyBulkDelete *int32 `json:"maxEmptyBulkDelete,omitempty"`
	// IgnoreDaemonsetsUtilization leaves DaemonSets out of the use of a node.
	IgnoreDaemonsetsUtilization *bool `json:"ignoreDaemonsetsUtilization,omitempty"`
	// Verbosity is the log level.
	Verbosity *int32 `json:"verbosity,omitempty"`
	// StartupTaints are taints of nodes that come up.
	StartupTaints []string `json:"startupTaints,omitempty"`
	// StatusTaints are taints of nodes that are ready.
	StatusTaints []string `json:"statusTaints,omitempty"`
	// MaxScaleDownParallelism is how many nodes go at a time.
	MaxScaleDownParallelism *int32 `json:"maxScaleDownParallelism,omitempty"`
	// MaxDrainParallelism is how many nodes are drained at a time.
	MaxDrainParallelism *int32 `json:"maxDrainParallelism,omitempty"`
	// InitialNodeGroupBackoffDuration is the first pause after a node failed to start.
	InitialNodeGroupBackoffDuration *metav1.Duration `json:"initialNodeGroupBackoffDuration,omitempty"`
	// MaxNodeGroupBackoffDuration is the longest pause after a node failed to start.
	MaxNodeGroupBackoffDuration *metav1.Duration `json:"maxNodeGroupBackoffDuration,omitempty"`
	// NodeGroupBackoffResetTimeout is when failures are forgotten.
	NodeGroupBackoffResetTimeout *metav1.Duration `json:"nodeGroupBackoffResetTimeout,omitempty"`
}

// ExpanderMode is how the cluster autoscaler picks a pool.
type ExpanderMode string

// VerticalPodAutoscaler configures the vertical pod autoscaler.
type VerticalPodAutoscaler struct {
	// Enabled is whether it is deployed.
	Enabled bool `json:"enabled"`
	// EvictAfterOOMThreshold is the age below which a pod that ran out of memory is evicted.
	EvictAfterOOMThreshold *metav1.Duration `json:"evictAfterOOMThreshold,omitempty"`
	// EvictionRateBurst is the burst of evictions.
	EvictionRateBurst *int32 `json:"evictionRateBurst,omitempty"`
	// EvictionRateLimit is the number of evictions a second.
	EvictionRateLimit *float64 `json:"evictionRateLimit,omitempty"`
	// EvictionTolerance is the share of replicas that may be evicted.
	EvictionTolerance *float64 `json:"evictionTolerance,omitempty"`
	// RecommendationMarginFraction is the safety margin.
	RecommendationMarginFraction *float64 `json:"recommendationMarginFraction,omitempty"`
	// UpdaterInterval is how often the updater runs.
	UpdaterInterval *metav1.Duration `json:"updaterInterval,omitempty"`
	// RecommenderInterval is how often metrics are read.
	RecommenderInterval *metav1.Duration `json:"recommenderInterval,omitempty"`
	// FeatureGates switches features on and off.
	FeatureGates map[string]bool `json:"featureGates,omitempty"`
}

// SystemComponents configures components that every shoot has.
type SystemComponents struct {
	// CoreDNS configures CoreDNS.
	CoreDNS *CoreDNS `json:"coreDNS,omitempty"`
	// NodeLocalDNS configures the DNS cache on nodes.
	NodeLocalDNS *NodeLocalDNS `json:"nodeLocalDNS,omitempty"`
}

// CoreDNS configures CoreDNS.
type CoreDNS struct {
	// Autoscaling is how it scales.
	Autoscaling *CoreDNSAutoscaling `json:"autoscaling,omitempty"`
	// Rewriting rewrites needless queries.
	Rewriting *CoreDNSRewriting `json:"rewriting,omitempty"`
}

// CoreDNSAutoscaling is how CoreDNS scales.
type CoreDNSAutoscaling struct {
	// Mode is horizontal or cluster-proportional.
	Mode CoreDNSAutoscalingMode `json:"mode"`
}

// CoreDNSAutoscalingMode is horizontal or cluster-proportional.
type CoreDNSAutoscalingMode string

// CoreDNSRewriting rewrites needless queries.
type CoreDNSRewriting struct {
	// CommonSuffixes are suffixes of full names.
	CommonSuffixes []string `json:"commonSuffixes,omitempty"`
}

// NodeLocalDNS configures the DNS cache on nodes.
type NodeLocalDNS struct {
	// Enabled is whether it is deployed.
	Enabled bool `json:"enabled"`
	// ForceTCPToClusterDNS uses TCP to CoreDNS.
	ForceTCPToClusterDNS *bool `json:"forceTCPToClusterDNS,omitempty"`
	// ForceTCPToUpstreamDNS uses TCP to the cloud's DNS.
	ForceTCPToUpstreamDNS *bool `json:"forceTCPToUpstreamDNS,omitempty"`
	// DisableForwardToUpstreamDNS asks CoreDNS only.
	DisableForwardToUpstreamDNS *bool `json:"disableForwardToUpstreamDNS,omitempty"`
}

// Addons are optional components in a shoot.
type Addons struct {
	// KubernetesDashboard is the dashboard.
	KubernetesDashboard *KubernetesDashboard `json:"kubernetesDashboard,omitempty"`
	// NginxIngress is the nginx ingress controller.
	NginxIngress *NginxIngress `json:"nginxIngress,omitempty"`
}

// Addon can be switched on.
type Addon struct {
	// Enabled is whether it is on.
	Enabled bool `json:"enabled"`
}

// KubernetesDashboard is the dashboard addon.
type KubernetesDashboard struct {
	Addon `json:",inline"`

	// AuthenticationMode is how users log in.
	AuthenticationMode *string `json:"authenticationMode,omitempty"`
}

// NginxIngress is the nginx ingress addon.
type NginxIngress struct {
	Addon `json:",inline"`

	// LoadBalancerSourceRanges are the addresses that may come in.
	LoadBalancerSourceRanges []string `json:"loadBalancerSourceRanges,omitempty"`
	// Config is the controller's configuration.
	Config map[string]string `json:"config,omitempty"`
	// ExternalTrafficPolicy is the policy of its Service.
	ExternalTrafficPolicy *corev1.ServiceExternalTrafficPolicy `json:"externalTrafficPolicy,omitempty"`
}
