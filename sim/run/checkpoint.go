package run

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/utils/clock"

	"github.com/transplant-sim/transplant/sim/engine"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/run/terminal"
	"github.com/transplant-sim/transplant/sim/scenario"
	"github.com/transplant-sim/transplant/sim/step"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/verdict"
)

// kept is what a checkpoint says of its landscape.
type kept struct {
	// Landscape is what it was made for, with the shoots that are in it.
	Landscape landscape.Landscape `json:"landscape"`
	Prepared  *engine.Prepared    `json:"prepared"`

	checkpoint Checkpoint
}

// beginning is the landscape that a scenario begins with. What each run brings into its shoots is left out.
func beginning(s *scenario.Scenario) landscape.Landscape {
	l, later := s.Spec.Landscape, step.Later(s.Spec.Steps)
	l.Shoots = nil
	for _, shoot := range s.Spec.Landscape.Shoots {
		if !later[shoot.Name] {
			shoot.Objects, shoot.Hibernated = 0, false
			l.Shoots = append(l.Shoots, shoot)
		}
	}
	return l
}

// checkFit is an error that names each part of the landscape that a scenario needs otherwise.
func (k *kept) checkFit(s *scenario.Scenario, file, folder string) error {
	has, needs := k.Landscape, beginning(s)
	var errs []error
	for _, part := range []struct {
		field string
		same  bool
	}{
		{"seeds", slices.EqualFunc(has.Seeds, needs.Seeds, landscape.Seed.Equal)},
		{"shoots", slices.Equal(has.Shoots, needs.Shoots)},
		{"tolerable", slices.Equal(has.Tolerable, needs.Tolerable)},
		{"settings", has.Settings == needs.Settings},
	} {
		if !part.same {
			errs = append(errs, scenario.MistakeIn(file, "spec.landscape."+part.field, fmt.Sprintf(
				"the checkpoint %s has others; make one for this scenario with \"transplant checkpoint make\"",
				folder)))
		}
	}
	return errors.Join(errs...)
}

// open the checkpoint of --from, if there is one, and refuse scenarios that cannot begin with it.
func (r *runner) open(p *plan) error {
	if r.from == "" {
		return nil
	}
	keeper, err := r.keeper(p, "--from "+r.from)
	if err != nil {
		return err
	}
	if r.jobs > 1 {
		return fmt.Errorf("--jobs %d: the landscapes of a checkpoint have the same addresses: leave it out with --from",
			r.jobs)
	}
	k := &kept{}
	if k.checkpoint, err = keeper.Open(r.from); err != nil {
		return err
	}
	if err := k.checkpoint.Read(k); err != nil {
		return err
	}
	if k.Prepared == nil {
		return fmt.Errorf(
			"open the checkpoint %q: it was not made for scenarios: make one with \"transplant checkpoint make\"", r.from)
	}
	if name := k.checkpoint.Landscape(); r.landscape != "" && r.landscape != name {
		return fmt.Errorf("--landscape %s: the landscape of the checkpoint %s is %s: leave it out", r.landscape, r.from,
			name)
	}
	var errs []error
	for _, s := range p.read {
		errs = append(errs, k.checkFit(s, p.from[s.Metadata.Name], r.from))
	}
	r.kept, r.landscape = k, k.checkpoint.Landscape()
	r.backendFlags = append(r.backendFlags, "--from="+r.from)
	return errors.Join(errs...)
}

// keeper is the backend, if it can keep the landscapes of these scenarios.
func (r *runner) keeper(p *plan, what string) (Keeper, error) {
	keeper, keeps := p.backend.(Keeper)
	if !keeps {
		return nil, fmt.Errorf("%s: backend %s has no checkpoints; take another one", what, r.backend)
	}
	if len(r.extensions.Files) > 0 {
		return nil, fmt.Errorf("%s: a checkpoint has no third-party extensions: leave --extension out", what)
	}
	return keeper, nil
}

