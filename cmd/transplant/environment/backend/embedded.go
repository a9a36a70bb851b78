package backend

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/transplant-sim/transplant/clusters/embedded"
	"github.com/transplant-sim/transplant/clusters/embedded/checkpoint"
	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
	"github.com/transplant-sim/transplant/cmd/transplant/environment"
	"github.com/transplant-sim/transplant/sim/run"
	"github.com/transplant-sim/transplant/sim/world"
)

// Embedded makes embedded landscapes for runs. Each lives in the process that runs the scenario.
type Embedded struct {
	Buckets   *environment.Buckets
	ChaosMesh *environment.ChaosMesh // only to say that there is none
}

var (
	_ run.Backend  = &Embedded{}
	_ run.Equipped = &Embedded{}
	_ run.Preparer = &Embedded{}
)

// AddFlags implements run.Equipped.
func (b *Embedded) AddFlags(flags *pflag.FlagSet) { b.Buckets.AddFlags(flags) }

// Available implements run.Equipped. Whatever else is missing is reported by the code that needs it.
func (b *Embedded) Available(context.Context) error {
	const embedded = "embedded"
	return errors.Join(b.Buckets.Check(embedded), b.ChaosMesh.Check(embedded))
}

// Prepare implements run.Preparer.
func (*Embedded) Prepare(ctx context.Context, progress func(string)) error {
	return prepare(ctx, progress)
}

// Can implements run.Backend: this backend can do all that scenarios know today.
func (*Embedded) Can(ability world.Ability) error {
	switch ability {
	case world.BreakLinks, world.BreakProcesses, world.BreakPrograms, world.DelayRestarts, world.CrashActors,
		world.BreakClusters,
		world.BreakPods, world.BreakPodLinks,
		world.BreakCloud, world.DamageBackups, world.WipeDisks, world.EditObjects, world.HostSeeds, world.RunPods,
		world.BackUpGarden, world.SpreadGarden:
		return nil
	}
	if ability.General() == world.RunChaosMesh {
		return fmt.Errorf("the embedded backend cannot %s; the kind backend can, with --%s", ability,
			environment.ChaosMeshFlag)
	}
	return fmt.Errorf("the embedded backend cannot %s", ability)
}

// Claim implements run.Backend.
func (b *Embedded) Claim(name string) (run.Claim, error) { return claimDir(name, b.start) }

func (b *Embedded) start(ctx context.Context, c *claim, request run.Request) (world.World, error) {
	s := newEnvironment(request)
	s.Buckets = b.Buckets
	options := embedded.Options{
		Name: c.dir.Name, Dir: c.dir.Path, Lock: c.lock,
		Seeds:    request.Landscape.SeedNames(),
		ToKeep:   request.ToKeep,
		Progress: progress(request.Progress),
	}
	if request.From != nil {
		options.From = request.From.(*checkpoint.Checkpoint)
		// Of many runs, the later ones may be hours after the checkpoint was opened.
		if err := environment.CheckWindow(options.From.Name, options.From.Made, time.Now()); err != nil {
			return nil, err
		}
	}
	s.Configure(&options)
	l, err := embedded.Start(ctx, options)
	if err != nil {
		return nil, errors.Join(err, s.CopyLogs(c.dir, request.Logs))
	}
	return worldOn(ctx, b, l, s)
}

var _ run.Keeper = &Embedded{}

// CheckTarget implements run.Keeper.
func (b *Embedded) CheckTarget(folder string) error {
	return errors.Join(b.Buckets.CheckFrom(), checkpoint.CheckTarget(folder))
}

// Keep implements run.Keeper.
func (*Embedded) Keep(ctx context.Context, of run.Claim, folder string, contents any) error {
	dir := of.(*claim).dir
	if err := checkpoint.Save(ctx, dir, folder, embedded.ControlPlaneImage, contents); err != nil {
		return err
	}
	_, err := dir.Clear()
	return err
}

// Open implements run.Keeper.
func (b *Embedded) Open(folder string) (run.Checkpoint, error) {
	now := time.Now()
	c, err := checkpoint.Open(folder, now)
	if err != nil {
		return nil, err
	}
	home, err := rundir.Home()
	if err != nil {
		return nil, err
	}
	dir, err := rundir.Of(home, c.Name)
	if err != nil {
		return nil, err
	}
	return c, errors.Join(b.Buckets.CheckFrom(), c.CheckPlace(dir), environment.CheckWindow(folder, c.Made, now))
}
