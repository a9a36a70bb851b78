// Package embedded runs a landscape on one machine: garden and seeds as child processes on loopback addresses of their
// own, without root and without containers (ARCHITECTURE.md#processes).
//
// The process that calls Start is the parent of everything and the end of everything: however it ends, nothing of the
// landscape survives it. The package applies no manifests and knows no actors; Options has hooks for that.
package embedded

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/transplant-sim/transplant/clusters"
	"github.com/transplant-sim/transplant/clusters/authorities"
	"github.com/transplant-sim/transplant/clusters/embedded/address"
	"github.com/transplant-sim/transplant/clusters/embedded/binary"
	"github.com/transplant-sim/transplant/clusters/embedded/process"
	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
	"github.com/transplant-sim/transplant/clusters/switchboard"
)

// Landscape is a running garden with its seeds.
type Landscape struct {
	options  Options
	dir      rundir.Dir
	lock     *rundir.Lock // nil where it is the caller's
	claim    *address.Claim
	keys     *authorities.Landscape
	binary   string
	images   []image
	runner   *process.Runner
	clusters clusters.Members[*Cluster]
	links    *switchboard.Board // from the keys on
	began    time.Time

	mutex    sync.Mutex
	extras   []*process.Process
	metrics  map[string]string // where extras serve theirs, by name
	ready    time.Time
	news     sync.Mutex // held while Progress is called
	stopOnce sync.Once
	stopErr  error
}

var _ clusters.Landscape = &Landscape{}

// tick is what durations are rounded to for people.
const tick = 10 * time.Millisecond

// stopTimeout bounds a stop, graceful or not.
const stopTimeout = 30 * time.Second

// Start brings a landscape up and returns when everything is ready. When it fails, whatever it has started is stopped
// again; logs stay in the run directory, which the error names.
func Start(ctx context.Context, options Options) (*Landscape, error) {
	if err := options.complete(); err != nil {
		return nil, err
	}
	dir, err := options.dir()
	if err != nil {
		return nil, err
	}
	l := &Landscape{options: options, dir: dir, metrics: map[string]string{}, began: time.Now()}
	if err := l.prepare(ctx); err != nil {
		return nil, errors.Join(err, l.release())
	}
	if err := l.run(ctx); err != nil {
		if full := dir.CheckFilled(); full != nil {
			err = fmt.Errorf("%w: %w", full, err) // before the cause in the logs of those who could not write
		}
		cleanup, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		return nil, errors.Join(fmt.Errorf("start the landscape %q (logs in %s): %w", options.Name, dir.Path, err),
			l.Stop(cleanup))
	}
	return l, nil
}

