package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/transplant-sim/transplant/api/spelling"
	"github.com/transplant-sim/transplant/clusters/embedded"
	"github.com/transplant-sim/transplant/clusters/embedded/address"
	"github.com/transplant-sim/transplant/clusters/embedded/checkpoint"
	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
	"github.com/transplant-sim/transplant/clusters/embedded/supervisor"
	"github.com/transplant-sim/transplant/clusters/kind"
	"github.com/transplant-sim/transplant/clusters/kind/docker"
)

// ringFlag asks for a ring of seeds.
const ringFlag = "ring"

// superviseCommand is the hidden command of the detached process.
const superviseCommand = "supervise"

// planFlags describe the landscape that "up" asks "supervise" for.
type planFlags struct {
	landscapeFlag
	seeds     []string
	ring      int
	slot      int
	nodes     bool
	backend   string
	nodeImage string
	from      string
	opened    *checkpoint.Checkpoint // of from
	own       *pflag.FlagSet         // the caller's
}

func (f *planFlags) register(command *cobra.Command, configure Configure) {
	f.own = pflag.NewFlagSet("own", pflag.ContinueOnError)
	if configure.AddFlags != nil {
		configure.AddFlags(f.own)
		command.Flags().AddFlagSet(f.own)
	}
	f.landscapeFlag.register(command)
	command.Flags().StringSliceVar(&f.seeds, "seeds", []string{"a", "b"}, "names of the seeds")
	if configure.Ring != nil {
		command.Flags().IntVar(&f.ring, ringFlag, 0, "make a ring of so many seeds, each of which hosts the control plane "+
			"of the next, and a seed outside of it (backend "+embeddedBackend+"); 0 for the seeds of --seeds")
	}
	command.Flags().IntVar(&f.slot, "slot", -1,
		fmt.Sprintf("address slot, 0 to %d; -1 for the first slot with no address in use", address.Slots-1))
	command.Flags().BoolVar(&f.nodes, "nodes", true,
		"give each cluster a node that runs pods; with --nodes=false, backend kind installs nothing on the clusters")
	command.Flags().StringVar(&f.backend, "backend", embeddedBackend, "what the clusters are: "+embeddedBackend+
		" (processes) or "+kindBackend+" (containers; needs Docker)")
	complete(command, "backend", cobra.FixedCompletions([]string{embeddedBackend, kindBackend},
		cobra.ShellCompDirectiveNoFileComp))
	command.Flags().StringVar(&f.from, "from", "",
		"start this checkpoint, with its name, its seeds and its addresses (backend "+embeddedBackend+")")
	complete(command, "from", cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs))
	command.Flags().StringVar(&f.nodeImage, "node-image", os.Getenv(kind.NodeImageVariable),
		"backend kind: the node image; empty for the published image of kind (default: $"+kind.NodeImageVariable+")")
}

func (f *planFlags) arguments() []string {
	arguments := []string{
		superviseCommand, "--landscape=" + f.name,
		fmt.Sprintf("--slot=%d", f.slot), fmt.Sprintf("--nodes=%t", f.nodes),
		"--backend=" + f.backend, "--node-image=" + f.nodeImage, "--from=" + f.from,
	}
	if f.ring > 0 {
		arguments = append(arguments, fmt.Sprintf("--%s=%d", ringFlag, f.ring))
	} else {
		arguments = append(arguments, "--seeds="+strings.Join(f.seeds, ","))
	}
	f.own.VisitAll(func(flag *pflag.Flag) {
		values := []string{flag.Value.String()}
		if list, is := flag.Value.(pflag.SliceValue); is {
			values = list.GetSlice()
		}
		for _, value := range values {
			arguments = append(arguments, "--"+flag.Name+"="+value)
		}
	})
	return arguments
}

// open the checkpoint that is to be started, if one is. The landscape has its name.
func (f *planFlags) open(given *pflag.FlagSet) (err error) {
	if f.from == "" {
		return nil
	}
	for _, other := range []string{"landscape", "seeds", ringFlag, "slot", "nodes"} {
		if given.Changed(other) {
			return fmt.Errorf("--%s: the checkpoint of --from %s has its own: leave the flag out", other, f.from)
		}
	}
	if f.backend != embeddedBackend {
		return fmt.Errorf("--from %s: a checkpoint is of backend %s: leave --backend %s out", f.from, embeddedBackend,
			f.backend)
	}
	if f.opened, err = checkpoint.Open(f.from, time.Now()); err != nil {
		return err
	}
	f.name = f.opened.Name
	dir, err := f.dir()
	if err != nil {
		return err
	}
	return f.opened.CheckPlace(dir)
}

