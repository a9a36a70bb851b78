package health

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
)

// scaling says what is going on while there are not as many nodes ready as machines are wanted
// (docs/specification/care.md#spec-5-4).
func (o nodes) scaling() *finding {
	if err := errors.Join(o.MachineDeployments.Err, o.Machines.Err); err != nil {
		return unseen(fmt.Sprintf("Could not list the machines: %v", err))
	}
	s := scale{machines: o.Machines.Items}
	for _, d := range o.MachineDeployments.Items {
		if d.DeletionTimestamp == nil {
			s.desired += int(d.Spec.Replicas)
		}
	}
	for _, m := range o.Machines.Items {
		if keptForInspection(&m) {
			s.desired--
		}
	}
	for _, n := range o.watched {
		if n.Annotations[notManaged] != "1" {
			s.nodes = append(s.nodes, n)
			if isReady(n) && !n.Spec.Unschedulable {
				s.ready++
			}
		}
	}
	return s.finding(rolling(o.MachineDeployments.Items))
}

func isReady(n *corev1.Node) bool {
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// rolling is whether machines are being replaced. While machines fail that is not the news.
func rolling(deployments []machinev1alpha1.MachineDeployment) bool {
	found := false
	for _, d := range deployments {
		if len(d.Status.FailedMachines) > 0 {
			return false
		}
		for _, c := range d.Status.Conditions {
			found = found || c.Type == "Progressing" && c.Status == metav1.ConditionTrue && c.Reason != "NewMachineSetAvailable"
		}
	}
	return found
}

type scale struct {
	nodes          []*corev1.Node
	machines       []machinev1alpha1.Machine
	ready, desired int
}

func (s scale) finding(rolling bool) *finding {
	registered := len(s.nodes)
	if s.ready < s.desired {
		// Enough nodes of which not all are ready are being replaced, or have lost touch.
		if rolling || registered >= s.desired {
			return failure("NodesRollOutScalingUp", s.up())
		}
		return failure("NodesScalingUp", s.up())
	}
	if registered > s.desired {
		if message := s.down(); message != "" {
			return failure("NodesScalingDown", message)
		}
	}
	return nil
}

// up says what is missing for enough nodes.
func (s scale) up() string {
	if len(s.machines) < s.desired {
		return fmt.Sprintf("Not enough machine objects created yet (%d/%d)", len(s.machines), s.desired)
	}
	pending, erroneous := 0, 0
	for _, m := range s.machines {
		switch m.Status.CurrentStatus.Phase {
		case machinev1alpha1.MachineRunning, machinev1alpha1.MachineAvailable:
		case machinev1alpha1.MachinePending, "":
			pending++
		default:
			erroneous++
		}
	}
	switch {
	case erroneous > 0:
		return machines(erroneous) + " erroneous"
	case pending > 0:
		return machines(pending) + " provisioning and should join the cluster soon"
	}
	return fmt.Sprintf("Not enough ready worker nodes registered in the cluster (%d/%d)", s.ready, s.desired)
}

// down says what keeps nodes that are too many; "" if none is.
func (s scale) down() string {
	byNode := map[string]*machinev1alpha1.Machine{}
	for i, m := range s.machines {
		byNode[m.Labels[machinev1alpha1.LabelNode]] = &s.machines[i]
	}
	draining := 0
	for _, n := range s.nodes {
		if !n.Spec.Unschedulable {
			continue
		}
		m := byNode[n.Name]
		switch {
		case m == nil:
			return fmt.Sprintf("Machine object for cordoned node %q not found", n.Name)
		case m.DeletionTimestamp == nil:
			return fmt.Sprintf("Cordoned node %q found but corresponding machine object does not have a deletion timestamp",
				n.Name)
		}
		draining++
	}
	switch {
	case len(s.nodes)-draining != s.desired:
		return fmt.Sprintf("Too many worker nodes are registered. Exceeding maximum desired machine count (%d/%d)",
			len(s.nodes), s.desired)
	case draining > 0:
		return machines(draining) +
			" waiting to be completely drained from pods. If this persists, check your pod disruption budgets and pending " +
			"finalizers. " +
			"Please note, that nodes that fail to be drained will be deleted automatically"
	}
	return ""
}

func machines(count int) string {
	if count == 1 {
		return "1 machine is"
	}
	return fmt.Sprintf("%d machines are", count)
}