// prepare does everything that can fail before the first process is started.
func (l *Landscape) prepare(ctx context.Context) error {
	for _, step := range []func(context.Context) error{
		l.acquire, l.checkSpace, l.takeSlot, l.planClusters, l.ensureBinary, l.writeFiles,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (l *Landscape) acquire(context.Context) (err error) {
	if l.options.Lock != nil {
		return nil
	}
	var cleared bool
	if l.lock, cleared, err = l.dir.Acquire(); cleared {
		l.report(Cleared(l.dir))
	}
	return err
}

// Cleared is the news that a dead landscape has been cleared away.
func Cleared(dir rundir.Dir) Progress {
	return Progress{Subject: "run directory", What: "cleared what an earlier landscape left in " + dir.Path}
}

func (l *Landscape) checkSpace(context.Context) error { return l.dir.CheckSpace() }

// passedOver is the news that an earlier slot is not used, and why.
func passedOver(claim *address.Claim) Progress {
	reasons := strings.ReplaceAll(claim.Passed.Error(), "\n", "; ")
	return Progress{Subject: "addresses", What: fmt.Sprintf("slot %d is taken, for in an earlier one %s", claim.Slot,
		reasons)}
}

// takeSlot takes the slot that was asked for, or the first one in which every address is free.
func (l *Landscape) takeSlot(ctx context.Context) (err error) {
	if l.options.Slot == nil {
		if l.claim, err = address.Take(ctx, l.endpoints); err != nil {
			return err
		}
		if l.claim.Passed != nil {
			l.report(passedOver(l.claim))
		}
		return nil
	}
	if l.claim, err = address.TakeSlot(*l.options.Slot); err != nil {
		return err
	}
	endpoints, err := l.endpoints(l.claim.Slot)
	if err != nil {
		return err
	}
	if err := address.CheckFree(ctx, endpoints); err != nil {
		return fmt.Errorf("use the addresses of slot %d: %w: end it, choose another one with --slot, or leave that out "+
			"and the first that fits is taken", l.claim.Slot, err)
	}
	return nil
}

func (l *Landscape) names() []string { return append([]string{GardenName}, l.options.Seeds...) }

// endpoints are what the landscape is going to listen on in a slot.
func (l *Landscape) endpoints(slot address.Slot) ([]address.Endpoint, error) {
	all := []address.Endpoint{
		{Network: "tcp", AddrPort: slot.Cloud(), Purpose: "the cloud's API"},
		{Network: "tcp", AddrPort: slot.DNS(), Purpose: "the cloud's DNS"},
		{Network: "udp", AddrPort: slot.DNS(), Purpose: "the cloud's DNS"},
		{Network: "tcp", AddrPort: slot.CloudMetrics(), Purpose: "the cloud's metrics"},
		{Network: "tcp", AddrPort: slot.NodesMetrics(), Purpose: "the nodes' metrics"},
	}
	for n, name := range l.names() {
		plan, err := slot.Cluster(n)
		if err != nil {
			return nil, err
		}
		all = append(all, endpointsOf(name, plan)...)
	}
	return all, nil
}

func (l *Landscape) planClusters(context.Context) error {
	for n, name := range l.names() {
		plan, err := l.claim.Slot.Cluster(n)
		if err != nil {
			return err
		}
		role := clusters.Seed
		if n == 0 {
			role = clusters.Garden
		}
		l.clusters = append(l.clusters, newCluster(l, name, role, plan))
	}
	return nil
}

func (l *Landscape) ensureBinary(ctx context.Context) (err error) {
	if l.binary = l.options.Binary; l.binary != "" {
		return nil
	}
	l.binary, err = binary.Ensure(ctx, func(done, total int, what string) {
		l.report(Progress{Subject: "control-plane binary", What: what, Done: done, Total: total})
	})
	return err
}

func (l *Landscape) writeFiles(context.Context) (err error) {
	if l.keys, err = authorities.New(l.dir.Join("pki")); err != nil {
		return err
	}
	l.links = l.newLinks()
	for _, c := range l.clusters {
		c.files.Binary = l.binary
		if err := c.files.Write(); err != nil {
			return err
		}
	}
	if l.options.WithoutNodes {
		return nil
	}
	l.images, err = writeImages(l.dir, l.options.Executable, l.binary, l.options.Images)
	return err
}

// run starts the processes.
func (l *Landscape) run(ctx context.Context) error {
	l.runner = process.NewRunner()
	group, groupCtx := errgroup.WithContext(ctx)
	for _, c := range l.clusters {
		group.Go(func() error { return c.startPrograms(groupCtx) })
	}
	group.Go(func() error { return l.startExtras(groupCtx) })
	if err := group.Wait(); err != nil {
		return err
	}
	if l.options.AfterClusters != nil {
		if err := l.options.AfterClusters(ctx, l); err != nil {
			return err
		}
	}
	l.mutex.Lock()
	l.ready = time.Now()
	l.mutex.Unlock()
	return l.WriteState()
}

// Stop ends everything that belongs to the landscape, what depends on others first, and gives its addresses back. The
// run directory stays, until Remove. Only the first call does something.
func (l *Landscape) Stop(ctx context.Context) error {
	l.stopOnce.Do(func() {
		ctx, cancel := context.WithTimeout(ctx, stopTimeout)
		defer cancel()
		l.stopErr = errors.Join(l.stopProcesses(ctx), l.links.Close(), l.dir.MarkEnded(), l.release())
	})
	return l.stopErr
}

// graces are what the programs get between SIGTERM and SIGKILL. etcd and the API servers are worth waiting for.
const (
	shortGrace = 3 * time.Second
	longGrace  = 8 * time.Second
)

func (l *Landscape) stopProcesses(ctx context.Context) error {
	if l.runner == nil {
		return nil
	}
	var errs []error
	for _, phase := range []struct {
		grace time.Duration
		picks []*process.Process
	}{
		{shortGrace, append(l.extraProcesses(), l.processes(nodeProgram, schedulerProgram, controllerManagerProgram)...)},
		{longGrace, l.processes(apiServerProgram)},
		{longGrace, l.processes(etcdProgram)},
	} {
		var group errgroup.Group
		for _, p := range phase.picks {
			group.Go(func() error { return p.Stop(ctx, phase.grace) })
		}
		errs = append(errs, group.Wait())
	}
	return errors.Join(append(errs, l.runner.Close())...)
}

// release gives back what the landscape took: the slot, and the run directory.
func (l *Landscape) release() error {
	var errs []error
	if l.claim != nil {
		errs = append(errs, l.claim.Release())
	}
	if l.lock != nil {
		errs = append(errs, l.lock.Unlock())
	}
	return errors.Join(errs...)
}

// Name is the name of the landscape.
func (l *Landscape) Name() string { return l.options.Name }

// Dir is the run directory.
func (l *Landscape) Dir() rundir.Dir { return l.dir }

// Slot is the address plan.
func (l *Landscape) Slot() address.Slot { return l.claim.Slot }

// Cloud and DNS are where the simulated cloud is expected to listen.
func (l *Landscape) Cloud() netip.AddrPort { return l.claim.Slot.Cloud() }

// DNS is where the simulated cloud answers DNS.
func (l *Landscape) DNS() netip.AddrPort { return l.claim.Slot.DNS() }

// CloudAddresses says where the simulated cloud is expected: all that look for it are on this machine.
func (l *Landscape) CloudAddresses() clusters.CloudAddresses {
	api, dns := l.Cloud().String(), l.DNS().String()
	return clusters.CloudAddresses{ListenAPI: api, ListenDNS: dns, API: api, DNS: dns}
}

// MetricsAddress says where a companion is expected to serve /metrics.
func (l *Landscape) MetricsAddress(companion string) clusters.MetricsAddress {
	at := l.claim.Slot.CloudMetrics().String()
	if companion != CloudTarget {
		at = l.claim.Slot.NodesMetrics().String()
	}
	return clusters.MetricsAddress{Listen: at, Reach: at}
}

// Clusters lists the garden first, then the seeds in order.
func (l *Landscape) Clusters() []clusters.Cluster { return l.clusters.All() }

// Cluster finds a cluster by name.
func (l *Landscape) Cluster(name string) (clusters.Cluster, error) { return l.clusters.Find(name) }

// Took is the time from the call of Start until the landscape was ready.
func (l *Landscape) Took() time.Duration { return l.ready.Sub(l.began) }

func (l *Landscape) report(p Progress) {
	l.news.Lock()
	defer l.news.Unlock()
	l.options.Progress(p)
}

// ControlPlane is the path of the multi-call binary with etcd and the Kubernetes programs.
func (l *Landscape) ControlPlane() string { return l.binary }

// Networks are the address ranges of a cluster's pods and services.
func (l *Landscape) Networks(cluster string) (pods, services string, err error) {
	c, err := l.clusters.Find(cluster)
	if err != nil {
		return "", "", err
	}
	return c.plan.Pods.String(), c.plan.Services.String(), nil
}
