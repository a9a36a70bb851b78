package program

import (
	"strings"

	"github.com/transplant-sim/transplant/clusters/embedded/process"
)

// controllers run on embedded clusters: those that pods, their volumes and their owners need. The endpoint
// controllers are missing on purpose: EndpointSlices refuse loopback addresses, the process node forwards instead.
var controllers = []string{
	"clusterrole-aggregation-controller", "cronjob-controller", "daemonset-controller", "deployment-controller",
	"disruption-controller", "ephemeral-volume-controller", "garbage-collector-controller",
	"horizontal-pod-autoscaler-controller", "job-controller", "namespace-controller", "node-lifecycle-controller",
	"persistentvolume-binder-controller", "persistentvolume-protection-controller",
	"persistentvolumeclaim-protection-controller", "pod-garbage-collector-controller", "replicaset-controller",
	"replicationcontroller-controller", "resourcequota-controller", "root-ca-certificate-publisher-controller",
	"service-cidr-controller", "serviceaccount-controller", "serviceaccount-token-controller",
	"statefulset-controller", "taint-eviction-controller", "ttl-after-finished-controller",
	"validatingadmissionpolicy-status-controller",
}

// fast lifts the client limits, which would hold a cluster to 24 pods a second.
var fast = []string{"--kube-api-qps=2000", "--kube-api-burst=4000", "--leader-elect=false", "--secure-port=0"}

// ControllerManager is the command line of the cluster's kube-controller-manager.
func (c Cluster) ControllerManager(flags ...string) process.Spec {
	args := append([]string{
		"--kubeconfig=" + c.Kubeconfig(ControllerManager),
		"--controllers=" + strings.Join(controllers, ","),
		"--service-account-private-key-file=" + c.PKI().Key(serviceAccounts),
		"--root-ca-file=" + c.PKI().Certificate(ClusterCA),
	}, fast...)
	return c.spec("kube-controller-manager", append(args, flags...)...)
}

// Scheduler is the command line of the cluster's kube-scheduler.
func (c Cluster) Scheduler(flags ...string) process.Spec {
	args := append([]string{"--kubeconfig=" + c.Kubeconfig(Scheduler)}, fast...)
	return c.spec("kube-scheduler", append(args, flags...)...)
}
