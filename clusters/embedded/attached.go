package embedded

import (
	"context"
	"errors"
	"fmt"

	"github.com/transplant-sim/transplant/clusters/embedded/process"
	"github.com/transplant-sim/transplant/clusters/embedded/program"
)

// Program is a subcommand of transplant that runs on the machine of a cluster.
type Program struct {
	Name string // of its process and its log; none of the cluster's own programs has it
	Args []string
}

// attachment is a program that runs on the machine of a cluster and has its fate: it is lost and frozen with the
// cluster, and returns with it. It starts before all others, and needs none of them to start.
type attachment struct {
	name string
	spec process.Spec
}

func attach(c *Cluster, name string, spec process.Spec) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.attached = append(c.attached, attachment{name, spec})
}

// attachedTo a cluster are the names of what has its fate.
func attachedTo(c *Cluster) (names []string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for _, a := range c.attached {
		names = append(names, a.name)
	}
	return names
}

// Accompany starts a program beside those of a cluster, which from now on has the fate of the cluster.
func Accompany(l *Landscape, cluster string, p Program) error {
	c, err := l.clusters.Find(cluster)
	if err != nil {
		return err
	}
	attach(c, p.Name, p.spec(c))
	if err := c.launch(p.Name); err != nil {
		return fmt.Errorf("start %q beside cluster %q: %w", p.Name, cluster, err)
	}
	return l.WriteState()
}

// RunBeside runs a program on the machine of a cluster to its end. The error has the end of its log.
func RunBeside(ctx context.Context, l *Landscape, cluster string, p Program) error {
	c, err := l.clusters.Find(cluster)
	if err != nil {
		return err
	}
	started, err := l.launcher.start(p.spec(c))
	if err != nil {
		return err
	}
	select {
	case <-started.Done():
		err = started.Err()
	case <-ctx.Done():
		err = errors.Join(ctx.Err(), started.Kill())
	}
	if err != nil {
		return fmt.Errorf("run %q on the machine of cluster %q: %w%s", p.Name, cluster, err, endOfLog(started))
	}
	return nil
}

// FilesOf a cluster has its paths and URLs.
func FilesOf(l *Landscape, cluster string) (program.Cluster, error) {
	c, err := l.clusters.Find(cluster)
	if err != nil {
		return program.Cluster{}, err
	}
	return c.files, nil
}

func (p Program) spec(c *Cluster) process.Spec {
	return process.Spec{Name: c.name + "/" + p.Name, Path: c.landscape.options.Executable, Args: p.Args,
		Env: program.Env(), Dir: c.files.Dir, Log: c.files.Log(p.Name)}
}
