// Package nodestatus keeps the Node of a process node: it registers it, renews its lease, and says that it is ready. It
// knows nothing of pods.
package nodestatus

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"
)

const (
	// heartbeat is how often the node's lease is renewed, and how soon a failed write of its status is repeated.
	heartbeat = 10 * time.Second
	// statusPeriod is how often the node's status is written although nothing changes.
	statusPeriod = 5 * time.Minute
	// writeTimeout bounds one write to the API server.
	writeTimeout = 10 * time.Second
)

// Node is a node as its Node object shows it.
type Node struct {
	Client   kubernetes.Interface
	Clock    clock.WithDelayedExecution
	Log      logr.Logger
	Name     string
	Address  netip.Addr
	Port     uint16 // of the kubelet's API
	Capacity corev1.ResourceList
	Version  string // of the API server, and so of this node
	// Others register the Node and say what it is; here only its address and conditions are kept.
	Others bool
}

// Register creates the Node, or takes up the one of an earlier life, and says that it is ready. If others register it,
// a Node that is not there yet is an error.
func (n *Node) Register(ctx context.Context) error {
	if !n.Others {
		if err := n.create(ctx); err != nil {
			return err
		}
	}
	if err := n.writeNodeStatus(ctx); err != nil {
		return err
	}
	return n.untaint(ctx)
}

func (n *Node) create(ctx context.Context) error {
	labels := map[string]string{
		corev1.LabelHostname: n.Name, corev1.LabelOSStable: runtime.GOOS, corev1.LabelArchStable: runtime.GOARCH,
	}
	wanted := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: labels}}
	_, err := n.Client.CoreV1().Nodes().Create(ctx, wanted, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		patch, merr := json.Marshal(map[string]any{"metadata": map[string]any{"labels": labels}})
		if merr != nil {
			return fmt.Errorf("encode the node's labels: %w", merr)
		}
		_, err = n.Client.CoreV1().Nodes().Patch(ctx, n.Name, types.MergePatchType, patch,
			metav1.PatchOptions{})
	}
	if err != nil {
		return fmt.Errorf("register the node %q: %w", n.Name, err)
	}
	return nil
}

// writeNodeStatus says that the node is well.
func (n *Node) writeNodeStatus(ctx context.Context) error {
	current, err := n.Client.CoreV1().Nodes().Get(ctx, n.Name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read the node %q: %w", n.Name, err)
	}
	whole := n.nodeStatus(current, metav1.NewTime(n.Clock.Now()))
	status := any(whole)
	if n.Others {
		status = map[string]any{"addresses": whole.Addresses, "conditions": whole.Conditions,
			"daemonEndpoints": whole.DaemonEndpoints}
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": current.UID}, "status": status})
	if err != nil {
		return fmt.Errorf("encode the node's status: %w", err)
	}
	_, err = n.Client.CoreV1().Nodes().Patch(ctx, n.Name, types.StrategicMergePatchType, patch,
		metav1.PatchOptions{}, "status")
	if err != nil {
		return fmt.Errorf("write the status of the node %q: %w", n.Name, err)
	}
	return nil
}

func (n *Node) nodeStatus(current *corev1.Node, now metav1.Time) corev1.NodeStatus {
	address := n.Address.String()
	return corev1.NodeStatus{
		Capacity:    n.Capacity,
		Allocatable: n.Capacity,
		Addresses: []corev1.NodeAddress{
			{Type: corev1.NodeInternalIP, Address: address},
			{Type: corev1.NodeHostName, Address: address}, // no resolver knows the node's name
		},
		DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: int32(n.Port)}},
		NodeInfo:        n.nodeInfo(),
		Conditions: []corev1.NodeCondition{
			nodeCondition(current, now, corev1.NodeMemoryPressure, corev1.ConditionFalse, "ProcessNodeHasSufficientMemory"),
			nodeCondition(current, now, corev1.NodeDiskPressure, corev1.ConditionFalse, "ProcessNodeHasNoDiskPressure"),
			nodeCondition(current, now, corev1.NodePIDPressure, corev1.ConditionFalse, "ProcessNodeHasSufficientPID"),
			nodeCondition(current, now, corev1.NodeReady, corev1.ConditionTrue, "ProcessNodeReady"),
		},
	}
}

func (n *Node) nodeInfo() corev1.NodeSystemInfo {
	info := corev1.NodeSystemInfo{
		OperatingSystem: runtime.GOOS, Architecture: runtime.GOARCH, OSImage: "host of the process node",
		ContainerRuntimeVersion: "processnode://1", KubeletVersion: n.Version, MachineID: n.Name,
		SystemUUID: n.Name,
	}
	for field, path := range map[*string]string{&info.BootID: "boot_id", &info.KernelVersion: "../osrelease"} {
		if content, err := os.ReadFile("/proc/sys/kernel/random/" + path); err == nil {
			*field = strings.TrimSpace(string(content))
		}
	}
	return info
}

func nodeCondition(current *corev1.Node, now metav1.Time, kind corev1.NodeConditionType, status corev1.ConditionStatus,
	reason string) corev1.NodeCondition {
	condition := corev1.NodeCondition{Type: kind, Status: status, Reason: reason, Message: reason, LastHeartbeatTime: now,
		LastTransitionTime: now}
	for _, old := range current.Status.Conditions {
		if old.Type == kind && old.Status == status {
			condition.LastTransitionTime = old.LastTransitionTime
		}
	}
	return condition
}

// untaint takes off the taint that admission puts on new nodes, for clusters that run no node lifecycle controller.
func (n *Node) untaint(ctx context.Context) error {
	current, err := n.Client.CoreV1().Nodes().Get(ctx, n.Name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read the node %q: %w", n.Name, err)
	}
	taints := slices.DeleteFunc(slices.Clone(current.Spec.Taints), func(t corev1.Taint) bool {
		return t.Key == corev1.TaintNodeNotReady || t.Key == corev1.TaintNodeUnreachable
	})
	if len(taints) == len(current.Spec.Taints) {
		return nil
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": current.ResourceVersion}, "spec": map[string]any{"taints": taints},
	})
	if err != nil {
		return fmt.Errorf("encode the node's taints: %w", err)
	}
	_, err = n.Client.CoreV1().Nodes().Patch(ctx, n.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil && !apierrors.IsConflict(err) { // the controller was quicker
		return fmt.Errorf("take the taints off the node %q: %w", n.Name, err)
	}
	return nil
}

// KeepStatus writes the node's status again from time to time, until ctx is done.
func (n *Node) KeepStatus(ctx context.Context) {
	wait := statusPeriod
	for {
		timer := n.Clock.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C():
		}
		wait = statusPeriod
		limited, cancel := context.WithTimeout(ctx, writeTimeout)
		err := n.writeNodeStatus(limited)
		if apierrors.IsNotFound(err) {
			err = n.Register(limited)
		}
		cancel()
		if err != nil {
			n.Log.Error(err, "Node status is not written")
			wait = heartbeat
		}
	}
}
