package run

import (
	"errors"
	"fmt"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/transplant-sim/transplant/sim/report"
	"github.com/transplant-sim/transplant/sim/report/serve"
)

// defaultRuns is where runs are kept unless --out says otherwise.
const defaultRuns = "out"

// NewReportCommand is the command `report DIR…`.
func NewReportCommand() *cobra.Command {
	var server, image bool
	var address, comparison string
	command := &cobra.Command{
		Use:   "report DIR…",
		Short: "Write a page about each run, and one that compares runs",
		Long: `Write a page about each run, and one that compares runs. DIR is the folder of a run, or a folder of
such folders.

The command writes report.html in the folder of every run again. If there are several runs, it also
compares them with the first one, in comparison.html in the folder above them, or in the file that
--comparison names. The pages need no other files. --image also writes report.svg: the verdict, where
the shoots were, and when they answered, as one picture, for a chat or the page of a CI job.

--serve lists the runs in DIR (default out) and below on a local address. It also shows runs that
still go on.`,
		Example: `  transplant report out/seed-loss
  transplant report out/seed-loss out/other  # and compare them
  transplant report --image out/seed-loss    # and a picture of it
  transplant report --serve`,
		ValidArgsFunction: CompleteRuns,
		RunE: func(command *cobra.Command, folders []string) error {
			if server {
				ctx, stop := signal.NotifyContext(command.Context(), syscall.SIGINT, syscall.SIGTERM)
				defer stop()
				root := defaultRuns
				if len(folders) > 1 {
					return notRun{fmt.Errorf("serve %s: only one folder can be served", strings.Join(folders, ", "))}
				} else if len(folders) == 1 {
					root = folders[0]
				}
				return serve.Serve(ctx, serve.Options{Folder: root, Address: address, Ready: func(url string) {
					fmt.Fprintf(command.OutOrStdout(), "The runs in %s are shown at %s until interrupted.\n", root, url)
				}})
			}
			if len(folders) == 0 {
				return notRun{fmt.Errorf("report needs the folder of a run, or --serve")}
			}
			if err := reportAll(command, folders, comparison, image); err != nil {
				return notRun{err}
			}
			return nil
		},
	}
	command.Flags().BoolVar(&server, "serve", false, "serve a live list of the runs in DIR until interrupted")
	command.Flags().BoolVar(&image, "image", false, "also write report.svg, a picture of the run, in its folder")
	command.Flags().StringVar(&address, "address", "127.0.0.1:8740",
		"address for --serve, on the loopback interface")
	command.Flags().StringVar(&comparison, "comparison", "",
		"file for the comparison of runs (default comparison.html in the folder above them)")
	return command
}

func reportAll(command *cobra.Command, folders []string, comparison string, image bool) error {
	runs, err := runsIn(folders)
	if err != nil {
		return err
	}
	var unread error // what is wrong with one keeps nobody from the others
	runs = slices.DeleteFunc(runs, func(folder string) bool {
		err := report.Write(folder)
		if err == nil && image {
			err = report.WriteImage(folder)
		}
		if err != nil {
			unread = errors.Join(unread, fmt.Errorf("report the run in %q: %w", folder, err))
			return true
		}
		fmt.Fprintln(command.OutOrStdout(), filepath.Join(folder, report.FileName))
		if image {
			fmt.Fprintln(command.OutOrStdout(), filepath.Join(folder, report.ImageName))
		}
		return false
	})
	if len(runs) < 2 {
		return unread
	}
	return errors.Join(unread, compare(command, runs, comparison))
}

func compare(command *cobra.Command, runs []string, comparison string) error {
	runs, err := alike(runs)
	if err != nil {
		return err
	}
	if comparison == "" {
		above, err := above(runs)
		if err != nil {
			return err
		}
		comparison = filepath.Join(above, report.ComparisonName)
	}
	if err := report.WriteComparison(comparison, runs); err != nil {
		return err
	}
	fmt.Fprintln(command.OutOrStdout(), comparison)
	return nil
}

// alike makes all paths absolute if one is: there is no way from a relative one to an absolute one.
func alike(folders []string) ([]string, error) {
	if !slices.ContainsFunc(folders, filepath.IsAbs) {
		return folders, nil
	}
	all := make([]string, len(folders))
	for i, folder := range folders {
		var err error
		if all[i], err = filepath.Abs(folder); err != nil {
			return nil, fmt.Errorf("find the folder %q: %w", folder, err)
		}
	}
	return all, nil
}

// above is the deepest folder that holds all of these.
func above(folders []string) (string, error) {
	common := filepath.Dir(folders[0])
	for _, folder := range folders {
		for {
			way, err := filepath.Rel(common, folder)
			if err != nil {
				return "", fmt.Errorf("find the folder above %s: %w", strings.Join(folders, ", "), err)
			}
			if way != ".." && !strings.HasPrefix(way, ".."+string(filepath.Separator)) {
				break
			}
			common = filepath.Join(common, "..")
		}
	}
	return common, nil
}
