package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/transplant-sim/transplant/sim/metrics"
	"github.com/transplant-sim/transplant/sim/report"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/verdict"
)

// NewJudgeCommand is the command `judge DIR…`.
func NewJudgeCommand() *cobra.Command {
	var asJSON, write bool
	command := &cobra.Command{
		Use:   "judge DIR…",
		Short: "Judge runs again, by their timelines",
		Long: `Judge runs again, by their timelines. DIR is the folder of a run, or holds such folders.

The exit code is that of the verdict, as of the command run; of several the gravest.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(command *cobra.Command, folders []string) error {
			runs, err := runsIn(folders)
			if err != nil {
				return untold{err}
			}
			worst := verdict.Held
			for _, folder := range runs {
				judged, events, err := verdict.JudgeFolder(folder)
				if err == nil && write {
					err = errors.Join(verdict.Write(folder, judged, events), report.Write(folder), metrics.WriteFolder(folder, judged))
				}
				if err != nil {
					return untold{fmt.Errorf("judge the run in %q: %w", folder, err)}
				}
				worst = verdict.Worst(worst, judged.Verdict)
				if !asJSON {
					show(command.OutOrStdout(), judged, folder)
				} else if err := json.NewEncoder(command.OutOrStdout()).Encode(judged); err != nil {
					return untold{fmt.Errorf("print the verdict: %w", err)}
				}
			}
			return result(worst)
		},
	}
	command.Flags().BoolVar(&asJSON, "json", false, "print one verdict.json a line")
	command.Flags().BoolVar(&write, "write", false, "write verdict.json, junit.xml, report.html and metrics.om of the folders anew")
	return command
}

// runsIn finds the folders with a timeline: those given, or those right below them.
func runsIn(folders []string) ([]string, error) {
	var runs []string
	for _, folder := range folders {
		if _, err := os.Stat(filepath.Join(folder, timeline.FileName)); err == nil {
			runs = append(runs, folder)
			continue
		}
		below, err := filepath.Glob(filepath.Join(folder, "*", timeline.FileName))
		if err != nil || len(below) == 0 {
			return nil, fmt.Errorf("find a run in %q: there is no %s in it or right below it", folder, timeline.FileName)
		}
		for _, file := range below {
			runs = append(runs, filepath.Dir(file))
		}
	}
	return runs, nil
}
