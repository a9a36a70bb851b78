package v1alpha1

// MachinesState is what a ShootState keeps of the machines, as JSON, compressed, under state
// (docs/specification/extensions.md#spec-3-7).
//
// Objects carry apiVersion and kind, name, namespace, labels and annotations, and their spec; their status is empty.
type MachinesState struct {
	// MachineDeployments has the state of each deployment, by name.
	MachineDeployments map[string]*MachineDeploymentState `json:"machineDeployments,omitempty"`
}

// MachineDeploymentState is the state of a deployment.
type MachineDeploymentState struct {
	// Replicas is the number of machines.
	Replicas int32 `json:"replicas,omitempty"`
	// MachineSets are the deployment's sets.
	MachineSets []MachineSet `json:"machineSets,omitempty"`
	// Machines are the deployment's machines.
	Machines []Machine `json:"machines,omitempty"`
}
