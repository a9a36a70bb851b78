package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/transplant-sim/transplant/sim/metrics"
	"github.com/transplant-sim/transplant/sim/report"
	"github.com/transplant-sim/transplant/sim/run/terminal"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/verdict"
)

// NewJudgeCommand is the command `judge DIR…`.
func NewJudgeCommand() *cobra.Command {
	var asJSON, write bool
	command := &cobra.Command{
		Use:   "judge DIR…",
		Short: "Judge runs again from their timelines",
		Long: `Judge runs again from their timelines. DIR is the folder of a run, or a folder of such folders.
The conditions of expect and wait are evaluated again over what was observed for them, unless an
earlier version has recorded the run.

The exit code is that of the verdict, as with the command run. If there are several runs, the exit
code is that of the gravest verdict. A run that still goes on has no verdict, which counts as Error.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(command *cobra.Command, folders []string) error {
			runs, err := runsIn(folders)
			if err != nil {
				return notRun{err}
			}
			j := &judge{out: command.OutOrStdout(), asJSON: asJSON, write: write, worst: verdict.Passed}
			for _, folder := range runs {
				if err := j.judge(folder); err != nil {
					return notRun{fmt.Errorf("judge the run in %q: %w", folder, err)}
				}
			}
			return j.result(command.ErrOrStderr())
		},
	}
	command.Flags().BoolVar(&asJSON, "json", false, "print each verdict as a line of JSON, like verdict.json")
	command.Flags().BoolVar(&write, "write", false,
		"write verdict.json, junit.xml, report.html and metrics.om in the folders again")
	return command
}

// judge of several runs.
type judge struct {
	out           io.Writer
	asJSON, write bool

	worst verdict.Verdict
	goOn  []error // why runs have no verdict yet
}

func (j *judge) judge(folder string) error {
	release, err := timeline.HoldEnded(folder)
	if running := (*timeline.GoesOnError)(nil); errors.As(err, &running) {
		j.goOn = append(j.goOn, err)
		return nil
	}
	if err != nil {
		return err
	}
	defer release() // until then no other run begins there
	judged, events, err := verdict.JudgeFolder(folder)
	if err == nil && j.write {
		err = errors.Join(verdict.Write(folder, judged, events), report.Write(folder), metrics.WriteFolder(folder, judged))
	}
	if err != nil {
		return err
	}
	j.worst = verdict.Worst(j.worst, judged.Verdict)
	if j.asJSON {
		if err := json.NewEncoder(j.out).Encode(judged); err != nil {
			return fmt.Errorf("print the verdict: %w", err)
		}
		return nil
	}
	terminal.Verdict(j.out, judged, folder)
	return nil
}

// result of all that were judged. Failed is graver than what is not known yet.
func (j *judge) result(errOut io.Writer) error {
	if len(j.goOn) == 0 {
		return result(j.worst)
	}
	if verdict.Worst(j.worst, verdict.Error) == verdict.Error {
		return notRun{errors.Join(j.goOn...)}
	}
	for _, err := range j.goOn {
		fmt.Fprintln(errOut, err)
	}
	return result(j.worst)
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
