package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/transplant-sim/transplant/api/spelling"
	"github.com/transplant-sim/transplant/clusters"
	"github.com/transplant-sim/transplant/clusters/embedded/binary"
	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
)

func newKubeconfig() *cobra.Command {
	var flags landscapeFlag
	var actor string
	var pathOnly bool
	command := flags.command("kubeconfig CLUSTER|SHOOT", "Print a kubeconfig of a cluster or of a shoot",
		func(_ context.Context, command *cobra.Command, dir rundir.Dir, args []string) error {
			path, err := kubeconfigPath(dir, args[0], actor)
			if err != nil {
				return err
			}
			if pathOnly {
				fmt.Fprintln(command.OutOrStdout(), path)
				return nil
			}
			content, err := os.ReadFile(path)
			if err != nil {
				return fmt.Errorf("read the kubeconfig: %w", err)
			}
			_, err = command.OutOrStdout().Write(content)
			return err
		})
	command.Example = `  export KUBECONFIG=$(transplant kubeconfig garden --path)
  kubectl --kubeconfig $(transplant kubeconfig alpha --path) get nodes`
	command.Args = cobra.ExactArgs(1)
	command.ValidArgsFunction = func(_ *cobra.Command, given []string, _ string) ([]cobra.Completion,
		cobra.ShellCompDirective) {
		if len(given) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return completeTargets(flags), cobra.ShellCompDirectiveNoFileComp
	}
	command.Flags().StringVar(&actor, "actor", "", "the actor whose kubeconfig to print (default "+
		clusters.Observer+", which connects directly to the API server and has all rights; for a shoot "+user+
		", which connects by the shoot's DNS name)")
	command.Flags().BoolVar(&pathOnly, "path", false, "print the path of the file instead")
	return command
}

// completeClusters names the clusters of a landscape, for a shell.
func completeClusters(flags landscapeFlag) (all []cobra.Completion) {
	dir, err := flags.dir()
	if err != nil {
		return nil
	}
	state, err := dir.ReadState()
	if err != nil {
		return nil
	}
	for _, c := range state.Clusters {
		all = append(all, cobra.CompletionWithDesc(c.Name, c.Role))
	}
	return all
}

// completeTargets names the clusters of a landscape, and the shoots with a kubeconfig, for a shell.
func completeTargets(flags landscapeFlag) []cobra.Completion {
	dir, err := flags.dir()
	if err != nil {
		return nil
	}
	all := completeClusters(flags)
	for _, shoot := range kubeconfigsOf(dir, user) {
		all = append(all, cobra.CompletionWithDesc(shoot, "shoot"))
	}
	return all
}

// user is the actor whose kubeconfigs of shoots go by the shoots' names (see ARCHITECTURE.md).
const user = "user"

// kubeconfigPath finds the kubeconfig of an actor. Where none is named it is the observer's of a cluster, or else the
// user's of a shoot, which has no other.
func kubeconfigPath(dir rundir.Dir, target, actor string) (string, error) {
	state, err := readState(dir)
	if err != nil {
		return "", err
	}
	var names []string
	for _, c := range state.Clusters {
		if c.Name == target && (actor == "" || actor == clusters.Observer) {
			return c.Kubeconfig, nil
		}
		names = append(names, c.Name)
	}
	if path := dir.Kubeconfig(cmp.Or(actor, user), target); actor != clusters.Observer && exists(path) {
		return path, nil
	}
	shoots, ofShoots := "no shoot has a kubeconfig yet", kubeconfigsOf(dir, user)
	if len(ofShoots) > 0 {
		shoots = "shoots with a kubeconfig are " + strings.Join(ofShoots, ", ")
	}
	switch actor {
	case "":
		return "", fmt.Errorf("find a cluster or shoot %q: the clusters are %s; %s%s", target, strings.Join(names, ", "),
			shoots, spelling.Question(target, append(names, ofShoots...)))
	case clusters.Observer:
		return "", fmt.Errorf(
			"find the cluster %q: there are %s; the kubeconfig of a shoot is its user's: leave --actor out; %s%s", target,
			strings.Join(names, ", "), shoots, spelling.Question(target, names))
	}
	others, of := actorKubeconfigs(dir), []string(nil)
	for _, one := range others {
		if other, is := strings.CutSuffix(one, "."+target); is {
			of = append(of, other)
		}
	}
	return "", fmt.Errorf("find the kubeconfig of actor %q for %q: there are %s%s", actor, target,
		cmp.Or(strings.Join(others, ", "), "none"), spelling.Question(actor, of))
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// kubeconfigsOf an actor, by what they are for.
func kubeconfigsOf(dir rundir.Dir, actor string) []string {
	files, _ := filepath.Glob(dir.Kubeconfig(actor, "*")) // the pattern is right
	for i, file := range files {
		files[i] = strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), actor+"."), ".kubeconfig")
	}
	return files
}

// actorKubeconfigs lists what can be asked for, as <actor>.<target>.
func actorKubeconfigs(dir rundir.Dir) []string {
	files, _ := filepath.Glob(dir.Kubeconfig("*", "*")) // the pattern is right
	for i, file := range files {
		files[i] = strings.TrimSuffix(filepath.Base(file), ".kubeconfig")
	}
	return files
}

func newControlPlane() *cobra.Command {
	command := newCommand("controlplane", "Build the control-plane binary, if it is not in the cache, and print its path",
		func(ctx context.Context, command *cobra.Command, _ []string) error {
			screen := newScreen(command.ErrOrStderr())
			path, err := binary.Ensure(ctx, screen.build)
			screen.done()
			if err != nil {
				return err
			}
			fmt.Fprintln(command.OutOrStdout(), path)
			return nil
		})
	command.Example = "  transplant controlplane\n  $(transplant controlplane) kubectl get nodes"
	return command
}
