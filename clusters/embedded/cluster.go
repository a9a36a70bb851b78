package embedded

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/transplant-sim/transplant/clusters"
	"github.com/transplant-sim/transplant/clusters/atrest"
	"github.com/transplant-sim/transplant/clusters/embedded/address"
	"github.com/transplant-sim/transplant/clusters/embedded/process"
	"github.com/transplant-sim/transplant/clusters/embedded/program"
	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
	"github.com/transplant-sim/transplant/clusters/ready"
)

// The programs of a cluster, by the names that Kill, Revive and the log files use.
const (
	etcdProgram              = "etcd"
	apiServerProgram         = "kube-apiserver"
	controllerManagerProgram = "kube-controller-manager"
	schedulerProgram         = "kube-scheduler"
)

// servesAPI says of a program of a cluster that its API is not there without it.
func servesAPI(name string) bool { return name == etcdProgram || name == apiServerProgram }

// NodeProgram runs the pods of a cluster.
const NodeProgram = "processnode"

// readyTimeout bounds the start of one cluster on a machine with all cores busy.
const readyTimeout = 2 * time.Minute

// Cluster is a garden or a seed as child processes of the supervisor.
type Cluster struct {
	name      string
	role      clusters.Role
	plan      address.Cluster
	files     program.Cluster
	landscape *Landscape
	api       api

	mutex     sync.Mutex // guards what follows; never held while waiting
	processes map[string]*process.Process
	frozen    map[string][]process.ID // below each frozen process
	// frozenMachines are the processes on machines that Freeze has stopped, parents first.
	frozenMachines []process.ID
	outage         rundir.Outage
	attached       []attachment // what has its fate

	abilities sync.Mutex // one of Lose, Return, Freeze, Thaw, Kill, Revive at a time
}

var _ clusters.Cluster = &Cluster{}

func newCluster(l *Landscape, name string, role clusters.Role, plan address.Cluster) *Cluster {
	c := &Cluster{name: name, role: role, plan: plan, landscape: l, processes: map[string]*process.Process{}}
	c.files = program.Cluster{
		Name: name, Dir: l.dir.Join("clusters", name), Address: plan.Node, Services: plan.Services,
		Encrypted: atrest.Resources(role),
	}
	c.api = api{files: c.files, services: plan.Services, Hosted: l.options.Hosted[name]}
	return c
}

// Name is "garden" or the seed's name.
func (c *Cluster) Name() string { return c.name }

// Role is what the cluster is to the landscape.
func (c *Cluster) Role() clusters.Role { return c.role }

// Plan has the cluster's addresses.
func (c *Cluster) Plan() address.Cluster { return c.plan }

// Files has the paths and URLs of the cluster, for those who look at its etcd or its logs.
func (c *Cluster) Files() program.Cluster { return c.files }

// Connect returns the configuration of the observer, or of an actor whose kubeconfig is in the run directory.
func (c *Cluster) Connect(actor string) (*rest.Config, error) {
	path := c.landscape.dir.Kubeconfig(actor, c.name)
	if actor == clusters.Observer {
		path = c.files.Kubeconfig(program.Admin)
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		return nil, fmt.Errorf("connect actor %q to cluster %q: %w", actor, c.name, err)
	}
	config.QPS = -1 // limits are the API server's business
	return config, nil
}

// endpointsOf a cluster are what its own programs listen on.
func endpointsOf(name string, plan address.Cluster) []address.Endpoint {
	var all []address.Endpoint
	for _, e := range []struct {
		port    uint16
		program string
	}{
		{program.EtcdPort, etcdProgram}, {program.EtcdPeerPort, etcdProgram},
		{program.APIServerPort, apiServerProgram}, {program.NodePort, NodeProgram},
	} {
		all = append(all, address.Endpoint{
			Network: "tcp", AddrPort: netip.AddrPortFrom(plan.Node, e.port),
			Purpose: fmt.Sprintf("%s of cluster %q", e.program, name),
		})
	}
	return all
}

