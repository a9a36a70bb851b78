package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SeedSettings are further settings of a seed.
type SeedSettings struct {
	// ExcessCapacityReservation keeps room free.
	ExcessCapacityReservation *SeedSettingExcessCapacityReservation `json:"excessCapacityReservation,omitempty"`
	// Scheduling says whether new shoots are placed here.
	Scheduling *SeedSettingScheduling `json:"scheduling,omitempty"`
	// LoadBalancerServices configures Services of type LoadBalancer.
	LoadBalancerServices *SeedSettingLoadBalancerServices `json:"loadBalancerServices,omitempty"`
	// VerticalPodAutoscaler configures the seed's vertical pod autoscaler.
	VerticalPodAutoscaler *SeedSettingVerticalPodAutoscaler `json:"verticalPodAutoscaler,omitempty"`
	// DependencyWatchdog configures the dependency watchdog.
	DependencyWatchdog *SeedSettingDependencyWatchdog `json:"dependencyWatchdog,omitempty"`
	// TopologyAwareRouting keeps traffic in its zone.
	TopologyAwareRouting *SeedSettingTopologyAwareRouting `json:"topologyAwareRouting,omitempty"`
	// ZoneSelection chooses the zones of control planes.
	ZoneSelection *SeedSettingZoneSelection `json:"zoneSelection,omitempty"`
}

// SeedSettingExcessCapacityReservation keeps room free.
type SeedSettingExcessCapacityReservation struct {
	// Enabled is whether it does.
	Enabled *bool `json:"enabled,omitempty"`
	// Configs is how much room.
	Configs []SeedSettingExcessCapacityReservationConfig `json:"configs,omitempty"`
}

// SeedSettingExcessCapacityReservationConfig is how much room is kept free.
type SeedSettingExcessCapacityReservationConfig struct {
	// Resources is the room.
	Resources corev1.ResourceList `json:"resources"`
	// NodeSelector is where.
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	// Tolerations is where.
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
}

// SeedSettingScheduling says whether new shoots are placed on a seed.
type SeedSettingScheduling struct {
	// Visible is whether the scheduler sees the seed.
	Visible bool `json:"visible"`
}

// SeedSettingLoadBalancerServices configures Services of type LoadBalancer.
type SeedSettingLoadBalancerServices struct {
	// Annotations are set on the Services.
	Annotations map[string]string `json:"annotations,omitempty"`
	// ExternalTrafficPolicy is the policy of the Services.
	ExternalTrafficPolicy *corev1.ServiceExternalTrafficPolicy `json:"externalTrafficPolicy,omitempty"`
	// Zones are settings by zone.
	Zones []SeedSettingLoadBalancerServicesZones `json:"zones,omitempty"`
	// ProxyProtocol configures the PROXY protocol.
	ProxyProtocol *LoadBalancerServicesProxyProtocol `json:"proxyProtocol,omitempty"`
	// ZonalIngress configures a load balancer per zone.
	ZonalIngress *SeedSettingLoadBalancerServicesZonalIngress `json:"zonalIngress,omitempty"`
	// Class is the load balancer class.
	Class *string `json:"class,omitempty"`
}

// SeedSettingLoadBalancerServicesZones are settings of a zone.
type SeedSettingLoadBalancerServicesZones struct {
	// Name is the zone.
	Name string `json:"name"`
	// Annotations are set on the Services.
	Annotations map[string]string `json:"annotations,omitempty"`
	// ExternalTrafficPolicy is the policy of the Services.
	ExternalTrafficPolicy *corev1.ServiceExternalTrafficPolicy `json:"externalTrafficPolicy,omitempty"`
	// ProxyProtocol configures the PROXY protocol.
	ProxyProtocol *LoadBalancerServicesProxyProtocol `json:"proxyProtocol,omitempty"`
}

// LoadBalancerServicesProxyProtocol configures the PROXY protocol.
type LoadBalancerServicesProxyProtocol struct {
	// Allowed is whether it is accepted.
	Allowed bool `json:"allowed"`
}

// SeedSettingLoadBalancerServicesZonalIngress configures a load balancer per zone.
type SeedSettingLoadBalancerServicesZonalIngress struct {
	// Enabled is whether there is one.
	Enabled *bool `json:"enabled,omitempty"`
}

// SeedSettingVerticalPodAutoscaler configures the seed's vertical pod autoscaler.
type SeedSettingVerticalPodAutoscaler struct {
	// Enabled is whether it is deployed.
	Enabled bool `json:"enabled"`
	// FeatureGates switches features on and off.
	FeatureGates map[string]bool `json:"featureGates,omitempty"`
}

// SeedSettingDependencyWatchdog configures the dependency watchdog.
type SeedSettingDependencyWatchdog struct {
	// Weeder restarts pods whose dependency came back.
	Weeder *SeedSettingDependencyWatchdogWeeder `json:"weeder,omitempty"`
	// Prober scales down controllers of a cluster that cannot be reached.
	Prober *SeedSettingDependencyWatchdogProber `json:"prober,omitempty"`
}

// SeedSettingDependencyWatchdogWeeder restarts pods whose dependency came back.
type SeedSettingDependencyWatchdogWeeder struct {
	// Enabled is whether it is on.
	Enabled bool `json:"enabled"`
}

// SeedSettingDependencyWatchdogProber scales down controllers of a cluster that cannot be reached.
type SeedSettingDependencyWatchdogProber struct {
	// Enabled is whether it is on.
	Enabled bool `json:"enabled"`
	// ProbeTimeout is how long a probe may take.
	ProbeTimeout *metav1.Duration `json:"probeTimeout,omitempty"`
}

// SeedSettingTopologyAwareRouting keeps traffic in its zone.
type SeedSettingTopologyAwareRouting struct {
	// Enabled is whether it does.
	Enabled bool `json:"enabled"`
}

// SeedSettingZoneSelection chooses the zones of control planes.
type SeedSettingZoneSelection struct {
	// Mode is how they are chosen.
	Mode string `json:"mode"`
}
