package health

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/errorcodes"
)

const (
	// nodeAgentLeasePrefix, followed by a node's name, is the Lease of its agent.
	nodeAgentLeasePrefix = "gardener-node-agent-"
	// systemdUnitsReady is the node condition that its agent writes.
	systemdUnitsReady corev1.NodeConditionType = "SystemdUnitsReady"
	// notManaged is the annotation, with the value "1", of nodes that no machine controller looks after.
	notManaged = "node.machine.sapcloud.io/not-managed-by-mcm"

	// expiredLeasesPercent is how many of the nodes' Leases may not be expired at once: it looks like the way from the
	// nodes to the API server is interrupted.
	expiredLeasesPercent = 20
)

// everyNode looks at the nodes, pool by pool and then together (docs/specification/care.md#spec-5-4).
func (r round) everyNode() *finding {
	if out := r.reachable(); out != nil {
		return out
	}
	extensions := r.extensions(gardencorev1beta1.ShootEveryNodeReady)
	if r.Cluster.Nodes.Err != nil {
		return first(extensions, unseen(fmt.Sprintf("Could not list the nodes: %v", r.Cluster.Nodes.Err)))
	}
	o := nodesOf(r.Observation, r.Now)
	return first(
		extensions,
		o.pools(),
		o.configs(),
		o.agents(),
		systemdUnits(o.watched),
		o.scaling(),
		o.leases(),
	)
}

// nodes are those of a shoot, and what was seen of them.
type nodes struct {
	*Observation
	now time.Time
	all []*corev1.Node // sorted by name
	// preserved are the names of nodes whose machine has failed and is kept for inspection. Such nodes are there, but how
	// they fare is nobody's concern.
	preserved map[string]bool
	watched   []*corev1.Node // all but the preserved ones
}

func nodesOf(seen *Observation, now time.Time) nodes {
	o := nodes{Observation: seen, now: now, preserved: map[string]bool{}}
	for _, m := range seen.Machines.Items {
		if keptForInspection(&m) {
			o.preserved[m.Labels[machinev1alpha1.LabelNode]] = true
		}
	}
	o.all = sortedByName(seen.Cluster.Nodes.Items, func(n *corev1.Node) string { return n.Name })
	o.watched = slices.DeleteFunc(slices.Clone(o.all), func(n *corev1.Node) bool { return o.preserved[n.Name] })
	return o
}

func keptForInspection(m *machinev1alpha1.Machine) bool {
	return m.Status.CurrentStatus.Phase == machinev1alpha1.MachineFailed &&
		m.Status.CurrentStatus.PreserveExpiryTime != nil
}

func (o nodes) pools() *finding {
	for _, pool := range o.Shoot.Spec.Provider.Workers {
		version := o.Shoot.Spec.Kubernetes.Version
		if pool.Kubernetes != nil {
			version = ptr.Deref(pool.Kubernetes.Version, version)
		}
		registered := int32(0)
		for _, n := range o.all {
			if n.Labels[constants.WorkerPool] != pool.Name {
				continue
			}
			registered++
			if o.preserved[n.Name] {
				continue
			}
			if found := nodeProblem(n, pool.Name, version); found != nil {
				return found
			}
		}
		if registered < pool.Minimum {
			return failure("MissingNodes",
				fmt.Sprintf("Not enough worker nodes registered in worker pool %q to meet minimum desired machine count (%d/%d).",
					pool.Name, registered, pool.Minimum))
		}
	}
	return nil
}

// pressures are the node conditions that must not be True; Ready must be.
var pressures = []corev1.NodeConditionType{corev1.NodeDiskPressure, corev1.NodeMemoryPressure, corev1.NodePIDPressure,
	corev1.NodeNetworkUnavailable}

func nodeProblem(n *corev1.Node, pool, version string) *finding {
	ready := false
	for _, c := range n.Status.Conditions {
		ready = ready || c.Type == corev1.NodeReady
		if c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue || slices.Contains(pressures, c.Type) &&
			c.Status == corev1.ConditionTrue {
			message := fmt.Sprintf("Node %q in worker group %q is unhealthy: condition %q is %s (%s): %s", n.Name, pool, c.Type,
				c.Status, c.Reason, c.Message)
			return failure("NodeUnhealthy", message, evictionCodes(c)...)
		}
	}
	if !ready {
		return failure("NodeUnhealthy", fmt.Sprintf("Node %q in worker group %q is unhealthy: condition %q is missing",
			n.Name, pool, corev1.NodeReady))
	}
	return versionProblem(n, version)
}

// evictionCodes says whether a kubelet is short of what its configuration grants it
// (docs/specification/care.md#spec-5-8).
func evictionCodes(c corev1.NodeCondition) []gardencorev1beta1.ErrorCode {
	if codes := errorcodes.Classify(c.Reason); slices.Contains(codes, gardencorev1beta1.ErrorConfigurationProblem) {
		return []gardencorev1beta1.ErrorCode{gardencorev1beta1.ErrorConfigurationProblem}
	}
	return nil
}

