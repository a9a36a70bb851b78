package embedded

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/transplant-sim/transplant/clusters/embedded/process"
	"github.com/transplant-sim/transplant/clusters/embedded/program"
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

func (l *Landscape) startExtras(ctx context.Context) error {
	if l.options.Extras == nil {
		return nil
	}
	extras, err := l.options.Extras(l)
	if err != nil {
		return fmt.Errorf("plan the processes of no cluster: %w", err)
	}
	group, groupCtx := errgroup.WithContext(ctx)
	for _, e := range extras {
		group.Go(func() error { return l.StartExtra(groupCtx, e) })
	}
	return group.Wait()
}

// StartExtra starts a process and waits until it is ready. One of the same name that has ended is replaced.
func (l *Landscape) StartExtra(ctx context.Context, e Extra) error {
	if e.Path == "" {
		e.Path = l.options.Executable
	}
	p, err := l.startProcess(process.Spec{
		Name: e.Name, Path: e.Path, Args: e.Args, Env: append(program.Env(), e.Env...), Inherit: e.Inherit, Dir: l.dir.Path,
		Log: l.log(e.Name),
	})
	if err != nil {
		return err
	}
	l.mutex.Lock()
	l.metrics[e.Name] = e.Metrics
	l.extras = append(slices.DeleteFunc(l.extras, func(other *process.Process) bool { return other.Name() == e.Name }), p)
	l.mutex.Unlock()
	began := time.Now()
	if err := l.awaitExtra(ctx, e, p); err != nil {
		return err
	}
	l.report(Progress{Subject: e.Name, What: fmt.Sprintf("ready after %s", time.Since(began).Round(tick))})
	return l.WriteState()
}

// Extra finds the process of an extra.
func (l *Landscape) Extra(name string) (*process.Process, error) {
	for _, p := range l.extraProcesses() {
		if p.Name() == name {
			return p, nil
		}
	}
	return nil, fmt.Errorf("find the process %q: it was never started", name)
}

func (l *Landscape) extraProcesses() []*process.Process {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return slices.Clone(l.extras)
}

func (l *Landscape) awaitExtra(ctx context.Context, e Extra, p *process.Process) error {
	if e.ReadyURL == "" {
		return nil
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: l.keys.TLS()}, Timeout: 2 * time.Second}
	defer client.CloseIdleConnections()
	err := ready.Await(ctx, extraPoll, extraTimeout, func(ctx context.Context) error {
		err := ready.Endpoint(ctx, client, e.ReadyURL)
		if err != nil && !p.Running() {
			//nolint:errorlint // it may have ended well, without an error
			return ready.Never(fmt.Errorf("it ended (%v): %w", p.Err(), err))
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("wait for process %q (log %s): %w", e.Name, p.Spec().Log, err)
	}
	return nil
}
