package embedded

import (
	"errors"

	"github.com/go-logr/logr"

	"github.com/transplant-sim/transplant/clusters/embedded/process"
	"github.com/transplant-sim/transplant/clusters/embedded/program"
	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
)

// DirVariable in the environment of every process of a landscape names its run directory.
const DirVariable = "TRANSPLANT_LANDSCAPE"

// launcher starts the processes of a landscape.
type launcher struct {
	runner *process.Runner
	dir    rundir.Dir
	log    logr.Logger
}

// start starts a child, writes it down, and logs when it ends although nobody asked.
func (l *launcher) start(spec process.Spec) (*process.Process, error) {
	spec.Env = append(spec.Env, DirVariable+"="+l.dir.Path)
	p, err := l.runner.Start(spec)
	if err != nil {
		return nil, err
	}
	if err := l.dir.Remember(p.Name(), p.ID()); err != nil {
		return nil, errors.Join(err, p.Kill())
	}
	go func() {
		<-p.Done()
		if !p.Asked() {
			l.log.Info("Process ended, nobody asked it to", "process", p.Name(), "pid", p.PID(), "result", p.Err(),
				"log", p.Spec().Log)
		}
	}()
	return p, nil
}

// nodeSpec is the command line of the process node.
func (c *Cluster) nodeSpec() process.Spec {
	keys := c.files.PKI()
	args := []string{
		"processnode",
		"--kubeconfig=" + c.files.Kubeconfig(program.Node),
		"--node-name=" + c.name,
		"--address=" + c.plan.Node.String(),
		"--port=10250",
		"--pod-cidr=" + c.plan.Pods.String(),
		"--service-cidr=" + c.plan.Services.String(),
		"--load-balancer-cidr=" + c.plan.LoadBalancers.String(),
		"--root-dir=" + c.files.Dir,
		"--serving-cert=" + keys.Certificate(program.NodeServing),
		"--serving-key=" + keys.Key(program.NodeServing),
		"--client-ca=" + keys.Certificate(program.ClusterCA),
	}
	for _, i := range ImageFolders(c.landscape) {
		args = append(args, "--image="+i)
	}
	return process.Spec{
		Name: c.name + "/" + NodeProgram, Path: c.landscape.options.Executable,
		Args: args, Env: program.Env(), Dir: c.files.Dir, Log: c.files.Log(NodeProgram),
	}
}

// WriteState writes landscape.json, once the landscape is ready. Whoever restarts processes through this package need
// not call it.
func (l *Landscape) WriteState() error {
	l.mutex.Lock()
	defer l.mutex.Unlock() // writers take turns, so that the last one has seen everything
	if l.ready.IsZero() {
		return nil
	}
	return l.dir.WriteState(l.state())
}

// State is what landscape.json says.
func (l *Landscape) State() rundir.State {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.state()
}

func (l *Landscape) state() rundir.State {
	state := rundir.State{
		Name: l.options.Name, Slot: int(l.claim.Slot), Supervisor: process.Self(),
		Ready: l.ready, Took: l.Took().Round(tick).String(),
		Processes: l.extras.states(),
	}
	for _, arrow := range l.links.Arrows() {
		state.Links = append(state.Links, rundir.LinkState(arrow))
	}
	for _, c := range l.clusters {
		state.Clusters = append(state.Clusters, c.state())
	}
	return state
}