// NewMakeCommand is the command `checkpoint make FOLDER NAME|FILE…`.
func NewMakeCommand(backends map[string]Backend, builtIn fs.FS) *cobra.Command {
	r := newReader(backends, builtIn)
	r.clock = clock.RealClock{}
	command := &cobra.Command{
		Use:   "make FOLDER NAME|FILE…",
		Short: "Make the landscape that scenarios begin with, and keep it as a checkpoint",
		Long: `Make the landscape that scenarios begin with, and keep it as a checkpoint.

"transplant run --from FOLDER" begins each run with a fresh copy of it. All scenarios need the same
seeds, settings and shoots.`,
		Example: `  transplant checkpoint make out/ready seed-loss
  transplant run seed-loss --from out/ready`,
		Args: cobra.MinimumNArgs(2),
		RunE: func(command *cobra.Command, arguments []string) error {
			ctx, stop := signal.NotifyContext(command.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			r.out = command.OutOrStdout()
			k, p, err := r.acceptKept(ctx, arguments[0], arguments[1:])
			if err != nil {
				return notRun{err}
			}
			defer func() { _ = p.release() }() // the kernel does it, too: the program ends
			if err := LogInto(r.folder, 0); err != nil {
				return notRun{err}
			}
			if err := r.keepLandscape(ctx, p, k, arguments[0]); err != nil {
				return notRun{err}
			}
			return nil
		},
	}
	flags := command.Flags()
	flags.Float64Var(&r.stretch, "timeout-multiplier", 1, "for slow machines: multiplies all deadlines")
	flags.StringVar(&r.folder, "out", "out", "folder for harness.log, and for the logs of a landscape that does not start")
	flags.StringVar(&r.landscape, "landscape", "", "name of the landscape (default \""+defaultLandscape+"\")")
	r.addFlags(command)
	command.ValidArgsFunction = func(command *cobra.Command, given []string, begun string) ([]cobra.Completion,
		cobra.ShellCompDirective) {
		if len(given) == 0 {
			return nil, cobra.ShellCompDirectiveFilterDirs
		}
		return r.selection.Complete(command, given, begun)
	}
	return command
}

// acceptKept accepts scenarios that begin with the same landscape, which can be kept in the folder.
func (r *runner) acceptKept(ctx context.Context, folder string, scenarios []string) (*kept, *plan, error) {
	files, err := r.selection.Files(scenarios)
	if err != nil {
		return nil, nil, err
	}
	p, err := r.accept(ctx, files)
	if err != nil {
		return nil, nil, err
	}
	keeper, err := r.keeper(p, "checkpoint make")
	if err != nil {
		return nil, nil, err
	}
	k := &kept{Landscape: beginning(p.read[0])}
	errs := []error{keeper.CheckTarget(folder)}
	for _, s := range p.read[1:] {
		errs = append(errs, k.checkFit(s, p.from[s.Metadata.Name], "for "+p.read[0].Metadata.Name))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, nil, err
	}
	return k, p, r.claim(p)
}

// keepLandscape makes the landscape with its shoots, stops it, and keeps it in the folder.
func (r *runner) keepLandscape(ctx context.Context, p *plan, k *kept, folder string) (err error) {
	if k.Prepared, err = r.prepare(ctx, p); err != nil {
		return err
	}
	if err := p.backend.(Keeper).Keep(ctx, p.places[0].Claim, folder, k); err != nil {
		return err
	}
	fmt.Fprintf(r.out, "The landscape is kept in %s. Run scenarios with --from %[1]s.\n", folder)
	return nil
}

// prepare the landscape, and stop it.
func (r *runner) prepare(ctx context.Context, p *plan) (*engine.Prepared, error) {
	s := p.read[0]
	s.Stretch(r.stretch)
	journal := timeline.NewJournal(r.clock, nil)
	view := terminal.Show(ctx, r.out, journal, s)
	defer view.Wait()
	defer journal.Close()
	shared := &environment{worker: &worker{runner: r, place: p.places[0]}, needs: beginning(s), toKeep: true}
	shared.needs.Shoots = nil
	if err := shared.start(ctx, journal, filepath.Join(r.folder, verdict.LogsName)); err != nil {
		return nil, err
	}
	prepared, err := engine.Prepare(ctx, engine.Options{
		Scenario: s, World: shared.world, Journal: journal, Clock: r.clock,
		Patience: r.patience.Stretched(r.stretch),
	})
	return prepared, errors.Join(err, shared.stop(ctx))
}
