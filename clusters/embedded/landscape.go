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
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/transplant-sim/transplant/clusters"
	"github.com/transplant-sim/transplant/clusters/authorities"
	"github.com/transplant-sim/transplant/clusters/embedded/address"
	"github.com/transplant-sim/transplant/clusters/embedded/binary"
	"github.com/transplant-sim/transplant/clusters/embedded/process"
	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
	"github.com/transplant-sim/transplant/clusters/link/forward"
	"github.com/transplant-sim/transplant/clusters/switchboard"
)

// Landscape is a running garden with its seeds.
type Landscape struct {
	clusters.Beside

	options  Options
	dir      rundir.Dir
	lock     *rundir.Lock // nil where it is the caller's
	claim    *address.Claim
	keys     *authorities.Landscape
	binary   string
	images   []image
	launcher *launcher // once processes are started
	extras   *Extras
	clusters clusters.Members[*Cluster]
	links    *switchboard.Board  // from the keys on
	resolve  forward.ResolveFunc // finds shoots, likewise
	began    time.Time

	mutex    sync.Mutex
	ready    time.Time
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
	l := &Landscape{options: options, dir: dir, began: time.Now()}
	l.extras = &Extras{landscape: l, metrics: map[string]string{}}
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
		l.options.Progress(Cleared(l.dir))
	}
	return err
}

// Cleared is the news that a dead landscape has been cleared away.
func Cleared(dir rundir.Dir) Progress {
	return Progress{Subject: "run directory", What: "cleared what an earlier landscape left in " + dir.Path}
}

func (l *Landscape) checkSpace(context.Context) error { return l.dir.CheckSpace() }

func (l *Landscape) takeSlot(ctx context.Context) (err error) {
	l.claim, err = l.options.takeSlot(ctx)
	return err
}

func (l *Landscape) planClusters(context.Context) error {
	for n, name := range l.options.names() {
		plan, err := l.claim.Slot.Cluster(n)
		if err != nil {
			return err
		}
		role := clusters.Seed
		if name == GardenName {
			role = clusters.Garden
		}
		l.clusters = append(l.clusters, newCluster(l, name, role, plan))
	}
	l.options.planMembers(l.clusters)
	return nil
}

func (l *Landscape) ensureBinary(ctx context.Context) (err error) {
	if l.binary = l.options.Binary; l.binary != "" {
		return nil
	}
	l.binary, err = binary.Ensure(ctx, func(done, total int, what string) {
		l.options.Progress(Progress{Subject: "control-plane binary", What: what, Done: done, Total: total})
	})
	return err
}

func (l *Landscape) writeFiles(ctx context.Context) (err error) {
	from := l.options.From
	if from != nil {
		if err := from.Restore(ctx, l.dir); err != nil {
			return err
		}
	}
	if l.keys, err = authorities.New(l.dir.Join("pki")); err != nil {
		return err
	}
	l.links = l.newLinks()
	for _, c := range l.clusters {
		c.files.Binary = l.binary
	}
	attachMembers(l.clusters)
	for _, c := range l.clusters {
		if from != nil {
			continue
		}
		write := c.files.Write
		if c.api.Host != "" {
			write = c.files.WriteNode
		}
		if err := write(); err != nil {
			return err
		}
	}
	if from != nil {
		if err := l.links.Reopen(from.Arrows()); err != nil {
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
	l.launcher = &launcher{runner: process.NewRunner(), dir: l.dir, log: l.options.Log}
	group, groupCtx := errgroup.WithContext(ctx)
	for _, c := range l.clusters {
		group.Go(func() error { return c.serve(groupCtx) })
	}
	group.Go(func() error { return l.extras.startAll(groupCtx) })
	if err := group.Wait(); err != nil {
		return err
	}
	group, groupCtx = errgroup.WithContext(ctx)
	for _, c := range l.clusters {
		if c.api.Host == "" {
			group.Go(func() error { return c.settle(groupCtx, l.options.From == nil) })
		}
	}
	if after := l.options.AfterClusters; after != nil {
		group.Go(func() error { return after(groupCtx, l) })
	}
	if err := group.Wait(); err != nil {
		return err
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
		l.End()
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
	if l.launcher == nil {
		return nil
	}
	isEtcd := func(program string) bool { return program == etcdProgram || program == memberProgram }
	isAPIServer := func(program string) bool { return program == apiServerProgram }
	var errs []error
	for _, phase := range []struct {
		grace time.Duration
		picks []*process.Process
	}{
		{shortGrace, append(l.extras.all(), processesOf(l.clusters,
			func(program string) bool { return !isEtcd(program) && !isAPIServer(program) })...)},
		{longGrace, processesOf(l.clusters, isAPIServer)},
		{longGrace, processesOf(l.clusters, isEtcd)},
	} {
		var group errgroup.Group
		for _, p := range phase.picks {
			group.Go(func() error { return p.Stop(ctx, phase.grace) })
		}
		errs = append(errs, group.Wait())
	}
	for _, c := range l.clusters {
		errs = append(errs, c.api.close())
	}
	return errors.Join(append(errs, l.launcher.runner.Close())...)
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

// Dir is the run directory.
func (l *Landscape) Dir() rundir.Dir { return l.dir }

// Slot is the address plan.
func (l *Landscape) Slot() address.Slot { return l.claim.Slot }

// Extras are the processes of no cluster.
func (l *Landscape) Extras() *Extras { return l.extras }

// CloudAddresses says where the simulated cloud is expected: all that look for it are on this machine.
func (l *Landscape) CloudAddresses() clusters.CloudAddresses {
	api, dns := l.Slot().Cloud().String(), l.Slot().DNS().String()
	return clusters.CloudAddresses{ListenAPI: api, ListenDNS: dns, API: api, DNS: dns}
}

// MetricsAddress says where a companion is expected to serve /metrics.
func (l *Landscape) MetricsAddress(companion string) clusters.MetricsAddress {
	at := l.claim.Slot.CloudMetrics().String()
	if companion != switchboard.Cloud {
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
