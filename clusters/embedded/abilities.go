package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/transplant-sim/transplant/clusters"
	"github.com/transplant-sim/transplant/clusters/embedded/process"
	"github.com/transplant-sim/transplant/clusters/embedded/program"
	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
)

var (
	_ clusters.Stopper = &Cluster{}
	_ clusters.Freezer = &Cluster{}
	_ clusters.Killer  = &Cluster{}
)

// goneWithin bounds how long the pods of a lost cluster may take to follow their node into death.
const goneWithin = 10 * time.Second

// Outage says whether the cluster is lost or frozen.
func (c *Cluster) Outage() rundir.Outage {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.outage
}

// become notes that a cluster is lost, or as it should be. In both cases there is nothing to thaw.
func become(c *Cluster, outage rundir.Outage) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.outage, c.frozen, c.frozenMachines = outage, nil, nil
}

// Lose kills every process of the cluster at once, its pods included. With wipe the data of etcd and of the volumes is
// deleted; keys and kubeconfigs stay, as a cluster's name and addresses do.
func (c *Cluster) Lose(ctx context.Context, wipe bool) error {
	c.abilities.Lock()
	defer c.abilities.Unlock()
	if ctx.Err() != nil { // whoever asked for it has not waited
		return c.done("lose", ctx.Err())
	}
	below, err := descendantsOf(c)
	var group errgroup.Group
	for _, p := range c.all() {
		group.Go(p.Kill)
	}
	errs := []error{err, group.Wait(), switchOff(c, wipe)}
	for _, id := range below { // the kernel kills them with the node; here we only wait, or finish the work
		errs = append(errs, id.Kill(goneWithin))
	}
	become(c, rundir.Lost)
	if wipe {
		for _, folder := range []string{c.files.EtcdData(), filepath.Join(c.files.Dir, "volumes"),
			filepath.Join(c.files.Dir, "pods")} {
			errs = append(errs, os.RemoveAll(folder))
		}
	}
	return c.done("lose", errs...)
}

// Return starts the cluster on the data it has and waits until it is ready. Of a hosted cluster it starts the node, and
// waits for nothing: the API server may need other nodes first.
func (c *Cluster) Return(ctx context.Context) error {
	c.abilities.Lock()
	defer c.abilities.Unlock()
	err := ctx.Err()
	switch {
	case err != nil:
	case c.api.Host != "":
		err = errors.Join(c.launch(c.programs()...), setPower(c, program.PowerOn))
	default:
		if err = c.serve(ctx); err == nil {
			err = c.settle(ctx, true)
		}
	}
	if err == nil && c.Outage() == rundir.Lost { // one that is frozen must be thawed, too
		become(c, "")
	}
	return c.done("return", err)
}

// Freeze stops every process of the cluster, its pods included. Freezing again stops what was started since. A lost
// cluster is left alone: its machines would else have power.
func (c *Cluster) Freeze(ctx context.Context) error {
	c.abilities.Lock()
	defer c.abilities.Unlock()
	if ctx.Err() != nil || c.Outage() == rundir.Lost {
		return c.done("freeze", ctx.Err())
	}
	frozen := map[string][]process.ID{}
	var errs []error
	// The node first, so that it does not mistake its frozen API server for a dead one.
	for _, p := range slices.Backward(c.all()) {
		if !p.Running() {
			continue
		}
		below, err := p.ID().Freeze()
		frozen[p.Name()] = below
		errs = append(errs, err)
	}
	machines, err := freezeMachines(c)
	c.mutex.Lock()
	c.outage, c.frozen, c.frozenMachines = rundir.Frozen, frozen, append(c.frozenMachines, machines...)
	c.mutex.Unlock()
	return c.done("freeze", append(errs, err)...)
}

// Thaw continues everything that Freeze has stopped, which is nothing in a lost cluster.
func (c *Cluster) Thaw(ctx context.Context) error {
	c.abilities.Lock()
	defer c.abilities.Unlock()
	if ctx.Err() != nil || c.Outage() == rundir.Lost {
		return c.done("thaw", ctx.Err())
	}
	c.mutex.Lock()
	frozen, machines := c.frozen, c.frozenMachines
	c.mutex.Unlock()
	errs := []error{setPower(c, program.PowerOn)}
	for _, id := range slices.Backward(machines) {
		errs = append(errs, id.Signal(syscall.SIGCONT))
	}
	for _, p := range c.all() {
		if p.Running() {
			errs = append(errs, p.ID().Thaw(frozen[p.Name()]))
		}
	}
	err := errors.Join(errs...)
	if err == nil {
		become(c, "")
	}
	return c.done("thaw", err)
}

// Kill kills one program of the cluster.
func (c *Cluster) Kill(_ context.Context, name string) error {
	c.abilities.Lock()
	defer c.abilities.Unlock()
	p := c.process(name)
	if p == nil {
		return fmt.Errorf("kill %q of cluster %q: the cluster runs %v", name, c.name, c.programs())
	}
	return c.done("kill a program of", p.Kill())
}

// Revive starts a program that has been killed, and waits until the cluster is ready again. A program that runs is left
// alone, and so is a cluster that is lost: its programs come back with it. After an etcd that was down for long, revive
// the API server too: its client backs off for up to 38 s.
func (c *Cluster) Revive(ctx context.Context, name string) error {
	c.abilities.Lock()
	defer c.abilities.Unlock()
	if !slices.Contains(c.programs(), name) {
		return fmt.Errorf("revive %q of cluster %q: the cluster runs %v", name, c.name, c.programs())
	}
	if c.Outage() == rundir.Lost {
		return nil
	}
	if err := c.launch(name); err != nil {
		return err
	}
	observer, err := c.Connect(clusters.Observer)
	if err != nil {
		return err
	}
	needed := processesOf([]*Cluster{c}, servesAPI)
	if slices.ContainsFunc(needed, func(p *process.Process) bool { return !p.Running() }) || len(needed) == 0 {
		return c.done("revive a program of") // both were killed: whoever is revived last waits
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	return c.done("revive a program of", program.AwaitReady(ctx, observer, needed...))
}

func descendantsOf(c *Cluster) ([]process.ID, error) {
	var below []process.ID
	var errs []error
	for _, p := range c.all() {
		if !p.Running() {
			continue
		}
		ids, err := process.Descendants(p.PID())
		below, errs = append(below, ids...), append(errs, err)
	}
	return below, errors.Join(errs...)
}

// done finishes an ability: it writes down what runs now and names the cluster in the error.
func (c *Cluster) done(verb string, errs ...error) error {
	err := errors.Join(append(errs, c.landscape.WriteState())...)
	if err != nil {
		return fmt.Errorf("%s cluster %q: %w", verb, c.name, err)
	}
	return nil
}