// shape the landscape as a ring, if that is asked for.
func (f *planFlags) shape(given *pflag.FlagSet, configure Configure) (err error) {
	if f.ring == 0 {
		return nil
	}
	for _, wrong := range []struct {
		is  bool
		why string
	}{
		{given.Changed("seeds"), "it names its seeds itself: leave --seeds out"},
		{f.backend != embeddedBackend, "seeds that are shoots are on backend " + embeddedBackend + " only: leave --backend " +
			f.backend + " out"},
		{!f.nodes, "the control planes of its seeds are pods: leave --nodes=false out"},
	} {
		if wrong.is {
			return fmt.Errorf("--%s %d: %s", ringFlag, f.ring, wrong.why)
		}
	}
	if f.seeds, err = configure.Ring(f.ring); err != nil {
		return fmt.Errorf("--%s %d: %w", ringFlag, f.ring, err)
	}
	return nil
}

func (f *planFlags) options() embedded.Options {
	options := embedded.Options{Name: f.name, Seeds: f.seeds, WithoutNodes: !f.nodes, From: f.opened}
	if f.slot >= 0 {
		slot := address.Slot(f.slot)
		options.Slot = &slot
	}
	return options
}

// start is how the backend that was asked for starts.
func (f *planFlags) start(configure Configure) (supervisor.Start, error) {
	switch f.backend {
	case embeddedBackend:
		options := f.options()
		if configure.Embedded != nil {
			if err := configure.Embedded(&options); err != nil {
				return nil, err
			}
		}
		return supervisor.Embedded(options), nil
	case kindBackend:
		return func(ctx context.Context, given supervisor.Given) (supervisor.Landscape, error) {
			return f.startKind(ctx, given, configure.Kind)
		}, nil
	}
	return nil, fmt.Errorf("find the backend %q: there are %s, %s%s", f.backend, embeddedBackend, kindBackend,
		spelling.Question(f.backend, []string{embeddedBackend, kindBackend}))
}

func (f *planFlags) startKind(
	ctx context.Context, given supervisor.Given, configure func(context.Context, *kind.Options) error,
) (supervisor.Landscape, error) {
	options := kind.Options{
		Name: given.Dir.Name, Dir: given.Dir.Path, Lock: given.Lock, Seeds: f.seeds, NodeImage: f.nodeImage, Log: given.Log,
		Progress: func(subject, what string) { given.Progress(embedded.Progress{Subject: subject, What: what}) },
	}
	if configure != nil && f.nodes {
		if err := configure(ctx, &options); err != nil {
			return nil, err
		}
	}
	l, err := kind.Start(ctx, options)
	if err != nil {
		return nil, err
	}
	return l, nil
}

// check says what is wrong with the flags, and what the machine lacks, before anything is made.
func (f *planFlags) check(ctx context.Context, configure Configure) error {
	if _, err := f.start(Configure{}); err != nil {
		return err
	}
	if configure.Check != nil {
		if err := configure.Check(ctx, f.backend, f.seeds); err != nil {
			return err
		}
	}
	if f.backend == embeddedBackend {
		options := f.options()
		return options.Check()
	}
	options := kind.Options{Name: f.name, Seeds: f.seeds}
	if err := options.Check(); err != nil {
		return err
	}
	return docker.Available(ctx)
}

// The backends by name.
const (
	embeddedBackend = "embedded"
	kindBackend     = rundir.Kind
)

func newUp(configure Configure) *cobra.Command {
	var flags planFlags
	var quiet bool
	command := newCommand("up", "Start a landscape: a garden and its seeds",
		func(ctx context.Context, command *cobra.Command, _ []string) error {
			if err := flags.open(command.Flags()); err != nil {
				return err
			}
			if err := flags.shape(command.Flags(), configure); err != nil {
				return err
			}
			out := command.OutOrStdout()
			if quiet {
				out = io.Discard
			}
			return up(ctx, out, flags, configure)
		})
	command.Example = `  transplant up
  transplant up --seeds a,b,c --landscape mine
  transplant up --ring 3                   # seeds that are shoots on each other
  transplant up --backend kind`
	flags.register(command, configure)
	command.Flags().BoolVarP(&quiet, "quiet", "q", false, "print only errors")
	return command
}

func up(ctx context.Context, out io.Writer, flags planFlags, configure Configure) error {
	dir, err := flags.dir()
	if err != nil {
		return err
	}
	if err := flags.check(ctx, configure); err != nil {
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
	command := newCommand(superviseCommand, "Keep a landscape running (started by up)",
		func(ctx context.Context, _ *cobra.Command, _ []string) error {
			if err := flags.open(&pflag.FlagSet{}); err != nil {
				return err
			}
			if err := flags.shape(&pflag.FlagSet{}, configure); err != nil {
				return err
			}
			dir, err := flags.dir()
			if err != nil {
				return err
			}
			start, err := flags.start(configure)
			if err != nil {
				return err
			}
			return supervisor.Supervise(ctx, dir, start)
		})
	command.Hidden = true
	flags.register(command, configure)
	return command
}

func newDown() *cobra.Command {
	var flags landscapeFlag
	command := flags.command("down", "Stop a landscape and remove its run directory",
		func(ctx context.Context, command *cobra.Command, dir rundir.Dir, _ []string) error {
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
	command.Example = "  transplant down\n  transplant down --landscape mine"
	return command
}

// errUnhealthy is returned by "status" when something that should run does not.
var errUnhealthy = errors.New("the landscape is not whole")
