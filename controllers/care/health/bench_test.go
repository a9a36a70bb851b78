package health

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
	resourcesv1alpha1 "github.com/transplant-sim/transplant/api/resources/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/care/health/healthtest"
)

var noon = healthtest.Noon

func ago(d time.Duration) metav1.Time { return metav1.NewTime(noon.Add(-d)) }

func meta(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name, Namespace: "ns"} }

// config is one whose thresholds all conditions have, as the example of docs/specification/care.md#spec-5-3.
func config() Config {
	thresholds := map[gardencorev1beta1.ConditionType]time.Duration{}
	for _, kind := range conditionTypes {
		thresholds[kind] = time.Minute
	}
	return Config{
		Thresholds: thresholds, StaleExtensions: 5 * time.Minute, ProgressingManagedResources: time.Hour,
		Components: Components{
			Etcds: []string{"etcd-main"}, Always: []string{"kube-apiserver", "kube-controller-manager"},
			WithWorkers: []string{"kube-scheduler", "machine-controller"}, Monitoring: []string{"kube-state-metrics"},
		},
	}
}

// healthy is a shoot with two nodes in one pool, on which nothing is amiss and everything was well before.
func healthy() *Observation {
	shoot := &gardencorev1beta1.Shoot{ObjectMeta: meta("s")}
	shoot.Spec.Kubernetes.Version = "1.36.3"
	shoot.Spec.Provider.Workers = []gardencorev1beta1.Worker{{Name: "pool", Minimum: 2, Maximum: 3}}
	shoot.Status.LastOperation = &gardencorev1beta1.LastOperation{Type: "Reconcile", State: "Succeeded",
		LastUpdateTime: ago(time.Hour)}
	for _, kind := range conditionTypes {
		shoot.Status.Conditions = append(shoot.Status.Conditions, gardencorev1beta1.Condition{
			Type: kind, Status: "True", LastTransitionTime: ago(time.Hour), LastUpdateTime: ago(time.Hour),
		})
	}
	heartbeat := &metav1.MicroTime{Time: noon.Add(-30 * time.Second)}
	o := &Observation{Shoot: shoot, APIServer: &APIServer{Code: 200, Body: "ok"}}
	o.Extensions.Items = []ExtensionReport{
		{Kind: "Worker", Namespace: "ns", Name: "s", Heartbeat: heartbeat,
			Condition: gardencorev1beta1.Condition{Type: "EveryNodeReady", Status: "True"}},
		{Kind: "ControlPlane", Namespace: "ns", Name: "s", Heartbeat: heartbeat,
			Condition: gardencorev1beta1.Condition{Type: "ControlPlaneHealthy", Status: "True"}},
		{Kind: "Network", Namespace: "ns", Name: "s", Heartbeat: heartbeat,
			Condition: gardencorev1beta1.Condition{Type: "SystemComponentsHealthy", Status: "True"}},
	}
	o.Etcds.Items = []appsv1.StatefulSet{statefulSet("etcd-main")}
	o.Deployments.Items = []appsv1.Deployment{deployment("machine-controller"), deployment("kube-scheduler"),
		deployment("kube-controller-manager"), deployment("kube-apiserver")}
	o.Monitoring.Items = []appsv1.Deployment{deployment("kube-state-metrics")}
	o.ManagedResources.Items = []resourcesv1alpha1.ManagedResource{
		managedResource("in-seed", ptr.To("seed"), ""), managedResource("in-shoot", nil, ""),
		managedResource("watching", ptr.To("seed"), "ObservabilityComponentsHealthy"),
	}
	o.MachineDeployments.Items = []machinev1alpha1.MachineDeployment{{ObjectMeta: meta("pool-z1"),
		Spec: machinev1alpha1.MachineDeploymentSpec{Replicas: 2}}}
	o.Machines.Items = []machinev1alpha1.Machine{healthtest.Machine("a"), healthtest.Machine("b")}
	o.Authorities.Items = []corev1.Secret{healthtest.Authority("ca", 10*365*24*time.Hour)}
	o.Cluster = Cluster{
		Nodes:      Seen[corev1.Node]{Items: []corev1.Node{node("a"), node("b")}},
		NodeLeases: Seen[coordinationv1.Lease]{Items: []coordinationv1.Lease{lease("a"), lease("b")}},
		NodeAgentLeases: Seen[coordinationv1.Lease]{Items: []coordinationv1.Lease{lease("gardener-node-agent-a"),
			lease("gardener-node-agent-b")}},
		NodeConfigs:  Seen[corev1.Secret]{Items: []corev1.Secret{nodeConfig("1")}},
		DaemonSets:   Seen[appsv1.DaemonSet]{Items: []appsv1.DaemonSet{daemonSet("kube-proxy")}},
		Deployments:  Seen[appsv1.Deployment]{Items: []appsv1.Deployment{deployment("coredns")}},
		StatefulSets: Seen[appsv1.StatefulSet]{Items: []appsv1.StatefulSet{statefulSet("store")}},
	}
	return o
}

