// Package kind runs a landscape as clusters of sigs.k8s.io/kind, each a container with one real node
// (ARCHITECTURE.md#on-kind).
// It needs Docker, and offers what package embedded offers wherever containers can do it.
//
// What it makes in Docker bears the landscape's name and folder, and is removed by Stop; when the process that called
// Start dies without one, a guard removes it. The package applies no manifests and knows no actors.
package kind

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/transplant-sim/transplant/clusters"
	"github.com/transplant-sim/transplant/clusters/authorities"
	"github.com/transplant-sim/transplant/clusters/embedded/process"
	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
	"github.com/transplant-sim/transplant/clusters/kind/docker"
	"github.com/transplant-sim/transplant/clusters/kind/hatch"
	"github.com/transplant-sim/transplant/clusters/switchboard"
)

// Landscape is a running garden with its seeds.
type Landscape struct {
	clusters.Beside

	options    Options
	dir        rundir.Dir
	acquired   bool         // the run directory is ours
	lock       *rundir.Lock // nil where it is the caller's
	guard      *guard
	keys       *authorities.Landscape
	links      *switchboard.Board // once there is a network
	companions companions
	hatches    hatch.Set
	images     string // archive of the images that nodes get
	clusters   clusters.Members[*Cluster]
	began      time.Time
	ready      time.Time

	written  sync.Mutex // held while landscape.json is written
	stopOnce sync.Once
	stopErr  error
}

var _ clusters.Landscape = &Landscape{}

const (
	// tick is what durations are rounded to for people.
	tick = 100 * time.Millisecond
	// stopTimeout bounds a stop.
	stopTimeout = 2 * time.Minute
)

// Start brings a landscape up and returns when everything is ready. When it fails, whatever it has made is removed
// again. It is docker.ErrUnavailable where no Docker answers.
func Start(ctx context.Context, options Options) (*Landscape, error) {
	dir, err := options.prepare(ctx)
	if err != nil {
		return nil, err
	}
	l := &Landscape{options: options, dir: dir, began: time.Now()}
	l.companions = companions{dir: dir, image: options.CompanionImage.Name, progress: options.Progress}
	if err := l.run(ctx); err != nil {
		cleanup, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		return nil, errors.Join(fmt.Errorf("start the landscape %q on kind: %w", options.Name, err), l.Stop(cleanup))
	}
	return l, nil
}

