package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/transplant-sim/transplant/clusters"
	"github.com/transplant-sim/transplant/clusters/embedded/binary"
	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
)

func newKubeconfig() *cobra.Command {
	var flags landscapeFlag
	var actor string
	var pathOnly bool
	command := newCommand("kubeconfig CLUSTER", "Print a kubeconfig", func(_ context.Context, command *cobra.Command, args []string) error {
		dir, err := flags.dir()
		if err != nil {
			return err
		}
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
	command.Args = cobra.ExactArgs(1)
	flags.register(command)
	command.Flags().StringVar(&actor, "actor", clusters.Observer, "whose kubeconfig; the observer's goes straight to the API server and may do everything")
	command.Flags().BoolVar(&pathOnly, "path", false, "print the path of the file instead")
	return command
}

func kubeconfigPath(dir rundir.Dir, target, actor string) (string, error) {
	state, err := readState(dir)
	if err != nil {
		return "", err
	}
	if actor != clusters.Observer {
		path := dir.Kubeconfig(actor, target)
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
			return "", fmt.Errorf("find the kubeconfig of actor %q for %q: there are %s", actor, target, actorKubeconfigs(dir))
		}
		return path, nil
	}
	var names []string
	for _, c := range state.Clusters {
		if c.Name == target {
			return c.Kubeconfig, nil
		}
		names = append(names, c.Name)
	}
	return "", fmt.Errorf("find the cluster %q: there are %s; the kubeconfig of a shoot is its user's: %s kubeconfig %s --actor user%s",
		target, strings.Join(names, ", "), program(), target, suffix(dir.Name))
}

// actorKubeconfigs lists what can be asked for, as <actor>.<target>.
func actorKubeconfigs(dir rundir.Dir) string {
	files, _ := filepath.Glob(dir.Kubeconfig("*", "*"))
	if len(files) == 0 {
		return "none"
	}
	for i, file := range files {
		files[i] = strings.TrimSuffix(filepath.Base(file), ".kubeconfig")
	}
	return strings.Join(files, ", ")
}

func newControlPlane() *cobra.Command {
	return newCommand("controlplane", "Build the control-plane binary, once, and print its path", func(ctx context.Context, command *cobra.Command, _ []string) error {
		screen := newScreen(command.ErrOrStderr())
		path, err := binary.Ensure(ctx, screen.build)
		screen.done()
		if err != nil {
			return err
		}
		fmt.Fprintln(command.OutOrStdout(), path)
		return nil
	})
}