func deployment(name string) appsv1.Deployment {
	d := appsv1.Deployment{ObjectMeta: meta(name)}
	d.Generation, d.Status.ObservedGeneration = 2, 2
	d.Status.Conditions = []appsv1.DeploymentCondition{{Type: "Available", Status: "True"},
		{Type: "Progressing", Status: "True"}}
	return d
}

func statefulSet(name string) appsv1.StatefulSet {
	s := appsv1.StatefulSet{ObjectMeta: meta(name), Status: appsv1.StatefulSetStatus{ObservedGeneration: 2,
		ReadyReplicas: 1}}
	s.Generation = 2
	return s
}

func daemonSet(name string) appsv1.DaemonSet {
	d := appsv1.DaemonSet{ObjectMeta: meta(name), Status: appsv1.DaemonSetStatus{
		ObservedGeneration: 2, DesiredNumberScheduled: 2, CurrentNumberScheduled: 2, UpdatedNumberScheduled: 2,
		NumberReady: 2,
	}}
	d.Generation = 2
	return d
}

func managedResource(name string, class *string, condition string) resourcesv1alpha1.ManagedResource {
	m := resourcesv1alpha1.ManagedResource{ObjectMeta: meta(name),
		Spec: resourcesv1alpha1.ManagedResourceSpec{Class: class}}
	m.Generation, m.Status.ObservedGeneration = 1, 1
	if condition != "" {
		m.Labels = map[string]string{"care.gardener.cloud/condition-type": condition}
	}
	m.Status.Conditions = []gardencorev1beta1.Condition{
		{Type: "ResourcesApplied", Status: "True", Reason: "ApplySucceeded"},
		{Type: "ResourcesHealthy", Status: "True", Reason: "ResourcesHealthy"},
		{Type: "ResourcesProgressing", Status: "False", Reason: "ResourcesRolledOut", LastTransitionTime: ago(2 * time.Hour)},
	}
	return m
}

func node(name string) corev1.Node {
	n := corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: map[string]string{"worker.gardener.cloud/pool": "pool",
			"worker.gardener.cloud/gardener-node-agent-secret-name": "gardener-node-agent-pool-x"},
		Annotations: map[string]string{"checksum/cloud-config-data": "1"},
	}}
	n.Status.Conditions = []corev1.NodeCondition{{Type: "Ready", Status: "True"}, {Type: "DiskPressure", Status: "False"}}
	n.Status.NodeInfo.KubeletVersion = "v1.36.3"
	return n
}

func nodeConfig(checksum string) corev1.Secret {
	return corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: "kube-system", Name: "gardener-node-agent-pool-x",
		Annotations: map[string]string{"checksum/data-script": checksum},
	}}
}

func lease(name string) coordinationv1.Lease {
	return coordinationv1.Lease{ObjectMeta: meta(name), Spec: coordinationv1.LeaseSpec{
		LeaseDurationSeconds: ptr.To[int32](40), RenewTime: &metav1.MicroTime{Time: noon.Add(-10 * time.Second)},
	}}
}

func intstrOf(text string) intstr.IntOrString { return intstr.FromString(text) }

func sorted(texts []string) []string { return slices.Sorted(slices.Values(texts)) }
