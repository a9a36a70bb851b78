package node

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
)

// Reasons of events on nodes.
const (
	// ReasonUnscheduled says that critical DaemonSets have no pod on the node yet.
	ReasonUnscheduled = "UnscheduledNodeCriticalDaemonSets"
	// ReasonUnready says that critical pods on the node are not ready.
	ReasonUnready = "UnreadyNodeCriticalPods"
	// ReasonDrivers says that CSI drivers that pods announced are not registered on the node.
	ReasonDrivers = "UnreadyRequiredCSIDrivers"
	// ReasonReady says that the taint has been removed.
	ReasonReady = "NodeCriticalComponentsReady"
)

// Observation is a node and what matters for its taint.
type Observation struct {
	Node *corev1.Node
	// DaemonSets are those of all namespaces. Those that are not critical do not matter.
	DaemonSets []appsv1.DaemonSet
	// Pods are those of all namespaces; those on other nodes and those that are not critical do not matter.
	Pods []corev1.Pod
	// CSINode has the drivers that are registered on the node; nil is none.
	CSINode *storagev1.CSINode
}

// Obstacle is why the taint must stay.
type Obstacle struct {
	// Reason is one of the reasons of this package.
	Reason string
	// Objects are the DaemonSets or pods, as namespace/name, or the drivers.
	Objects []string
}

// String is the message of an event.
func (o Obstacle) String() string {
	what := map[string]string{
		ReasonUnscheduled: "Node-critical DaemonSets found that were not scheduled to Node yet",
		ReasonUnready:     "Unready node-critical Pods found on Node",
		ReasonDrivers:     "Unready required CSI drivers for Node",
	}[o.Reason]
	return what + ": " + strings.Join(o.Objects, ", ")
}

// Tainted is whether a node has the taint of this package.
func Tainted(node *corev1.Node) bool { return slices.ContainsFunc(node.Spec.Taints, isOurs) }

func isOurs(t corev1.Taint) bool { return t.Key == constants.TaintNodeCriticalComponentsNotReady }

// WithoutTaint are a node's taints without the taint of this package.
func WithoutTaint(taints []corev1.Taint) []corev1.Taint {
	return slices.DeleteFunc(slices.Clone(taints), isOurs)
}

// Obstacles are what stands in the way of removing the taint, in the order of
// docs/specification/nodes-and-seeds.md#spec-7-1; none means that it may go. Critical components count in any namespace
// (docs/specification/README.md#spec-0-0).
func Obstacles(o Observation) []Obstacle {
	pods := o.criticalPods()
	var obstacles []Obstacle
	for _, found := range []Obstacle{
		{Reason: ReasonUnscheduled, Objects: o.unscheduled(pods)},
		{Reason: ReasonUnready, Objects: unready(pods)},
		{Reason: ReasonDrivers, Objects: o.missingDrivers(pods)},
	} {
		if len(found.Objects) > 0 {
			slices.Sort(found.Objects)
			obstacles = append(obstacles, found)
		}
	}
	return obstacles
}

func critical(labels map[string]string) bool {
	return labels[constants.NodeCriticalComponent] == constants.LabelTrue
}

func (o Observation) criticalPods() []corev1.Pod {
	var pods []corev1.Pod
	for _, p := range o.Pods {
		if p.Spec.NodeName == o.Node.Name && critical(p.Labels) {
			pods = append(pods, p)
		}
	}
	return pods
}

// unscheduled are the critical DaemonSets that should have a pod among the critical ones on the node, and have none.
func (o Observation) unscheduled(pods []corev1.Pod) []string {
	var names []string
	for _, d := range o.DaemonSets {
		if !critical(d.Labels) || !critical(d.Spec.Template.Labels) || d.DeletionTimestamp != nil || !runsOn(&d, o.Node) {
			continue
		}
		// By UID: a pod of an earlier DaemonSet of that name does not count.
		if !slices.ContainsFunc(pods, func(p corev1.Pod) bool { return metav1.IsControlledBy(&p, &d) }) {
			names = append(names, d.Namespace+"/"+d.Name)
		}
	}
	return names
}

// passing are the taints that say how a node fares at the moment. A DaemonSet that must wait until they have gone still
// belongs on the node.
var passing = []string{
	corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable, corev1.TaintNodeDiskPressure, corev1.TaintNodeMemoryPressure,
	corev1.TaintNodePIDPressure, corev1.TaintNodeNetworkUnavailable, corev1.TaintNodeUnschedulable,
	"node.cloudprovider.kubernetes.io/uninitialized",
}

// runsOn is whether a DaemonSet is to have a pod on the node. One that does not tolerate the taint of this package is
// not: its pod could not come before the taint is gone.
func runsOn(d *appsv1.DaemonSet, node *corev1.Node) bool {
	spec := d.Spec.Template.Spec
	if spec.NodeName != "" && spec.NodeName != node.Name {
		return false
	}
	// An affinity that cannot be understood matches nothing; the DaemonSet's own controller sees it so, too.
	if fits, err := nodeaffinity.GetRequiredNodeAffinity(&corev1.Pod{Spec: spec}).Match(node); err != nil || !fits {
		return false
	}
	_, untolerated := corev1helpers.FindMatchingUntoleratedTaint(logr.Discard(), node.Spec.Taints, spec.Tolerations,
		func(t *corev1.Taint) bool {
			return t.Effect != corev1.TaintEffectPreferNoSchedule && !slices.Contains(passing, t.Key)
		}, false)
	return !untolerated
}

func unready(pods []corev1.Pod) []string {
	var names []string
	for _, p := range pods {
		if !ready(&p) {
			names = append(names, p.Namespace+"/"+p.Name)
		}
	}
	return names
}

func ready(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// missingDrivers are the drivers that critical pods say the node must have, each with the pod that says so.
func (o Observation) missingDrivers(pods []corev1.Pod) []string {
	registered := map[string]bool{}
	if o.CSINode != nil {
		for _, driver := range o.CSINode.Spec.Drivers {
			registered[driver.Name] = true
		}
	}
	missing := map[string]string{}
	for _, p := range pods {
		for key, driver := range p.Annotations {
			if strings.HasPrefix(key, constants.NodeWaitForCSINodePrefix) && !registered[driver] {
				missing[driver] = p.Namespace + "/" + p.Name
			}
		}
	}
	var drivers []string
	for _, driver := range slices.Sorted(maps.Keys(missing)) {
		drivers = append(drivers, fmt.Sprintf("%s (of %s)", driver, missing[driver]))
	}
	return drivers
}
