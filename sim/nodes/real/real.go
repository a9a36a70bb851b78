// Package real runs pods on the machines of a shoot: a process for each machine, which does what a kubelet does there,
// and what the nodes of the shoot have in common. The Nodes are not its own: whoever boots the machines registers them.
//
// A shoot has a slice of the loopback addresses of this machine. Its nodes, pods and Services reach each other there,
// whatever node they are on.
package real

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	"k8s.io/utils/clock"

	"github.com/transplant-sim/transplant/clusters/embedded/address"
	"github.com/transplant-sim/transplant/clusters/embedded/process"
	"github.com/transplant-sim/transplant/clusters/embedded/program"
	"github.com/transplant-sim/transplant/clusters/link/forward"
	"github.com/transplant-sim/transplant/clusters/switchboard"
)

// Options are what the nodes of all shoots need that run pods.
type Options struct {
	Networks   map[string]address.Cluster // of the shoots, by their technical ids
	Resolve    forward.ResolveFunc        // finds the gateways of their API servers
	Executable string                     // transplant, which nodes run
	Images     []string                   // NAME=DIR, as the flag --image of a process node

	// LoadBalancers are the addresses that load balancers of the cloud have. Those of the shoots' Services lead to pods.
	LoadBalancers netip.Prefix
	// Root has the disks of the machines, and the volumes of the cloud.
	Root string

	dnsServer string
}

// AddFlags adds the flags of a program.
func (o *Options) AddFlags(set *pflag.FlagSet) {
	o.Networks = networks{}
	set.Var(networks(o.Networks), "pods-run", "technical id of a shoot whose nodes run pods, and the /16 of 127.0.0.0/8 "+
		"for its nodes, pods and Services; may be repeated")
	set.TextVar(&o.LoadBalancers, "load-balancers", o.LoadBalancers, "range of the addresses of the cloud's load "+
		"balancers, in 127.0.0.0/8; those of nodes that run pods lead to these")
	set.StringVar(&o.dnsServer, "dns-server", "", "HOST:PORT of the DNS server by which nodes that run pods find gateways")
	set.StringArrayVar(&o.Images, "image", nil,
		"an image for nodes that run pods, and the folder of its programs, as NAME=DIR; may be repeated")
}

// Volumes of the cloud.
func (o Options) Volumes() Volumes { return Volumes(filepath.Join(o.Root, program.VolumesFolder)) }

// Complete makes what follows from the flags. Folders of its own are below root.
func (o *Options) Complete(root string) (err error) {
	o.Root = root
	if len(o.Networks) == 0 {
		return nil
	}
	if o.dnsServer == "" {
		return errors.New("--pods-run needs --dns-server")
	}
	o.Resolve = switchboard.AskDNS(o.dnsServer)
	if o.Executable, err = os.Executable(); err != nil {
		return fmt.Errorf("find this program, which nodes run: %w", err)
	}
	o.Images, err = withStandIns(root, o.Images)
	return err
}

// networks is the flag SHOOT=RANGE.
type networks map[string]address.Cluster

func (n networks) String() string { return "" }

func (n networks) Type() string { return "SHOOT=RANGE" }

func (n networks) Set(text string) error {
	shoot, given, ok := strings.Cut(text, "=")
	prefix, err := netip.ParsePrefix(given)
	if !ok || shoot == "" || err != nil {
		return errors.Join(fmt.Errorf("%q is not SHOOT=RANGE", text), err)
	}
	n[shoot], err = address.In(prefix)
	return err
}

// Machine is one that has booted.
type Machine struct {
	ID      string
	Node    string // the name of its Node
	Address string
	Boot    string // differs after each boot
	Disk    string // the folder that stands for it
	// ClientCA vouches for those who may use the kubelet's API.
	ClientCA []byte
}

// Access is how the nodes of a shoot reach its API server.
type Access struct {
	Server     string // its URL
	Kubeconfig string
}

// Shoot is what runs for the nodes of one shoot. But for Power and Runs, it is used from one goroutine.
type Shoot struct {
	kubelets kubelets
	network  network
}

// NewShoot makes what runs nothing yet; nil for a shoot whose nodes have no addresses for pods. Logs are in a folder.
func NewShoot(name string, o Options, runner *process.Runner, logs string, clock clock.Clock, log logr.Logger) *Shoot {
	plan, known := o.Networks[name]
	if !known {
		return nil
	}
	return &Shoot{
		kubelets: kubelets{options: o, plan: plan, runner: runner, shoot: name, logs: logs, running: map[string]*kubelet{}},
		network:  network{plan: plan, balancers: o.LoadBalancers, resolve: o.Resolve, clock: clock, log: log},
	}
}

// Keep has pods run on these machines and on no others. A machine that has booted anew, or is gone, takes all that ran
// on it along at once. Kubelets keep the access that they were started with, as they keep what they have read.
func (s *Shoot) Keep(machines []Machine, access Access) error {
	if len(machines) == 0 {
		return s.Stop()
	}
	err := s.network.keep(access)
	switch s.Power() {
	case program.PowerFrozen:
		return err
	case program.PowerOff:
		machines = nil
	}
	return errors.Join(err, s.kubelets.keep(machines, access))
}

// Power that the machines of the shoot have.
func (s *Shoot) Power() program.Power {
	return program.PowerOf(s.kubelets.options.Root, s.kubelets.plan.Range())
}

// Runs says whether pods run on a machine, or may do so.
func (s *Shoot) Runs(machine string) bool {
	p, started := s.kubelets.started.Load(machine)
	return started && p.(*process.Process).Running()
}

// Stop ends everything at once, as machines end that lose their power.
func (s *Shoot) Stop() error { return errors.Join(s.kubelets.stop(), s.network.stop()) }
