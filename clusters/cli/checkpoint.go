package cli

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/transplant-sim/transplant/clusters/embedded"
	"github.com/transplant-sim/transplant/clusters/embedded/checkpoint"
	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
	"github.com/transplant-sim/transplant/clusters/embedded/supervisor"
)

// NewSave is "checkpoint save", below a command of the caller's.
func NewSave(configure Configure) *cobra.Command {
	var flags landscapeFlag
	command := flags.command("save FOLDER", "Stop a landscape that is up, and keep it as a checkpoint",
		func(ctx context.Context, command *cobra.Command, dir rundir.Dir, args []string) error {
			if err := save(ctx, configure, dir, args[0]); err != nil {
				return err
			}
			fmt.Fprintf(command.OutOrStdout(), "The landscape %q has ended, and is kept. Start it again:\n\n  %s up --from %s\n",
				dir.Name, program(), args[0])
			return nil
		})
	command.Example = "  transplant checkpoint save out/ready\n  transplant up --from out/ready"
	command.Args = cobra.ExactArgs(1)
	command.ValidArgsFunction = cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)
	return command
}

// save a landscape that is up, or that an earlier save has ended and could not keep.
func save(ctx context.Context, configure Configure, dir rundir.Dir, folder string) error {
	folder, err := filepath.Abs(folder)
	if err == nil {
		err = errors.Join(checkpoint.CheckTarget(folder), checkpoint.CheckSource(dir))
	}
	if err != nil {
		return err
	}
	if !checkpoint.CanSave(dir) {
		if err := checkSettled(ctx, configure, dir); err != nil {
			return err
		}
	}
	lock, err := supervisor.End(ctx, dir)
	if err != nil {
		return errors.Join(err, checkpoint.UnmarkSettled(dir))
	}
	// An interrupt ends the copying, and leaves nothing half copied behind.
	interruptible, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err = checkpoint.Save(interruptible, dir, folder, embedded.ControlPlaneImage, nil); err == nil {
		_, err = dir.Clear()
	} else if !errors.Is(err, checkpoint.ErrNotEnded) {
		err = fmt.Errorf("%w: the landscape has ended, and is still in %s: try again", err, dir.Path)
	}
	return errors.Join(err, lock.Unlock())
}

// checkSettled is an error if something is being done with a shoot: what started it would go on later.
func checkSettled(ctx context.Context, configure Configure, dir rundir.Dir) error {
	state, err := readState(dir)
	if err != nil {
		return err
	}
	if state.Backend == rundir.Kind {
		return fmt.Errorf("save the landscape %q: it is of backend %s: only those of backend %s can be saved", dir.Name,
			kindBackend, embeddedBackend)
	}
	shoots := shootsOf(ctx, configure, state)
	if shoots.Unknown != "" {
		return fmt.Errorf("save the landscape %q: its shoots are not known: %s", state.Name, shoots.Unknown)
	}
	for _, one := range shoots.Shoots {
		if !one.Settled {
			return fmt.Errorf("save the landscape %q: shoot %s has not settled: its last operation is %s, on seed %s: wait "+
				"until it has succeeded", state.Name, one.Name, one.LastOperation, one.Seed)
		}
	}
	return checkpoint.MarkSettled(dir)
}
