// Package cli is the command line of landscapes, on both backends: up, down, list, status, logs, kubeconfig,
// scrape-targets, controlplane, and lose, return, freeze and thaw for clusters.
//
// It parses, prints and calls; what happens is in package supervisor. What runs on the clusters comes from the caller.
package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/transplant-sim/transplant/clusters/embedded"
	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
	"github.com/transplant-sim/transplant/clusters/kind"
)

// Configure completes the options of a landscape, in the supervisor: the processes of no cluster, and what is applied
// once the clusters are ready. Of the backends that are nil the landscapes stay bare.
type Configure struct {
	// AddFlags adds flags of the caller's own to up; nil for none. Check says what is wrong with them on a backend, beside
	// these seeds.
	AddFlags func(*pflag.FlagSet)
	Check    func(ctx context.Context, backend string, seeds []string) error

	// Ring names the seeds of a landscape with a ring of so many of them, which Embedded then makes; nil if there is none.
	Ring func(members int) (seeds []string, err error)

	// Shoots that the garden knows, by the path of a kubeconfig, to be shown by status; nil for none.
	Shoots func(ctx context.Context, kubeconfig string) ([]Shoot, error)

	Embedded func(*embedded.Options) error
	Kind     func(context.Context, *kind.Options) error
}

// Shoot as status shows it.
type Shoot struct {
	// Name with the namespace.
	Name string `json:"name"`
	// Seed that it is on, and the one that it is bound to if that is another.
	Seed string `json:"seed"`
	// Epoch of the claim to it; 0 if nobody has claimed it.
	Epoch int `json:"epoch,omitempty"`
	// LastOperation is what was last done with it, and how far that has come.
	LastOperation string   `json:"lastOperation"`
	LastErrors    []string `json:"lastErrors,omitempty"`
	// Settled says that its last operation has succeeded, and that it is to go to no other seed.
	Settled bool `json:"settled"`
}

// NewCommands lists the commands.
func NewCommands(configure Configure) []*cobra.Command {
	return append(newAbilities(), newUp(configure), newDown(), newList(), newStatus(configure), newLogs(),
		newKubeconfig(), newScrapeTargets(), newControlPlane(), newSupervise(configure))
}

// landscapeFlag says which landscape is meant.
type landscapeFlag struct{ name string }

func (f *landscapeFlag) register(command *cobra.Command) {
	command.Flags().StringVar(&f.name, "landscape", rundir.DefaultName, "name of the landscape; several can run at once")
	CompleteLandscape(command)
}

// CompleteLandscape has a shell complete the flag --landscape of a command, which it returns.
func CompleteLandscape(command *cobra.Command) *cobra.Command {
	complete(command, "landscape", completeLandscapes)
	return command
}

func (f *landscapeFlag) dir() (rundir.Dir, error) {
	home, err := rundir.Home()
	if err != nil {
		return rundir.Dir{}, err
	}
	return rundir.Of(home, f.name)
}

// command about the landscape that the flag names. Its run directory may not be there.
func (f *landscapeFlag) command(use, short string,
	run func(context.Context, *cobra.Command, rundir.Dir, []string) error) *cobra.Command {
	command := newCommand(use, short, func(ctx context.Context, command *cobra.Command, args []string) error {
		dir, err := f.dir()
		if err != nil {
			return err
		}
		return run(ctx, command, dir, args)
	})
	f.register(command)
	return command
}

// newCommand is a command that prints no usage when it fails: the error says what to do.
func newCommand(use, short string, run func(context.Context, *cobra.Command, []string) error) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, SilenceUsage: true, Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, args []string) error { return run(command.Context(), command, args) },
	}
}

// complete the values of a flag in a shell.
func complete(command *cobra.Command, flag string, values cobra.CompletionFunc) {
	if err := command.RegisterFlagCompletionFunc(flag, values); err != nil {
		panic(err) // there is no such flag, or it is registered twice
	}
}

// completeLandscapes names the landscapes that are there, for a shell.
func completeLandscapes(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	home, err := rundir.Home()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	all, err := listLandscapes(home)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var names []cobra.Completion
	for _, one := range all {
		names = append(names, cobra.CompletionWithDesc(one.Name, one.State))
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// readState is the state of a landscape that is up.
func readState(dir rundir.Dir) (rundir.State, error) {
	owned, err := dir.Owned()
	if err != nil {
		return rundir.State{}, err
	}
	if !owned {
		return rundir.State{}, fmt.Errorf("look at the landscape %q: %w: start it with \"%s up%s\"%s", dir.Name,
			rundir.ErrNotUp, program(), suffix(dir.Name), others(dir))
	}
	state, err := dir.ReadState()
	if errors.Is(err, rundir.ErrNotUp) {
		err = fmt.Errorf("look at the landscape %q: %w", dir.Name, errStarting)
	}
	return state, err
}

// others says which landscapes there are instead of one that is not up.
func others(dir rundir.Dir) string {
	living, err := rundir.Living(filepath.Dir(dir.Path))
	if err != nil || len(living) == 0 {
		return "" // it is a hint only
	}
	return fmt.Sprintf(", or name one that is there with --landscape: %s", strings.Join(living, ", "))
}

// errStarting is returned for a landscape that somebody holds but that is not ready.
var errStarting = errors.New("it is starting, or being stopped again: wait for it")

// program is the name by which this program was called, for commands to copy.
func program() string { return os.Args[0] }

// suffix is what commands about a landscape need.
func suffix(name string) string {
	if name == rundir.DefaultName {
		return ""
	}
	return " --landscape " + name
}
