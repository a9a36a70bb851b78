package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/transplant-sim/transplant/clusters/embedded"
	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
)

// followPoll is how often a followed log is looked at.
const followPoll = 100 * time.Millisecond

func newLogs() *cobra.Command {
	var flags landscapeFlag
	var follow bool
	command := newCommand("logs [CLUSTER/PROCESS]", "Print the log of a process, or list the logs there are", func(ctx context.Context, command *cobra.Command, args []string) error {
		dir, err := flags.dir()
		if err != nil {
			return err
		}
		logs := findLogs(dir)
		if len(args) == 0 {
			for _, name := range logs {
				fmt.Fprintln(command.OutOrStdout(), name)
			}
			return nil
		}
		if !slices.Contains(logs, args[0]) {
			return fmt.Errorf("find the log of %q: there are %s%s", args[0], strings.Join(logs, ", "), podHint(dir, logs, args[0]))
		}
		return printLog(ctx, command.OutOrStdout(), logPath(dir, args[0]), follow)
	})
	command.Args = cobra.MaximumNArgs(1)
	flags.register(command)
	command.Flags().BoolVarP(&follow, "follow", "f", false, "go on until interrupted")
	return command
}

// supervisorLog is the name of the supervisor's log among those of the processes.
const supervisorLog = "supervisor"

// findLogs lists the logs of a landscape, of one that failed to start too.
func findLogs(dir rundir.Dir) []string {
	var found []string
	if _, err := os.Stat(dir.Log()); err == nil {
		found = append(found, supervisorLog)
	}
	own, _ := filepath.Glob(dir.Join("logs", "*.log"))
	for _, file := range own {
		found = append(found, strings.TrimSuffix(filepath.Base(file), ".log"))
	}
	files, _ := filepath.Glob(dir.Join("clusters", "*", "logs", "*.log"))
	for _, file := range files {
		cluster := filepath.Base(filepath.Dir(filepath.Dir(file)))
		found = append(found, cluster+"/"+strings.TrimSuffix(filepath.Base(file), ".log"))
	}
	return found
}

// podHint says where the logs of pods are, to who asks for one of a cluster's.
func podHint(dir rundir.Dir, logs []string, name string) string {
	cluster, _, ofCluster := strings.Cut(name, "/")
	if !ofCluster || !slices.ContainsFunc(logs, func(log string) bool { return strings.HasPrefix(log, cluster+"/") }) {
		return ""
	}
	actor := "gardenlet"
	if cluster == embedded.GardenName {
		actor = "garden-controller-manager"
	}
	return fmt.Sprintf("; what runs in pods has its logs there, for example: kubectl --kubeconfig $(%s kubeconfig %s --path%s) -n garden logs deploy/%s",
		program(), cluster, suffix(dir.Name), actor)
}

func logPath(dir rundir.Dir, name string) string {
	if name == supervisorLog {
		return dir.Log()
	}
	if cluster, process, ofCluster := strings.Cut(name, "/"); ofCluster {
		return dir.Join("clusters", cluster, "logs", process+".log")
	}
	return dir.Join("logs", name+".log")
}

func printLog(ctx context.Context, out io.Writer, path string, follow bool) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("open the log: %w", err)
	}
	defer file.Close()
	if _, err := io.Copy(out, file); err != nil || !follow {
		return err
	}
	err = wait.PollUntilContextCancel(ctx, followPoll, false, func(context.Context) (bool, error) {
		_, err := io.Copy(out, file)
		return false, err
	})
	if ctx.Err() != nil {
		return nil // interrupted, as it should be
	}
	return err
}
