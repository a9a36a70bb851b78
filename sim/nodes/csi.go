package nodes

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// registration is the argument by which a pod of a CSI driver has the kubelet register the driver, with its folder.
	registration = "--kubelet-registration-path=/var/lib/kubelet/plugins/"
	// criticalLabel marks the pods that nodes wait for. Drivers of other pods are not registered: nobody asks for them.
	criticalLabel = "node.gardener.cloud/critical-component"
	// controllerAttaches says, as kubelets do, that volumes are attached by the shoot's controllers.
	controllerAttaches = "volumes.kubernetes.io/controller-managed-attach-detach"
)

// registerDrivers does for the ready pods of CSI drivers what a kubelet does: the drivers are in the CSINode of the
// node.
func (s *shoot) registerDrivers(ctx context.Context, machines []*machine, nodes map[string]*corev1.Node) error {
	// From the watch cache: a little old does not matter, being cheap does.
	pods, err := s.client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{ResourceVersion: "0",
		LabelSelector: criticalLabel + "=true"})
	if err != nil {
		return fmt.Errorf("list the pods that nodes wait for: %w", err)
	}
	wanted := map[string]map[string]bool{} // drivers by node
	for i := range pods.Items {
		for _, driver := range driversOf(&pods.Items[i]) {
			node := pods.Items[i].Spec.NodeName
			if wanted[node] == nil {
				wanted[node] = map[string]bool{}
			}
			wanted[node][driver] = true
		}
	}
	var errs []error
	for _, m := range machines {
		if node := nodes[m.nodeName()]; node != nil && len(wanted[node.Name]) > 0 {
			errs = append(errs, s.register(ctx, m, node, slices.Sorted(maps.Keys(wanted[node.Name]))))
		}
	}
	return errors.Join(errs...)
}

// driversOf are the drivers that a pod registers; none before it is ready.
func driversOf(pod *corev1.Pod) []string {
	isReady := slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
	if !isReady || pod.DeletionTimestamp != nil {
		return nil
	}
	var drivers []string
	for _, container := range pod.Spec.Containers {
		for _, argument := range slices.Concat(container.Command, container.Args) {
			if path, is := strings.CutPrefix(argument, registration); is {
				driver, _, _ := strings.Cut(path, "/")
				drivers = append(drivers, driver)
			}
		}
	}
	return drivers
}

// register adds the drivers that are missing in the node's CSINode. None is taken away: a kubelet does so only when the
// driver's socket has gone, and nothing here has one.
func (s *shoot) register(ctx context.Context, m *machine, node *corev1.Node, drivers []string) error {
	all := s.client.StorageV1().CSINodes()
	known, err := all.Get(ctx, node.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		known, err = all.Create(ctx, &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{
			Name: node.Name, OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: node.Name,
				UID: node.UID}},
		}}, metav1.CreateOptions{})
	}
	if err != nil {
		return fmt.Errorf("read the CSI drivers of node %q: %w", node.Name, err)
	}
	changed := false
	for _, driver := range drivers {
		if !slices.ContainsFunc(known.Spec.Drivers, func(d storagev1.CSINodeDriver) bool { return d.Name == driver }) {
			known.Spec.Drivers = append(known.Spec.Drivers, storagev1.CSINodeDriver{Name: driver, NodeID: m.ID,
				TopologyKeys: []string{corev1.LabelTopologyZone}})
			changed = true
		}
	}
	if !changed {
		return nil
	}
	if _, err := all.Update(ctx, known, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("register CSI drivers %v on node %q: %w", drivers, node.Name, err)
	}
	s.log.Info("CSI drivers registered", "node", node.Name, "drivers", drivers)
	return nil
}