// versionProblem compares patch versions only: another minor version is that of a pool that is being rolled.
func versionProblem(n *corev1.Node, version string) *finding {
	runs, err := semver.NewVersion(n.Status.NodeInfo.KubeletVersion)
	if err != nil {
		return failure("VersionParseError", fmt.Sprintf("Kubelet version %q of node %q cannot be read: %v",
			n.Status.NodeInfo.KubeletVersion, n.Name, err))
	}
	wanted, err := semver.NewVersion(version)
	if err != nil {
		return failure("VersionParseError", fmt.Sprintf("Kubernetes version %q wanted for node %q cannot be read: %v",
			version, n.Name, err))
	}
	if runs.Major() == wanted.Major() && runs.Minor() == wanted.Minor() && !runs.Equal(wanted) {
		return failure("KubeletVersionMismatch",
			fmt.Sprintf("The kubelet version for node %q (%s) does not match the desired Kubernetes version (v%s)", n.Name,
				n.Status.NodeInfo.KubeletVersion, wanted))
	}
	return nil
}

// configs compares what the agents have applied with what they follow. A pool whose nodes wait for their update in
// place is not looked at: the constraint ManualInPlaceWorkersUpdated says that they wait.
func (o nodes) configs() *finding {
	if err := o.Cluster.NodeConfigs.Err; err != nil {
		return unseen(fmt.Sprintf("Could not list the configurations of the node agents: %v", err))
	}
	wanted := map[string]string{}
	for _, s := range o.Cluster.NodeConfigs.Items {
		wanted[s.Name] = s.Annotations[constants.ChecksumNodeConfig]
	}
	for _, n := range o.watched {
		checksum := wanted[n.Labels[constants.NodeAgentSecretName]]
		if checksum == "" || o.waitsInPlace(n.Labels[constants.WorkerPool]) {
			continue
		}
		if n.Annotations[constants.ChecksumAppliedNodeConfig] != checksum {
			return failure("OperatingSystemConfigOutdated",
				fmt.Sprintf("The last successfully applied operating system config on node %q is outdated", n.Name))
		}
	}
	return nil
}

func (o nodes) waitsInPlace(pool string) bool {
	updates := o.Shoot.Status.InPlaceUpdates
	if updates == nil || updates.PendingWorkerUpdates == nil {
		return false
	}
	pending := updates.PendingWorkerUpdates
	return slices.Contains(pending.AutoInPlaceUpdate, pool) || slices.Contains(pending.ManualInPlaceUpdate, pool)
}

func (o nodes) agents() *finding {
	if err := o.Cluster.NodeAgentLeases.Err; err != nil {
		return unseen(fmt.Sprintf("Could not list the leases of the node agents: %v", err))
	}
	leases := map[string]*coordinationv1.Lease{}
	for i, lease := range o.Cluster.NodeAgentLeases.Items {
		leases[lease.Name] = &o.Cluster.NodeAgentLeases.Items[i]
	}
	for _, n := range o.watched {
		if n.Annotations[notManaged] == "1" {
			continue
		}
		lease := leases[nodeAgentLeasePrefix+n.Name]
		if lease == nil {
			return failure("NodeAgentUnhealthy", fmt.Sprintf("The node agent is not running on node %q", n.Name))
		}
		if expired(lease, o.now) {
			return failure("NodeAgentUnhealthy", fmt.Sprintf("The node agent stopped running on node %q", n.Name))
		}
	}
	return nil
}

func systemdUnits(nodes []*corev1.Node) *finding {
	var unhealthy []string
	for _, n := range nodes {
		for _, c := range n.Status.Conditions {
			if c.Type == systemdUnitsReady && c.Status != corev1.ConditionTrue {
				unhealthy = append(unhealthy, fmt.Sprintf("node %q: %s", n.Name, c.Message))
			}
		}
	}
	if len(unhealthy) == 0 {
		return nil
	}
	return failure("SystemdUnitsNotReady", "Systemd units are not healthy on "+strings.Join(unhealthy, "; "))
}

func (o nodes) leases() *finding {
	leases := o.Cluster.NodeLeases
	if leases.Err != nil {
		return unseen(fmt.Sprintf("Could not list the leases of the nodes: %v", leases.Err))
	}
	if len(leases.Items) == 0 || len(o.watched) == 0 {
		return nil
	}
	names, count := o.names(), 0
	for _, lease := range leases.Items {
		if names[lease.Name] && expired(&lease, o.now) {
			count++
		}
	}
	if percent := 100 * count / len(leases.Items); percent >= expiredLeasesPercent {
		return failure("TooManyExpiredNodeLeases", fmt.Sprintf("%d%% of all leases in namespace %s are expired", percent,
			corev1.NamespaceNodeLease))
	}
	return nil
}

// names of those that are watched.
func (o nodes) names() map[string]bool {
	names := map[string]bool{}
	for _, n := range o.watched {
		names[n.Name] = true
	}
	return names
}

// HasLeases reports whether no Lease of a node or its agent has expired, and none is missing, as far as was seen.
func (c *Cluster) HasLeases(now time.Time) bool {
	valid := map[string]bool{}
	for _, lease := range slices.Concat(c.NodeLeases.Items, c.NodeAgentLeases.Items) {
		valid[lease.Name] = !expired(&lease, now)
	}
	return !slices.ContainsFunc(c.Nodes.Items, func(n corev1.Node) bool {
		return !valid[n.Name] || !valid[nodeAgentLeasePrefix+n.Name]
	})
}

func expired(lease *coordinationv1.Lease, now time.Time) bool {
	if lease.Spec.RenewTime == nil {
		return true
	}
	lasts := time.Duration(ptr.Deref(lease.Spec.LeaseDurationSeconds, 0)) * time.Second
	return lease.Spec.RenewTime.Add(lasts).Before(now)
}
