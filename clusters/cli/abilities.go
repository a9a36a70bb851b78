package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/transplant-sim/transplant/api/spelling"
	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
	"github.com/transplant-sim/transplant/clusters/embedded/supervisor"
)

// newAbilities are the commands that break clusters of a landscape that is up, and repair them.
func newAbilities() []*cobra.Command {
	lose := newAbility(supervisor.Lose, "Kill everything of clusters at once", "is lost")
	lose.Long = `Kill everything of clusters at once, as a fire does, and leave what is on their disks.

Of a seed that is a shoot it is what runs on its node: its API server is on another seed.`
	lose.Example = `  transplant lose a        # its shoots are evacuated
  transplant lose a b c    # at the same moment`
	bringBack := newAbility(supervisor.Return, "Start lost clusters again", "is started again")
	bringBack.Long = `Start lost clusters again, with what is on their disks, and wait until they are ready.

Of a seed that is a shoot only the node is started: its API server may be away for long.`
	freeze := newAbility(supervisor.Freeze, "Stop all processes of clusters", "is frozen")
	freeze.Long = "Stop all processes of clusters: connections stay open, and nothing answers."
	thaw := newAbility(supervisor.Thaw, "Continue the processes of frozen clusters", "goes on")
	return []*cobra.Command{lose, bringBack, freeze, thaw}
}

// newAbility is a command that does something to clusters of a landscape, and says what each of them is then.
func newAbility(ability supervisor.Ability, short, then string) *cobra.Command {
	var flags landscapeFlag
	command := flags.command(string(ability)+" CLUSTER...", short,
		func(ctx context.Context, command *cobra.Command, dir rundir.Dir, names []string) error {
			state, err := readState(dir)
			if err != nil {
				return err
			}
			slices.Sort(names)
			names = slices.Compact(names)
			if err := checkNames(ability, names, state.Clusters); err != nil {
				return err
			}
			errs := make([]error, len(names))
			var all sync.WaitGroup
			for i, name := range names {
				all.Go(func() { errs[i] = supervisor.Use(ctx, dir, name, ability) })
			}
			all.Wait()
			for i, name := range names {
				if errs[i] == nil {
					fmt.Fprintf(command.OutOrStdout(), "Cluster %q %s.\n", name, then)
				}
			}
			return errors.Join(errs...)
		})
	command.Example = fmt.Sprintf("  transplant %s a", ability)
	command.Args = cobra.MinimumNArgs(1)
	command.ValidArgsFunction = func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return completeClusters(flags), cobra.ShellCompDirectiveNoFileComp
	}
	return command
}

// checkNames before the first deed: a mistake in one name must not cost the other clusters anything.
func checkNames(ability supervisor.Ability, names []string, all []rundir.ClusterState) error {
	var known []string
	for _, c := range all {
		known = append(known, c.Name)
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return fmt.Errorf("%s cluster %q: there are %s%s", ability, name, strings.Join(known, ", "),
				spelling.Question(name, known))
		}
	}
	return nil
}
