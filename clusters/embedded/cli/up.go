package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/transplant-sim/transplant/clusters/embedded"
	"github.com/transplant-sim/transplant/clusters/embedded/address"
	"github.com/transplant-sim/transplant/clusters/embedded/supervisor"
	"github.com/transplant-sim/transplant/clusters/kind"
)

// superviseCommand is the hidden command of the detached process.
const superviseCommand = "supervise"

// planFlags describe the landscape that "up" asks "supervise" for.
type planFlags struct {
	landscapeFlag
	seeds []string
	slot  int
	nodes bool
}

func (f *planFlags) register(command *cobra.Command) {
	f.landscapeFlag.register(command)
	command.Flags().StringSliceVar(&f.seeds, "seeds", []string{"a", "b"}, "names of the seeds")
	command.Flags().IntVar(&f.slot, "slot", -1, fmt.Sprintf("address slot, 0 to %d; -1 takes the first free one", address.Slots-1))
	command.Flags().BoolVar(&f.nodes, "nodes", true, "give each cluster a node that runs pods")
}

func (f *planFlags) arguments() []string {
	return []string{
		superviseCommand, "--landscape=" + f.name, "--seeds=" + strings.Join(f.seeds, ","),
		fmt.Sprintf("--slot=%d", f.slot), fmt.Sprintf("--nodes=%t", f.nodes),
	}
}

func (f *planFlags) options() embedded.Options {
	options := embedded.Options{Name: f.name, Seeds: f.seeds, WithoutNodes: !f.nodes}
	if f.slot >= 0 {
		slot := address.Slot(f.slot)
		options.Slot = &slot
	}
	return options
}

func newUp() *cobra.Command {
	var flags planFlags
	command := newCommand("up", "Bring up a landscape: a garden and its seeds", func(ctx context.Context, command *cobra.Command, _ []string) error {
		return up(ctx, command.OutOrStdout(), flags)
	})
	flags.register(command)
	return command
}

func up(ctx context.Context, out io.Writer, flags planFlags) error {
	dir, err := flags.dir()
	if err != nil {
		return err
	}
	options := flags.options()
	if err := options.Check(); err != nil {
		return err // the supervisor would say the same, but has made a folder by then
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	screen := newScreen(out)
	state, err := supervisor.Up(ctx, dir, flags.arguments(), screen.show)
	screen.done()
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\nThe landscape %q is ready after %s.\n\n", state.Name, state.Took)
	for _, c := range state.Clusters {
		fmt.Fprintf(out, "  %-8s %s\n", c.Name, c.URL)
	}
	fmt.Fprintf(out, "\n  export KUBECONFIG=%s\n  %s status%s\n  %[2]s down%[3]s\n",
		state.Clusters[0].Kubeconfig, program(), suffix(flags.name))
	return nil
}

func newSupervise(configure Configure) *cobra.Command {
	var flags planFlags
	command := newCommand(superviseCommand, "Hold a landscape up (started by up)", func(ctx context.Context, _ *cobra.Command, _ []string) error {
		dir, err := flags.dir()
		if err != nil {
			return err
		}
		options := flags.options()
		if configure != nil {
			configure(&options)
		}
		return supervisor.Supervise(ctx, dir, options)
	})
	command.Hidden = true
	flags.register(command)
	return command
}

func newDown() *cobra.Command {
	var flags landscapeFlag
	command := newCommand("down", "End a landscape and remove its run directory", func(ctx context.Context, command *cobra.Command, _ []string) error {
		dir, err := flags.dir()
		if err != nil {
			return err
		}
		was, err := supervisor.Down(ctx, dir)
		if err != nil {
			return err
		}
		containers, err := kind.Down(ctx, dir)
		if err != nil {
			return err
		}
		if was || containers > 0 {
			fmt.Fprintf(command.OutOrStdout(), "The landscape %q has ended, nothing of it is left.\n", dir.Name)
		} else {
			fmt.Fprintf(command.OutOrStdout(), "The landscape %q is not up.\n", dir.Name)
		}
		return nil
	})
	flags.register(command)
	return command
}

// errUnhealthy is returned by "status" when something that should run does not.
var errUnhealthy = errors.New("the landscape is not whole")
