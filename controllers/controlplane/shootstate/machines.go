package shootstate

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
)

// machineState is the machine state on the wire (SPEC 3.7).
type machineState struct {
	MachineDeployments map[string]*deploymentState `json:"machineDeployments,omitempty"`
}

type deploymentState struct {
	Replicas    int32                        `json:"replicas,omitempty"`
	MachineSets []machinev1alpha1.MachineSet `json:"machineSets,omitempty"`
	Machines    []machinev1alpha1.Machine    `json:"machines,omitempty"`
}

// collectMachines captures the machine objects of a namespace: only machines for which there is something in the
// cloud, reduced to what a restore needs. It returns nil if there are none.
func collectMachines(ctx context.Context, seed client.Reader, namespace string) (*runtime.RawExtension, error) {
	deployments, sets, machines := &machinev1alpha1.MachineDeploymentList{}, &machinev1alpha1.MachineSetList{}, &machinev1alpha1.MachineList{}
	for _, list := range []client.ObjectList{deployments, sets, machines} {
		if err := seed.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return nil, fmt.Errorf("list %T in %q: %w", list, namespace, err)
		}
	}
	captured := capture(deployments.Items, sets.Items, machines.Items)
	if len(captured.MachineDeployments) == 0 {
		return nil, nil
	}
	raw, err := compactJSON(captured)
	if err != nil {
		return nil, err
	}
	return &runtime.RawExtension{Raw: raw}, nil
}

func capture(deployments []machinev1alpha1.MachineDeployment, sets []machinev1alpha1.MachineSet, machines []machinev1alpha1.Machine) machineState {
	slices.SortFunc(sets, func(a, b machinev1alpha1.MachineSet) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(machines, func(a, b machinev1alpha1.Machine) int { return strings.Compare(a.Name, b.Name) })
	captured := machineState{MachineDeployments: map[string]*deploymentState{}}
	byUID := map[types.UID]*deploymentState{}
	for _, deployment := range deployments {
		byUID[deployment.UID] = &deploymentState{Replicas: deployment.Spec.Replicas}
	}
	for _, set := range sets {
		owner := ownerAmong(set.OwnerReferences, byUID)
		if owner == nil {
			continue
		}
		byUID[set.UID] = owner
		set.ObjectMeta, set.Status = reduced(set.ObjectMeta), machinev1alpha1.MachineSetStatus{}
		owner.MachineSets = append(owner.MachineSets, set)
	}
	for _, machine := range machines {
		owner := ownerAmong(machine.OwnerReferences, byUID)
		if owner == nil || (machine.Labels[machinev1alpha1.LabelNode] == "" && machine.Spec.ProviderID == "") {
			continue
		}
		machine.ObjectMeta, machine.Status = reduced(machine.ObjectMeta), machinev1alpha1.MachineStatus{}
		owner.Machines = append(owner.Machines, machine)
	}
	for _, deployment := range deployments {
		if state := byUID[deployment.UID]; len(state.MachineSets) > 0 {
			captured.MachineDeployments[deployment.Name] = state
		}
	}
	return captured
}

func ownerAmong(references []metav1.OwnerReference, owners map[types.UID]*deploymentState) *deploymentState {
	for _, reference := range references {
		if owner, found := owners[reference.UID]; found {
			return owner
		}
	}
	return nil
}

func reduced(meta metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: meta.Name, Namespace: meta.Namespace, Annotations: meta.Annotations, Labels: meta.Labels}
}
