package kind

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/transplant-sim/transplant/clusters"
	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
	"github.com/transplant-sim/transplant/clusters/kind/docker"
)

var (
	_ clusters.Stopper = &Cluster{}
	_ clusters.Freezer = &Cluster{}
)

// harmTimeout bounds the wait for Docker to harm a node.
const harmTimeout = time.Minute

// pauseAgain is the time between two attempts to pause a node whose processes could not all be frozen.
const pauseAgain = 200 * time.Millisecond

// undisturbed is for harm: Docker goes on with what it has begun when nobody waits for it any more, so somebody does.
// Else it might be done after the heal.
func undisturbed(ctx context.Context) (context.Context, context.CancelFunc) {
	if ctx.Err() != nil {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(context.WithoutCancel(ctx), harmTimeout)
}

// Outage says whether the cluster is lost or frozen.
func (c *Cluster) Outage() rundir.Outage {
	outage, _ := c.outage.Load().(rundir.Outage)
	return outage
}

// Lose kills the node, and with it everything that runs in it. With wipe its data goes too: the node itself is removed.
// The authority, the addresses and the names stay.
func (c *Cluster) Lose(ctx context.Context, wipe bool) error {
	c.abilities.Lock()
	defer c.abilities.Unlock()
	ctx, cancel := undisturbed(ctx)
	defer cancel()
	if wipe {
		c.wiped = true
		return c.done("lose", rundir.Lost, docker.Remove(ctx, c.Node()))
	}
	_, err := docker.Run(ctx, "kill", c.Node())
	return c.done("lose", rundir.Lost, err)
}

// Return starts the node on the data it has, or makes it anew when that was wiped, and waits until it is ready.
func (c *Cluster) Return(ctx context.Context) error {
	c.abilities.Lock()
	defer c.abilities.Unlock()
	began := time.Now()
	if c.wiped {
		if err := docker.Remove(ctx, c.Node()); err != nil { // which Lose may not have got to
			return c.done("return", "", err)
		}
		if err := c.create(ctx); err != nil {
			return c.done("return", "", err)
		}
		c.wiped = false
		return c.done("return", "", c.load(ctx, c.landscape.images))
	}
	if _, err := docker.Run(ctx, "start", c.Node()); err != nil {
		return c.done("return", "", err)
	}
	return c.done("return", "", c.awaitReady(ctx, began))
}

// Freeze stops every process of the node; connections stay open, nothing answers.
func (c *Cluster) Freeze(ctx context.Context) error {
	c.abilities.Lock()
	defer c.abilities.Unlock()
	return c.done("freeze", rundir.Frozen, pause(ctx, c.Node()))
}

// pause freezes a container. On cgroup v1 the kernel may lose a race against processes that are just being made. runc
// tries for some tenths of a second, thaws all again, and leaves it to its callers to try again
// (opencontainers/runc#4388).
func pause(ctx context.Context, container string) error {
	attempt := func() error {
		ctx, cancel := undisturbed(ctx)
		defer cancel()
		_, err := docker.Run(ctx, "pause", container)
		return err
	}
	for began := time.Now(); ; {
		err := attempt()
		if err == nil || !strings.Contains(err.Error(), "unable to freeze") {
			return err
		}
		if tried := time.Since(began); tried > harmTimeout {
			return fmt.Errorf("tried for %s: %w", tried.Round(time.Second), err)
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pauseAgain):
		}
	}
}

// Thaw continues everything that Freeze has stopped, which may be nothing.
func (c *Cluster) Thaw(ctx context.Context) error {
	c.abilities.Lock()
	defer c.abilities.Unlock()
	_, err := docker.Run(ctx, "unpause", c.Node())
	if err != nil && strings.Contains(err.Error(), "is not paused") {
		err = nil
	}
	outage := c.Outage()
	if outage == rundir.Frozen { // one that is lost stays so
		outage = ""
	}
	return c.done("thaw", outage, err)
}

// done finishes an ability: it writes down what the cluster is now if the ability has succeeded, and names the cluster
// in the error.
func (c *Cluster) done(verb string, outage rundir.Outage, err error) error {
	if err == nil {
		c.outage.Store(outage)
	}
	if err := errors.Join(err, c.landscape.WriteState()); err != nil {
		return fmt.Errorf("%s cluster %q: %w", verb, c.name, err)
	}
	return nil
}
