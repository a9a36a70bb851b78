package nodes

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/netip"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/transplant-sim/transplant/api/cloud"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/sim/nodes/real"
)

const (
	// managedLabel marks the nodes that kwok keeps alive. Taking it off makes a node fall silent.
	managedLabel = "kwok.x-k8s.io/node"
	managedValue = "fake"
	poolLabel    = "worker.gardener.cloud/pool"
)

// defaultCapacity is that of a machine whose user data names none.
func defaultCapacity() map[string]string {
	return map[string]string{"cpu": "4", "memory": "16Gi", "ephemeral-storage": "50Gi", "pods": "110"}
}

// node is the Node that the machine registers, as a kubelet would: not ready yet, tainted until the critical
// components are (docs/specification/nodes-and-seeds.md#spec-7-1).
func (m *machine) node() (*corev1.Node, error) {
	capacity := corev1.ResourceList{}
	wanted := defaultCapacity()
	maps.Copy(wanted, m.data.Capacity)
	for name, text := range wanted {
		quantity, err := resource.ParseQuantity(text)
		if err != nil {
			return nil, fmt.Errorf("parse the capacity %q of machine %q: %w", name, m.ID, err)
		}
		capacity[corev1.ResourceName(name)] = quantity
	}
	now := metav1.Now()
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: m.nodeName(), Labels: m.labels(), Annotations: m.annotations()},
		Spec:       corev1.NodeSpec{ProviderID: m.providerID(), Taints: m.taints()},
		Status: corev1.NodeStatus{
			Capacity:    capacity,
			Allocatable: capacity.DeepCopy(),
			Addresses: []corev1.NodeAddress{
				{Type: corev1.NodeInternalIP, Address: m.PrivateIP},
				{Type: corev1.NodeHostName, Address: m.nodeName()},
			},
			Conditions: []corev1.NodeCondition{{
				Type: corev1.NodeReady, Status: corev1.ConditionFalse, Reason: "KubeletNotReady", Message: "node is booting",
				LastHeartbeatTime: now, LastTransitionTime: now,
			}},
			NodeInfo: m.info(),
		},
	}, nil
}

// answeredAt has API servers find the kubelet of a node there. They prefer the address of type Hostname to all others.
func answeredAt(node *corev1.Node, kubelet netip.AddrPort) {
	if !kubelet.IsValid() {
		return
	}
	for i, a := range node.Status.Addresses {
		if a.Type == corev1.NodeHostName {
			node.Status.Addresses[i].Address = kubelet.Addr().String()
		}
	}
	node.Status.DaemonEndpoints.KubeletEndpoint.Port = int32(kubelet.Port())
}

// kubeletAt is where the kubelet of the machine answers: its own, or the one that stands for those of simulated nodes.
func (m *machine) kubeletAt(simulated netip.AddrPort) netip.AddrPort {
	if own, err := netip.ParseAddr(m.PrivateIP); err == nil && m.isReal() {
		return netip.AddrPortFrom(own, real.KubeletPort)
	}
	return simulated
}

func (m *machine) labels() map[string]string {
	labels := map[string]string{
		corev1.LabelHostname:           m.nodeName(),
		corev1.LabelOSStable:           "linux",
		corev1.LabelArchStable:         "amd64",
		corev1.LabelInstanceTypeStable: m.Type,
	}
	if m.Zone != "" {
		labels[corev1.LabelTopologyZone] = m.Zone
	}
	if m.data.Pool != "" {
		labels[poolLabel] = m.data.Pool
	}
	if m.data.AgentSecret != "" {
		labels[constants.NodeAgentSecretName] = m.data.AgentSecret
	}
	maps.Copy(labels, m.data.Labels)
	if !m.isReal() {
		labels[managedLabel] = managedValue
	}
	return labels
}

func (m *machine) annotations() map[string]string {
	annotations := map[string]string{controllerAttaches: "true"}
	if m.data.InPlace != "" {
		annotations[cloud.AnnotationInPlace] = m.data.InPlace
	}
	maps.Copy(annotations, m.data.Annotations)
	return annotations
}

func (m *machine) taints() []corev1.Taint {
	taints := []corev1.Taint{{Key: cloud.TaintCriticalComponentsNotReady, Effect: corev1.TaintEffectNoSchedule}}
	for _, t := range m.data.Taints {
		if t.Key != cloud.TaintCriticalComponentsNotReady {
			taints = append(taints, corev1.Taint{Key: t.Key, Value: t.Value, Effect: corev1.TaintEffect(t.Effect)})
		}
	}
	return taints
}

func (m *machine) info() corev1.NodeSystemInfo {
	return corev1.NodeSystemInfo{
		MachineID:               strings.TrimPrefix(m.ID, "m-"),
		SystemUUID:              uuidOf(m.ID),
		BootID:                  m.bootID(),
		KernelVersion:           "transplant",
		OSImage:                 m.Image,
		OperatingSystem:         "linux",
		Architecture:            "amd64",
		ContainerRuntimeVersion: m.runtime(),
		KubeletVersion:          m.data.KubeletVersion,
	}
}

func (m *machine) runtime() string {
	if m.isReal() {
		return "processnode://1"
	}
	return "kwok://0.8.0"
}

// bootID changes with every restart of the machine, and with nothing else.
func (m *machine) bootID() string { return uuidOf(fmt.Sprintf("%s boot %d", m.ID, m.Restarts)) }

// uuidOf is a text in the form of a UUID that always is the same for the same input.
func uuidOf(input string) string {
	sum := sha256.Sum256([]byte(input))
	text := hex.EncodeToString(sum[:16])
	return strings.Join([]string{text[:8], text[8:12], text[12:16], text[16:20], text[20:]}, "-")
}
