package kind

import (
	"context"

	"github.com/transplant-sim/transplant/clusters/embedded/process"
	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
	"github.com/transplant-sim/transplant/clusters/kind/docker"
)

// State is what landscape.json says. The processes are the first ones of the containers, as this machine knows them.
func (l *Landscape) State() rundir.State {
	state := rundir.State{
		Name: l.options.Name, Backend: rundir.Kind, Slot: -1, Supervisor: process.Self(), Ready: l.ready,
		Took: l.Took().Round(tick).String(),
	}
	for _, c := range l.clusters {
		state.Clusters = append(state.Clusters, rundir.ClusterState{
			Name: c.name, Role: string(c.role), URL: c.URL(), Kubeconfig: c.Kubeconfig(),
			Pods: podNetwork, Services: serviceNetwork, Processes: processOf("node", c.Node()), Outage: c.Outage(),
		})
	}
	for _, name := range Companions {
		state.Processes = append(state.Processes, processOf(name, l.companions.containerName(name))...)
	}
	if l.links != nil {
		for _, arrow := range l.links.Arrows() {
			state.Links = append(state.Links, rundir.LinkState(arrow))
		}
	}
	return state
}

// WriteState writes landscape.json, once the landscape is ready.
func (l *Landscape) WriteState() error {
	l.written.Lock()
	defer l.written.Unlock() // writers take turns, so that the last one has seen everything
	if l.ready.IsZero() {
		return nil
	}
	return l.dir.WriteState(l.State())
}

// processOf is a container's first one; none where the container does not run.
func processOf(name, container string) []rundir.ProcessState {
	ctx, cancel := context.WithTimeout(context.Background(), lookTimeout)
	defer cancel()
	first, err := docker.PIDs(ctx, container)
	if err != nil || len(first) == 0 {
		return nil
	}
	id, err := process.Find(first[0])
	if err != nil {
		return nil
	}
	return []rundir.ProcessState{{Name: name, ID: id}}
}
