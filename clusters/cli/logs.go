package cli

import (
	"cmp"
	"context"
	"errors"
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

	"github.com/transplant-sim/transplant/api/spelling"
	"github.com/transplant-sim/transplant/clusters/embedded/process"
	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
)

// followPoll is how often a followed log is looked at.
const followPoll = 100 * time.Millisecond

func newLogs() *cobra.Command {
	var flags landscapeFlag
	var follow bool
	var since time.Duration
	command := flags.command("logs [CLUSTER/PROCESS]", "Print the log of a process, or list all logs",
		func(ctx context.Context, command *cobra.Command, dir rundir.Dir, args []string) error {
			logs := findLogs(dir)
			if len(logs) == 0 {
				return fmt.Errorf("find logs of the landscape %q: there are none in %s; start it with \"%s up%s\"%s", dir.Name,
					dir.Path, program(), suffix(dir.Name), others(dir))
			}
			if len(args) == 0 {
				for _, one := range logs {
					fmt.Fprintln(command.OutOrStdout(), one.name)
				}
				return nil
			}
			wanted, err := choose(logs, args[0])
			if err != nil {
				return err
			}
			if since <= 0 {
				return printLog(ctx, command.OutOrStdout(), wanted.path, follow)
			}
			lines := newer(command.OutOrStdout(), time.Now().Add(-since))
			return errors.Join(printLog(ctx, lines, wanted.path, follow), lines.Close())
		})
	command.Long = `Print the log of a process, or list all logs. The logs of a landscape that has ended stay until
another landscape takes its name.

A container's log is CLUSTER/CONTAINER@POD, where POD is the first digits of the pod's UID. If a
container was restarted, its earlier logs have a number at the end.

The beginning of a name is enough if only one log begins so.`
	command.Example = `  transplant logs                             # list all logs
  transplant logs a/gardenlet -f              # begins with that
  transplant logs garden/etcd --since 5m`
	command.Args = cobra.MaximumNArgs(1)
	command.ValidArgsFunction = func(_ *cobra.Command, given []string, _ string) ([]cobra.Completion,
		cobra.ShellCompDirective) {
		var all []cobra.Completion
		if dir, err := flags.dir(); err == nil && len(given) == 0 {
			for _, one := range findLogs(dir) {
				all = append(all, one.name)
			}
		}
		return all, cobra.ShellCompDirectiveNoFileComp
	}
	command.Flags().BoolVarP(&follow, "follow", "f", false, "print new lines until you interrupt the command")
	command.Flags().DurationVar(&since, "since", 0,
		"print only lines of this last time, such as 5m; lines without a time belong to the line before them (default: all)")
	return command
}

// choose the log of this name, or the one that begins so. Of a container it is the last log.
func choose(logs []processLog, name string) (processLog, error) {
	var begun []processLog
	for _, one := range logs {
		if one.name == name {
			return one, nil
		}
		if strings.HasPrefix(one.name, name) {
			begun = append(begun, one)
		}
	}
	last := slices.DeleteFunc(slices.Clone(begun), func(one processLog) bool {
		return slices.ContainsFunc(begun, func(other processLog) bool { return strings.HasPrefix(one.name, other.name+".") })
	})
	switch len(last) {
	case 1:
		return last[0], nil
	case 0:
		all := names(logs)
		return processLog{}, fmt.Errorf("find the log of %q: there are %s%s", name, strings.Join(all, ", "),
			spelling.AlmostQuestion(name, all))
	}
	return processLog{}, fmt.Errorf("find the log of %q: several begin so: give more of %s", name,
		strings.Join(names(last), ", "))
}

// supervisorLog is the name of the supervisor's log among those of the processes.
const supervisorLog = "supervisor"

// processLog is the log of one process.
type processLog struct{ name, path string }

func names(logs []processLog) []string {
	var all []string
	for _, one := range logs {
		all = append(all, one.name)
	}
	return all
}

// findLogs lists the logs of a landscape, of one that failed to start or has ended too.
func findLogs(dir rundir.Dir) []processLog {
	var found []processLog
	if _, err := os.Stat(dir.Log()); err == nil {
		found = append(found, processLog{supervisorLog, dir.Log()})
	}
	own, _ := filepath.Glob(dir.Join("logs", "*.log"))
	for _, file := range own {
		found = append(found, processLog{logName(file), file})
	}
	files, _ := filepath.Glob(dir.Join("clusters", "*", "logs", "*.log"))
	for _, file := range files {
		cluster := filepath.Base(filepath.Dir(filepath.Dir(file)))
		found = append(found, processLog{cluster + "/" + logName(file), file})
	}
	return append(found, podLogs(dir)...)
}

func logName(file string) string { return strings.TrimSuffix(filepath.Base(file), ".log") }

// podLogs are those of containers: clusters/CLUSTER/pods/UID/containers/CONTAINER/RUN.log, the last run without its
// number.
func podLogs(dir rundir.Dir) []processLog {
	containers, _ := filepath.Glob(dir.Join("clusters", "*", "pods", "*", "containers", "*"))
	var found []processLog
	for _, folder := range containers {
		pod := filepath.Dir(filepath.Dir(folder))
		cluster := filepath.Base(filepath.Dir(filepath.Dir(pod)))
		name := fmt.Sprintf("%s/%s@%.8s", cluster, filepath.Base(folder), filepath.Base(pod))
		runs, _ := filepath.Glob(filepath.Join(folder, "*.log"))
		// 10 after 9
		slices.SortFunc(runs, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
		for i, file := range runs {
			if i < len(runs)-1 {
				found = append(found, processLog{name + "." + logName(file), file})
			} else {
				found = append(found, processLog{name, file})
			}
		}
	}
	slices.SortStableFunc(found, func(a, b processLog) int { return cmp.Compare(a.name, b.name) })
	return found
}

func printLog(ctx context.Context, out io.Writer, path string, follow bool) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("open the log: %w", err)
	}
	defer file.Close()
	if older, err := os.Open(process.Older(path)); err == nil {
		_, err := io.Copy(out, older)
		if err := errors.Join(err, older.Close()); err != nil {
			return err
		}
	}
	at, err := io.Copy(out, file)
	if err != nil || !follow {
		return err
	}
	err = wait.PollUntilContextCancel(ctx, followPoll, false, func(context.Context) (bool, error) {
		if info, err := file.Stat(); err == nil && info.Size() < at { // it was put aside, and begins anew
			if at, err = file.Seek(0, io.SeekStart); err != nil {
				return false, err
			}
		}
		n, err := io.Copy(out, file)
		at += n
		return false, err
	})
	if ctx.Err() != nil {
		return nil // interrupted, as it should be
	}
	return err
}