func (l *Landscape) run(ctx context.Context) error {
	for _, step := range []func(context.Context) error{
		l.acquire, l.plan, l.watch, l.create, l.openLinks, l.startCompanions,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	for _, c := range l.clusters {
		l.Go(c.balance) // gives Services of seeds their addresses
	}
	if l.options.AfterClusters != nil {
		if err := l.options.AfterClusters(ctx, l); err != nil {
			return err
		}
	}
	l.written.Lock()
	l.ready = time.Now()
	l.written.Unlock()
	return l.WriteState()
}

// acquire takes the run directory, and removes what a landscape that died has left of the same.
func (l *Landscape) acquire(ctx context.Context) (err error) {
	if l.options.Lock == nil {
		if l.lock, _, err = l.dir.Acquire(); err != nil {
			return err
		}
	}
	l.acquired = true
	removed, err := removeLeft(ctx, l.dir)
	if removed > 0 {
		l.options.Progress("landscape", fmt.Sprintf("removed %d containers that an earlier one has left", removed))
	}
	return err
}

func (l *Landscape) plan(context.Context) (err error) {
	if l.keys, err = authorities.New(l.dir.Join("pki")); err != nil {
		return err
	}
	for _, name := range l.options.names() {
		role := clusters.Seed
		if name == GardenName {
			role = clusters.Garden
		}
		made, err := newCluster(l, name, role)
		if err != nil {
			return err
		}
		l.clusters = append(l.clusters, made)
	}
	return l.choosePorts()
}

// choosePorts finds a free port for each API server, which a cluster keeps even when its node is made anew, and those
// of the cloud. All are held until all are found, so that none is found twice.
func (l *Landscape) choosePorts() error {
	for _, c := range l.clusters {
		listener, err := holdPort()
		if err != nil {
			return fmt.Errorf("find a port for the API server of cluster %q: %w", c.name, err)
		}
		defer listener.Close()
		c.port = int32(listener.Addr().(*net.TCPAddr).Port)
	}
	return l.companions.plan()
}

// startCompanions starts the containers beside the clusters.
func (l *Landscape) startCompanions(ctx context.Context) error {
	if l.options.Companions == nil {
		return nil
	}
	all, err := l.options.Companions(l)
	if err != nil {
		return fmt.Errorf("plan the containers beside the clusters: %w", err)
	}
	return l.companions.start(ctx, all, l.keys.TLS())
}

// watch starts the guard, and writes it down: who uses the folder next ends it, as it would remove the next one's
// containers, which have the same names.
func (l *Landscape) watch(context.Context) (err error) {
	if l.guard, err = newGuard(l.containers()); err != nil {
		return err
	}
	id, err := process.Find(l.guard.command.Process.Pid)
	if err != nil {
		return fmt.Errorf("find the guard: %w", err)
	}
	return l.dir.Remember("guard", id)
}

// create makes all clusters side by side, and the images meanwhile.
func (l *Landscape) create(ctx context.Context) error {
	group, groupCtx := errgroup.WithContext(ctx)
	built := make(chan struct{})
	group.Go(func() (err error) {
		defer close(built)
		l.images, err = docker.Archive(groupCtx, l.dir, l.options.Images, l.options.LocalImages)
		return err
	})
	if l.options.Companions != nil {
		group.Go(func() error { return l.options.CompanionImage.Make(groupCtx, l.dir) })
	}
	for _, c := range l.clusters {
		group.Go(func() error {
			if err := c.create(groupCtx); err != nil {
				return err
			}
			select {
			case <-built:
			case <-groupCtx.Done():
				return groupCtx.Err()
			}
			return c.load(groupCtx, l.images)
		})
	}
	return group.Wait()
}

// Stop removes everything of the landscape from Docker. The run directory stays, until it is used again. Only the first
// call does something.
func (l *Landscape) Stop(ctx context.Context) error {
	l.stopOnce.Do(func() {
		if !l.acquired {
			return // somebody else's
		}
		l.End()
		l.WriteLogs(ctx)
		_, err := Remove(ctx, l.dir)
		errs := []error{err, l.dropImages()}
		l.hatches.Close()
		if l.links != nil {
			errs = append(errs, l.links.Close())
		}
		if l.guard != nil && err == nil {
			errs = append(errs, l.guard.dismiss())
		}
		errs = append(errs, l.dir.MarkEnded())
		if l.lock != nil {
			errs = append(errs, l.lock.Unlock())
		}
		l.stopErr = errors.Join(errs...)
	})
	return l.stopErr
}

// dropImages removes the archive, which is large: no node is made anew any more.
func (l *Landscape) dropImages() error {
	if err := os.Remove(l.images); l.images != "" && err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove the archive of images: %w", err)
	}
	return nil
}

// containers are the names that the landscape's containers have, or will have.
func (l *Landscape) containers() []string {
	var names []string
	for _, c := range l.clusters {
		names = append(names, c.Node())
	}
	for _, name := range Companions {
		names = append(names, l.companions.containerName(name))
	}
	return names
}

// Dir is the run directory.
func (l *Landscape) Dir() rundir.Dir { return l.dir }

// Took is the time from the call of Start until the landscape was ready.
func (l *Landscape) Took() time.Duration { return l.ready.Sub(l.began) }

// CloudAddresses says where the cloud listens in its container, and where the links find it.
func (l *Landscape) CloudAddresses() clusters.CloudAddresses { return l.companions.cloud }

// MetricsAddress says where a companion serves /metrics: in its container, where this machine does not look.
func (l *Landscape) MetricsAddress(string) clusters.MetricsAddress {
	return clusters.MetricsAddress{Listen: fmt.Sprintf("0.0.0.0:%d", metricsPort)}
}

// ControlPlane is where a companion finds the multi-call binary with etcd and the Kubernetes programs.
func (l *Landscape) ControlPlane() string { return ControlPlaneFile }

// Clusters lists the garden first, then the seeds in order.
func (l *Landscape) Clusters() []clusters.Cluster { return l.clusters.All() }

// Cluster finds a cluster by name.
func (l *Landscape) Cluster(name string) (clusters.Cluster, error) { return l.clusters.Find(name) }
