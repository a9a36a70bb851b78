// Package cli is the command line of embedded landscapes: up, down, status, logs, kubeconfig, controlplane.
//
// It parses, prints and calls; what happens is in package supervisor. What runs on the clusters comes from the caller.
package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/transplant-sim/transplant/clusters/embedded"
	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
)

// Configure completes the options of a landscape, in the supervisor: the processes of no cluster, and what is applied
// once the clusters are ready.
type Configure func(*embedded.Options)

// NewCommands lists the commands.
func NewCommands(configure Configure) []*cobra.Command {
	return []*cobra.Command{
		newUp(), newDown(), newStatus(), newLogs(), newKubeconfig(), newControlPlane(), newSupervise(configure),
	}
}

// landscapeFlag says which landscape is meant.
type landscapeFlag struct{ name string }

func (f *landscapeFlag) register(command *cobra.Command) {
	command.Flags().StringVar(&f.name, "landscape", rundir.DefaultName, "name of the landscape; several run side by side")
}

func (f *landscapeFlag) dir() (rundir.Dir, error) {
	home, err := rundir.Home()
	if err != nil {
		return rundir.Dir{}, err
	}
	return rundir.Of(home, f.name)
}

// newCommand is a command that prints no usage when it fails: the error says what to do.
func newCommand(use, short string, run func(context.Context, *cobra.Command, []string) error) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, SilenceUsage: true, Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, args []string) error { return run(command.Context(), command, args) },
	}
}

// readState is the state of a landscape that is up.
func readState(dir rundir.Dir) (rundir.State, error) {
	owned, err := dir.Owned()
	if err != nil {
		return rundir.State{}, err
	}
	if !owned {
		return rundir.State{}, fmt.Errorf("look at the landscape %q: %w: start it with \"transplant up\"", dir.Name, rundir.ErrNotUp)
	}
	return dir.ReadState()
}
