package embedded

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/transplant-sim/transplant/clusters/embedded/process"
	"github.com/transplant-sim/transplant/clusters/embedded/program"
	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
	"github.com/transplant-sim/transplant/clusters/ready"
)

// Extra is a process of the landscape that belongs to no cluster, such as the simulated cloud.
type Extra struct {
	Name string
	Path string // empty for the transplant executable
	Args []string
	Env  []string
	// Inherit names variables of this process that it needs, as in process.Spec.
	Inherit []string
	// ReadyURL answers 200 when the process is ready; its certificate, if any, is of the landscape's authority. Empty
	// for a process that counts as ready when it has started.
	ReadyURL string
	// Metrics is where it serves /metrics, as host:port; empty when it does not.
	Metrics string
}

const (
	extraTimeout = time.Minute
	extraPoll    = 25 * time.Millisecond
)

// Extras are the processes of the landscape that belong to no cluster.
type Extras struct {
	landscape *Landscape

	mutex     sync.Mutex
	processes []*process.Process
	metrics   map[string]string // where they serve theirs, by name
}

// startAll starts those that the options name.
func (x *Extras) startAll(ctx context.Context) error {
	if x.landscape.options.Extras == nil {
		return nil
	}
	extras, err := x.landscape.options.Extras(x.landscape)
	if err != nil {
		return fmt.Errorf("plan the processes of no cluster: %w", err)
	}
	group, groupCtx := errgroup.WithContext(ctx)
	for _, e := range extras {
		group.Go(func() error { return x.Start(groupCtx, e) })
	}
	return group.Wait()
}

// Start starts a process and waits until it is ready. One of the same name that has ended is replaced.
func (x *Extras) Start(ctx context.Context, e Extra) error {
	l := x.landscape
	p, err := l.launcher.start(process.Spec{
		Name: e.Name, Path: cmp.Or(e.Path, l.options.Executable), Args: e.Args, Env: append(program.Env(), e.Env...),
		Inherit: e.Inherit, Dir: l.dir.Path, Log: l.dir.Join("logs", e.Name+".log"),
	})
	if err != nil {
		return err
	}
	x.mutex.Lock()
	x.metrics[e.Name] = e.Metrics
	x.processes = append(slices.DeleteFunc(x.processes,
		func(other *process.Process) bool { return other.Name() == e.Name }), p)
	x.mutex.Unlock()
	began := time.Now()
	if err := e.await(ctx, l.keys.TLS(), p); err != nil {
		return err
	}
	l.options.Progress(Progress{Subject: e.Name, What: fmt.Sprintf("ready after %s", time.Since(began).Round(tick))})
	return l.WriteState()
}

// Find finds the process of an extra.
func (x *Extras) Find(name string) (*process.Process, error) {
	for _, p := range x.all() {
		if p.Name() == name {
			return p, nil
		}
	}
	return nil, fmt.Errorf("find the process %q: it was never started", name)
}

func (x *Extras) all() []*process.Process {
	x.mutex.Lock()
	defer x.mutex.Unlock()
	return slices.Clone(x.processes)
}

// states are what landscape.json says of them.
func (x *Extras) states() (all []rundir.ProcessState) {
	x.mutex.Lock()
	defer x.mutex.Unlock()
	for _, p := range x.processes {
		all = append(all, rundir.ProcessState{Name: p.Name(), ID: p.ID(), Log: p.Spec().Log, Metrics: x.metrics[p.Name()]})
	}
	return all
}

func (e Extra) await(ctx context.Context, authority *tls.Config, p *process.Process) error {
	if e.ReadyURL == "" {
		return nil
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: authority}, Timeout: 2 * time.Second}
	defer client.CloseIdleConnections()
	err := ready.Await(ctx, extraPoll, extraTimeout, func(ctx context.Context) error {
		err := ready.Endpoint(ctx, client, e.ReadyURL)
		if err != nil && !p.Running() {
			return ready.Never(p.Ended())
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("wait for process %q (log %s): %w", e.Name, p.Spec().Log, err)
	}
	return nil
}
