package shootstate

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
)

// machineState is the machine state on the wire (docs/specification/extensions.md#spec-3-7).
type machineState struct {
	MachineDeployments map[string]*deploymentState `json:"machineDeployments,omitempty"`
}

type deploymentState struct {
	Replicas    int64            `json:"replicas,omitempty"`
	MachineSets []map[string]any `json:"machineSets,omitempty"`
	Machines    []map[string]any `json:"machines,omitempty"`
	// MachineClasses are those of the sets and machines, with their Secrets. They are ours:
	// docs/specification/README.md#s0 wants them, docs/specification/extensions.md#spec-3-7 has none.
	MachineClasses []map[string]any `json:"machineClasses,omitempty"`
}

// CollectMachines captures the machine objects of a namespace: only machines for which there is something in the
// cloud, reduced to what a restore needs. It returns nil if there are none. Objects are read raw, so that fields which
// our types do not model move too.
func CollectMachines(ctx context.Context, seed client.Reader, namespace string) (*runtime.RawExtension, error) {
	var lists [3][]unstructured.Unstructured
	for i, kind := range []string{"MachineDeployment", "MachineSet", "Machine"} {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(machinev1alpha1.SchemeGroupVersion.WithKind(kind + "List"))
		if err := seed.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return nil, fmt.Errorf("list %ss in %q: %w", kind, namespace, err)
		}
		lists[i] = list.Items
	}
	captured := capture(lists[0], lists[1], lists[2])
	if len(captured.MachineDeployments) == 0 {
		return nil, nil
	}
	if err := captured.addClasses(ctx, seed, namespace); err != nil {
		return nil, err
	}
	raw, err := compactJSON(captured)
	if err != nil {
		return nil, err
	}
	return &runtime.RawExtension{Raw: raw}, nil
}

func capture(deployments, sets, machines []unstructured.Unstructured) machineState {
	byName := func(a, b unstructured.Unstructured) int { return strings.Compare(a.GetName(), b.GetName()) }
	slices.SortFunc(sets, byName)
	slices.SortFunc(machines, byName)
	captured := machineState{MachineDeployments: map[string]*deploymentState{}}
	byUID := map[types.UID]*deploymentState{}
	for _, deployment := range deployments {
		replicas, _, _ := unstructured.NestedInt64(deployment.Object, "spec", "replicas") // a number, by its schema
		byUID[deployment.GetUID()] = &deploymentState{Replicas: replicas}
	}
	for _, set := range sets {
		owner := ownerAmong(set.GetOwnerReferences(), byUID)
		if owner == nil {
			continue
		}
		byUID[set.GetUID()] = owner
		owner.MachineSets = append(owner.MachineSets, reduced(&set))
	}
	for _, machine := range machines {
		owner := ownerAmong(machine.GetOwnerReferences(), byUID)
		providerID, _, _ := unstructured.NestedString(machine.Object, "spec", "providerID") // a text, by its schema
		if owner == nil || (machine.GetLabels()[machinev1alpha1.LabelNode] == "" && providerID == "") {
			continue
		}
		owner.Machines = append(owner.Machines, reduced(&machine))
	}
	for _, deployment := range deployments {
		if state := byUID[deployment.GetUID()]; len(state.MachineSets) > 0 {
			captured.MachineDeployments[deployment.GetName()] = state
		}
	}
	return captured
}

// unremoved is what is there of the machines, with the deployments of before that are not: who was removing them may
// have died after some. All of them go before the first of their machines does.
func unremoved(before, there *runtime.RawExtension) (*runtime.RawExtension, error) {
	if before == nil || there == nil {
		return there, nil
	}
	var all, left struct {
		MachineDeployments map[string]json.RawMessage `json:"machineDeployments,omitempty"`
	}
	for _, err := range []error{json.Unmarshal(before.Raw, &all), json.Unmarshal(there.Raw, &left)} {
		if err != nil {
			return nil, fmt.Errorf("read the machine state: %w", err)
		}
	}
	if all.MachineDeployments == nil {
		return there, nil
	}
	maps.Copy(all.MachineDeployments, left.MachineDeployments)
	raw, err := compactJSON(all)
	if err != nil {
		return nil, err
	}
	return &runtime.RawExtension{Raw: raw}, nil
}

func ownerAmong(references []metav1.OwnerReference, owners map[types.UID]*deploymentState) *deploymentState {
	for _, reference := range references {
		if owner, found := owners[reference.UID]; found {
			return owner
		}
	}
	return nil
}

// reduced leaves out what the next seed makes anew.
func reduced(object *unstructured.Unstructured) map[string]any {
	clean := withoutSystemMetadata(object)
	clean.SetNamespace(object.GetNamespace())
	unstructured.RemoveNestedField(clean.Object, "status")
	return clean.Object
}
