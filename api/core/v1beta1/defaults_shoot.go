package v1beta1

import (
	"math/bits"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// DefaultSchedulerName is the scheduler of shoots that name none.
const DefaultSchedulerName = "default-scheduler"

// DefaultPods and DefaultServices are the networks of shoots that name none. Gardener takes those that the seed has for
// such shoots; here all shoots have the same.
const (
	DefaultPods     = "100.96.0.0/11"
	DefaultServices = "100.64.0.0/13"
)

const (
	// coreDNSHorizontal is how CoreDNS scales unless a shoot says otherwise.
	coreDNSHorizontal CoreDNSAutoscalingMode = "horizontal"
	// defaultMaxPods is how many pods a kubelet runs at most, unless its configuration says otherwise.
	defaultMaxPods = 110
	// defaultTolerationSeconds is how long pods tolerate nodes that are away.
	defaultTolerationSeconds = 300
)

// SetDefaults implements Defaulted. A shoot without worker pools has no components of nodes. The maintenance time
// window stays unset: Gardener chooses one at random.
func (s *Shoot) SetDefaults() {
	spec := &s.Spec
	setDefault(&spec.Purpose, ShootPurposeEvaluation)
	setDefault(&spec.SchedulerName, DefaultSchedulerName)
	networking := section(&spec.Networking)
	if len(networking.IPFamilies) == 0 {
		networking.IPFamilies = []IPFamily{IPFamilyIPv4}
	}
	setDefault(&networking.Services, DefaultServices)
	update := section(&spec.Maintenance)
	setDefault(&update.AutoUpdate, MaintenanceAutoUpdate{KubernetesVersion: true})
	section(&spec.Kubernetes.KubeAPIServer).setDefaults()
	if len(spec.Provider.Workers) > 0 {
		spec.setWorkerDefaults()
	}
}

// setWorkerDefaults sets what only shoots with worker pools have.
func (s *ShootSpec) setWorkerDefaults() {
	setDefault(&s.Networking.Pods, DefaultPods)
	setDefault(&s.Maintenance.AutoUpdate.MachineImageVersion, true)
	setDefault(&s.Kubernetes.KubeAPIServer.DefaultNotReadyTolerationSeconds, defaultTolerationSeconds)
	setDefault(&s.Kubernetes.KubeAPIServer.DefaultUnreachableTolerationSeconds, defaultTolerationSeconds)
	s.setControllerManagerDefaults()
	setDefault(&section(&s.Kubernetes.KubeScheduler).Profile, SchedulingProfileBalanced)
	proxy := section(&s.Kubernetes.KubeProxy)
	setDefault(&proxy.Mode, ProxyModeIPTables)
	setDefault(&proxy.Enabled, true)
	section(&s.Kubernetes.Kubelet).setDefaults()
	setDefault(&section(&s.Provider.WorkersSettings).SSHAccess, SSHAccess{Enabled: true})
	dns := section(&section(&s.SystemComponents).CoreDNS)
	setDefault(&dns.Autoscaling, CoreDNSAutoscaling{Mode: coreDNSHorizontal})
	for i := range s.Provider.Workers {
		s.Provider.Workers[i].setDefaults()
	}
}

func (c *KubeAPIServerConfig) setDefaults() {
	requests := section(&c.Requests)
	setDefault(&requests.MaxNonMutatingInflight, 400)
	setDefault(&requests.MaxMutatingInflight, 200)
	setDefault(&c.EventTTL, metav1.Duration{Duration: time.Hour})
	setDefault(&section(&c.Logging).Verbosity, 2)
	setDefault(&section(&section(&c.EncryptionConfig).Provider).Type, EncryptionProviderTypeAESCBC)
}

func (s *ShootSpec) setControllerManagerDefaults() {
	manager := section(&s.Kubernetes.KubeControllerManager)
	if slices.Contains(s.Networking.IPFamilies, IPFamilyIPv4) {
		setDefault(&manager.NodeCIDRMaskSize, s.nodeMaskSize())
	}
	setDefault(&manager.NodeMonitorGracePeriod, metav1.Duration{Duration: 40 * time.Second})
}

// nodeMaskSize is the size of a node's pod range with room for twice as many addresses as any pool's kubelets run pods:
// those of pods that have ended are not taken again at once.
func (s *ShootSpec) nodeMaskSize() int32 {
	pods := int32(defaultMaxPods)
	if s.Kubernetes.Kubelet != nil {
		pods = ptr.Deref(s.Kubernetes.Kubelet.MaxPods, pods)
	}
	for _, worker := range s.Provider.Workers {
		if worker.Kubernetes != nil && worker.Kubernetes.Kubelet != nil {
			pods = max(pods, ptr.Deref(worker.Kubernetes.Kubelet.MaxPods, 0))
		}
	}
	return int32(32 - bits.Len32(uint32(2*max(pods, 1)-1)))
}

func (c *KubeletConfig) setDefaults() {
	setDefault(&c.FailSwapOn, true)
	setDefault(&c.ImageGCHighThresholdPercent, 50)
	setDefault(&c.ImageGCLowThresholdPercent, 40)
	setDefault(&c.SerializeImagePulls, true)
	setDefault(&c.ImageMinimumGCAge, metav1.Duration{Duration: 2 * time.Minute})
	setDefault(&c.ImageMaximumGCAge, metav1.Duration{})
}