// serve starts etcd and the API server, and waits until the landscape's own users are served. Those of a hosted cluster
// are the business of its host.
func (c *Cluster) serve(ctx context.Context) error {
	if err := c.launch(attachedTo(c)...); err != nil || c.api.Host != "" {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	observer, err := c.Connect(clusters.Observer)
	if err == nil {
		err = c.launch(slices.DeleteFunc(c.programs(), func(name string) bool { return !servesAPI(name) })...)
	}
	if err == nil {
		err = program.AwaitServing(ctx, observer, processesOf([]*Cluster{c}, servesAPI)...)
	}
	if err != nil {
		return c.explain(err)
	}
	_ = ready.Kinds(ctx, observer) // of a cluster that returns; whoever needs a kind that is not ready asks again
	return nil
}

// settle starts what else does not run, the node only if that is wanted, and waits until the cluster is ready. The node
// can start as soon as the API server serves. The others wait until it is ready: kube-controller-manager polls only
// once a second, and the scheduler needs its role.
func (c *Cluster) settle(ctx context.Context, withNode bool) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	isNode := func(name string) bool { return name == NodeProgram }
	observer, err := c.Connect(clusters.Observer)
	if err == nil && withNode && slices.ContainsFunc(c.programs(), isNode) {
		err = c.launch(NodeProgram)
	}
	if err == nil && c.api.Host == "" {
		err = program.AwaitReady(ctx, observer, processesOf([]*Cluster{c}, servesAPI)...)
	}
	if err == nil {
		err = c.launch(slices.DeleteFunc(c.programs(), isNode)...)
	}
	if err == nil {
		err = c.awaitSettled(ctx, observer)
	}
	if err != nil {
		return c.explain(err)
	}
	c.landscape.options.Progress(Progress{Subject: c.name, What: "ready"})
	return nil
}

// programs lists the programs in the order of start.
func (c *Cluster) programs() []string {
	all := attachedTo(c)
	if c.api.Host == "" && len(c.files.Members) == 0 {
		all = append(all, etcdProgram)
	}
	if c.api.Host == "" {
		all = append(all, apiServerProgram, controllerManagerProgram, schedulerProgram)
	}
	if !hasNode(c) {
		return all
	}
	return append(all, NodeProgram)
}

// spec of a program. The caller holds the mutex.
func (c *Cluster) spec(name string) process.Spec {
	switch name {
	case etcdProgram:
		return c.files.Etcd()
	case apiServerProgram:
		return c.files.APIServer()
	case controllerManagerProgram:
		return c.files.ControllerManager()
	case schedulerProgram:
		return c.files.Scheduler()
	}
	for _, a := range c.attached {
		if a.name == name {
			return a.spec
		}
	}
	return c.nodeSpec()
}

// launch starts those of the programs that do not run.
func (c *Cluster) launch(names ...string) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for _, name := range names {
		if p := c.processes[name]; p != nil && p.Running() {
			continue
		}
		p, err := c.landscape.launcher.start(c.spec(name))
		if err != nil {
			return err
		}
		c.processes[name] = p
	}
	return nil
}

// process finds a program's process, nil when it was never started.
func (c *Cluster) process(name string) *process.Process {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.processes[name]
}

// all lists the processes in the order of start, those that have ended included.
func (c *Cluster) all() []*process.Process {
	var all []*process.Process
	for _, name := range c.programs() {
		if p := c.process(name); p != nil {
			all = append(all, p)
		}
	}
	return all
}

func (c *Cluster) state() rundir.ClusterState {
	state := rundir.ClusterState{
		Name: c.name, Role: string(c.role), URL: c.api.url(),
		Pods: c.plan.Pods.String(), Services: c.plan.Services.String(), LoadBalancers: c.plan.LoadBalancers.String(),
		Kubeconfig: c.files.Kubeconfig(program.Admin), Outage: c.Outage(),
	}
	for _, p := range c.all() {
		state.Processes = append(state.Processes, rundir.ProcessState{Name: p.Name(), ID: p.ID(), Log: p.Spec().Log})
	}
	return state
}

// explainBytes of the end of a log are shown with an error.
const explainBytes = 2048

// explain adds the end of the logs of the programs that have died, which is where the cause is.
func (c *Cluster) explain(err error) error {
	for _, p := range c.all() {
		if p.Running() {
			continue
		}
		err = fmt.Errorf("%w%s", err, endOfLog(p))
	}
	return err
}

// endOfLog of a process, as a part of an error.
func endOfLog(p *process.Process) string {
	older, _ := os.ReadFile(process.Older(p.Spec().Log))
	content, _ := os.ReadFile(p.Spec().Log)
	content = append(older, content...)
	tail := strings.TrimSpace(string(content[max(0, len(content)-explainBytes):]))
	return fmt.Sprintf("\nthe log of %s ends with:\n%s", p.Name(), tail)
}

// processesOf clusters are those of the programs that are picked.
func processesOf(all []*Cluster, picks func(program string) bool) []*process.Process {
	var found []*process.Process
	for _, c := range all {
		for _, name := range c.programs() {
			if p := c.process(name); p != nil && picks(name) {
				found = append(found, p)
			}
		}
	}
	return found
}
