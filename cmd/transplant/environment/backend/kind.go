package backend

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/pflag"

	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
	"github.com/transplant-sim/transplant/clusters/kind"
	"github.com/transplant-sim/transplant/clusters/kind/docker"
	"github.com/transplant-sim/transplant/cmd/transplant/environment"
	"github.com/transplant-sim/transplant/sim/run"
	"github.com/transplant-sim/transplant/sim/world"
)

// Kind makes landscapes of kind clusters for runs. The links live in the process that runs the scenario,
// everything else in containers (docs/adr/0008).
type Kind struct {
	NodeImage string // empty for the one that kind itself takes
	Buckets   *environment.Buckets
	ChaosMesh *environment.ChaosMesh
}

var (
	_ run.Backend  = &Kind{}
	_ run.Equipped = &Kind{}
	_ run.Preparer = &Kind{}
)

// AddFlags implements run.Equipped.
func (b *Kind) AddFlags(flags *pflag.FlagSet) {
	b.Buckets.AddFlags(flags)
	b.ChaosMesh.AddFlags(flags)
	flags.StringVar(&b.NodeImage, "node-image", os.Getenv(kind.NodeImageVariable),
		"backend kind: the node image; empty for the published image of kind (default: $"+kind.NodeImageVariable+")")
}

// Available implements run.Equipped: without Docker there is nothing to run on.
func (b *Kind) Available(ctx context.Context) error {
	if err := errors.Join(b.Buckets.Check(rundir.Kind), b.ChaosMesh.Check(rundir.Kind)); err != nil {
		return err
	}
	return docker.Available(ctx)
}

// Prepare implements run.Preparer.
func (*Kind) Prepare(ctx context.Context, progress func(string)) error { return prepare(ctx, progress) }

// Can implements run.Backend. A cluster's own programs are the kubelet's, which starts them again at once, and its
// disks are behind its node. Processes in pods are harmed by signals of this machine, for which one has to be root.
func (b *Kind) Can(ability world.Ability) error {
	switch ability.General() {
	case world.RunChaosMesh:
		if !b.ChaosMesh.Wanted() {
			return fmt.Errorf("the kind backend cannot %s, unless it is installed with --%s", ability, environment.ChaosMeshFlag)
		}
		return b.asRoot(ability) // who looks into the network of a pod
	case world.BreakLinks, world.BreakClusters, world.BreakCloud, world.DamageBackups, world.EditObjects:
		return nil
	case world.BreakProcesses, world.DelayRestarts, world.CrashActors, world.BreakPods, world.BreakPodLinks:
		return b.asRoot(ability)
	}
	return fmt.Errorf("the kind backend cannot %s", ability)
}

func (*Kind) asRoot(ability world.Ability) error {
	if os.Geteuid() == 0 {
		return nil
	}
	return fmt.Errorf("the kind backend cannot %s unless it is run by root, beside a Docker of this machine", ability)
}

// Claim implements run.Backend.
func (b *Kind) Claim(name string) (run.Claim, error) { return claimDir(name, b.start) }

func (b *Kind) start(ctx context.Context, c *claim, request run.Request) (world.World, error) {
	s := newEnvironment(request)
	s.Buckets, s.ChaosMesh = b.Buckets, b.ChaosMesh
	options := kind.Options{
		Name: c.dir.Name, Dir: c.dir.Path, Lock: c.lock, Seeds: request.Landscape.SeedNames(), NodeImage: b.NodeImage,
		Progress: func(subject, what string) { request.Progress(subject + ": " + what) },
	}
	if err := s.ConfigureKind(ctx, &options); err != nil {
		return nil, err
	}
	l, err := kind.Start(ctx, options)
	if err != nil {
		return nil, errors.Join(err, s.CopyLogs(c.dir, request.Logs))
	}
	return worldOn(ctx, b, l, s)
}
