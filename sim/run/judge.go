package run

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/transplant-sim/transplant/api/output"
	"github.com/transplant-sim/transplant/api/userfile"
	"github.com/transplant-sim/transplant/sim/durable"
	"github.com/transplant-sim/transplant/sim/junit"
	"github.com/transplant-sim/transplant/sim/metrics"
	"github.com/transplant-sim/transplant/sim/report"
	"github.com/transplant-sim/transplant/sim/run/selection"
	"github.com/transplant-sim/transplant/sim/run/terminal"
	"github.com/transplant-sim/transplant/sim/summary"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/verdict"
)

// NewJudgeCommand is the command `judge DIR…`.
func NewJudgeCommand() *cobra.Command {
	var write, quiet bool
	var form *output.Form
	command := &cobra.Command{
		Use:   "judge DIR…",
		Short: "Judge runs again from their timelines",
		Long: `Judge runs again from their timelines. DIR is the folder of a run, or a folder of such folders.
The conditions of expect and wait are evaluated again over what was observed for them, unless an
earlier version has recorded the run.

The exit code is that of the verdict, as with the command run. If there are several runs, the exit
code is that of the gravest verdict. A run that still goes on has no verdict, which counts as Error.`,
		Example: `  transplant judge out/seed-loss
  transplant judge --write out               # of all runs in out
  transplant judge -o json out/seed-loss     # a list of what verdict.json has`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: CompleteRuns,
		RunE: func(command *cobra.Command, folders []string) error {
			runs, err := runsIn(folders)
			if err != nil {
				return notRun{err}
			}
			j := &judge{out: command.OutOrStdout(), form: form, write: write, quiet: quiet, all: []judgedRun{},
				worst: verdict.Passed}
			for _, folder := range runs {
				if err := j.judge(folder); err != nil {
					return notRun{errors.Join(fmt.Errorf("judge the run in %q: %w", folder, err), j.print())}
				}
			}
			return j.result(command.ErrOrStderr())
		},
	}
	command.Flags().BoolVarP(&quiet, "quiet", "q", false, "print only verdicts, what was violated, and errors")
	command.Flags().BoolVar(&write, "write", false,
		"write verdict.json, junit.xml, report.html and metrics.om in the folders again")
	form = output.AddFlag(command)
	form.AddJSON(command, output.Lines)
	return command
}

// judge of several runs.
type judge struct {
	out   io.Writer
	form  *output.Form
	write bool
	quiet bool // without measures

	all   []judgedRun // if data are asked for
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
	switch {
	case !j.form.Is(output.Text):
		j.all = append(j.all, judgedRun{folder, judged})
	case j.quiet:
		terminal.Brief(j.out, judged)
	default:
		terminal.Verdict(j.out, judged, folder)
	}
	return nil
}

// judgedRun is the verdict of a run, for programs.
type judgedRun struct {
	Folder string `json:"folder"`
	*verdict.Report
}

// print data, if they are asked for.
func (j *judge) print() error {
	if j.form.Is(output.Text) {
		return nil
	}
	return j.form.Print(j.out, j.all, nil)
}

// result of all that were judged. Failed is graver than what is not known yet.
func (j *judge) result(errOut io.Writer) error {
	if err := j.print(); err != nil {
		return notRun{err}
	}
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

// NewMergeCommand is the command `merge DIR…`.
func NewMergeCommand() *cobra.Command {
	var file, cases string
	var form *output.Form
	command := &cobra.Command{
		Use: "merge DIR…", Short: "Summarize the runs of several shards or machines in one page of Markdown",
		Long: `Summarize the runs of several shards or machines in one page of Markdown, as "run --summary" does for the
runs of one command. DIR is the folder of a run, or a folder of such folders. Each run is judged again
from its timeline.

A shard notes what it is going to run, and when it starts. A run without evidence since then is an Error
here, and all shards must be there. A folder of a shard that has not started still has what an earlier
command has left: give each --shard a new folder.

The exit code is that of the gravest verdict. No scenario may be in two folders.`,
		Example: `  transplant merge shard-1 shard-2 shard-3
  transplant merge shard-* --summary "$GITHUB_STEP_SUMMARY" --junit junit.xml
  transplant merge shard-* -o json                # a list of runs, with their verdicts`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: CompleteRuns,
		RunE: func(command *cobra.Command, folders []string) error {
			runs, worst, err := merge(folders)
			if err != nil {
				return notRun{err}
			}
			if file == "" || !form.Is(output.Text) {
				err = form.Print(command.OutOrStdout(), listed(runs), func(out io.Writer) error {
					return summary.Write(out, summaries(runs), nil)
				})
			}
			if file != "" {
				err = errors.Join(err, appendSummary(file, summaries(runs), nil))
			}
			if cases != "" {
				err = errors.Join(err, writeSuites(cases, runs))
			}
			if err != nil {
				return notRun{err}
			}
			return result(worst)
		},
	}
	command.Flags().StringVar(&file, "summary", "", "append the page to this file (default: print it)")
	command.Flags().StringVar(&cases, "junit", "", "write the test cases of all runs to this file, in JUnit's format")
	form = output.AddFlag(command)
	return command
}

// listedRun is a run of a merge, for programs.
type listedRun struct {
	Scenario string          `json:"scenario"`
	Folder   string          `json:"folder"`
	Verdict  verdict.Verdict `json:"verdict"`
	Error    string          `json:"error,omitempty"` // why there is no report
	Report   *verdict.Report `json:"report,omitempty"`
}

func listed(runs []merged) []listedRun {
	all := []listedRun{}
	for _, one := range runs {
		l := listedRun{Scenario: one.Name, Folder: one.Folder, Verdict: one.Verdict(), Report: one.Report}
		if one.Err != nil {
			l.Error = one.Err.Error()
		}
		all = append(all, l)
	}
	return all
}

// merged is one of the runs of a merge.
type merged struct {
	summary.Run
	suite junit.Suite
}

// unjudged is a run that has no verdict, for this reason, as a test case in error.
func unjudged(name, folder string, err error) merged {
	return merged{summary.Run{Name: name, Folder: folder, Err: err}, junit.Suite{Name: name,
		Cases: []junit.Case{{Class: name, Name: string(verdict.Error), Error: junit.Because(err.Error())}}}}
}

func summaries(runs []merged) []summary.Run {
	var all []summary.Run
	for _, one := range runs {
		all = append(all, one.Run)
	}
	return all
}

// writeSuites of runs to a file in JUnit's format.
func writeSuites(path string, runs []merged) error {
	var suites []junit.Suite
	for _, one := range runs {
		suites = append(suites, one.suite)
	}
	content, err := junit.Marshal(suites)
	if err != nil {
		return err
	}
	return durable.Disk{}.Write(filepath.Dir(path), durable.Bytes(filepath.Base(path), content))
}

// merge the runs in these folders, by the names of their scenarios.
func merge(folders []string) (all []merged, worst verdict.Verdict, err error) {
	plans, err := plansIn(folders)
	if err != nil {
		return nil, "", err
	}
	worst = verdict.Passed
	at := map[string]string{}
	for _, folder := range folders {
		found, err := mergedIn(folder, plans[folder])
		if err != nil {
			return nil, "", err
		}
		for _, run := range found {
			if other := at[run.Name]; other != "" {
				return nil, "", fmt.Errorf("merge runs: %s is in %s and in %s: give one of them", run.Name, other, run.Folder)
			}
			at[run.Name], all, worst = run.Folder, append(all, run), verdict.Worst(worst, run.Verdict())
		}
	}
	for folder, plan := range plans {
		for _, name := range plan.Runs {
			if at[name] == "" {
				at[name] = folder
				all = append(all, unjudged(name, folder, errors.New("the shard was to run it, and there is no evidence of it "+
					"since the shard started: the shard has not come to its end")))
				worst = verdict.Worst(worst, verdict.Error)
			}
		}
	}
	slices.SortFunc(all, func(a, b merged) int { return strings.Compare(a.Name, b.Name) })
	return all, worst, nil
}

// mergedIn a folder: the runs in it or, if it is that of a shard, those that the shard has run. An earlier command may
// have left others there, also of the same scenarios.
func mergedIn(folder string, plan *selection.Plan) (all []merged, err error) {
	var runs []string
	if plan == nil {
		if runs, err = runsIn([]string{folder}); err != nil {
			return nil, err
		}
	} else {
		runs = slices.DeleteFunc(plan.Evidence(folder), func(run string) bool {
			_, err := os.Stat(filepath.Join(run, timeline.FileName))
			return err != nil
		})
	}
	for _, run := range runs {
		one := judgeMerged(run)
		if plan == nil || one.Report == nil || !one.Report.Started.Before(plan.Started) {
			all = append(all, one)
		}
	}
	return all, nil
}

// judgeMerged judges the run in a folder.
func judgeMerged(folder string) merged {
	release, err := timeline.HoldEnded(folder)
	if err != nil {
		return unjudged(filepath.Base(folder), folder, err)
	}
	defer release()
	report, events, err := verdict.JudgeFolder(folder)
	if err != nil {
		return unjudged(filepath.Base(folder), folder, err)
	}
	return merged{summary.Run{Name: report.Scenario, Folder: folder, Report: report},
		verdict.SuiteOf(folder, report, events)}
}

// appendSummary of runs to a file.
func appendSummary(path string, runs []summary.Run, troubles []string) error {
	file, err := userfile.Append(path)
	if err != nil {
		return fmt.Errorf("open the summary: %w", err)
	}
	return errors.Join(summary.Write(file, runs, troubles), file.Close())
}

// plansIn folders of shards: what was to run in each.
func plansIn(folders []string) (map[string]*selection.Plan, error) {
	plans, parts, of := map[string]*selection.Plan{}, map[int]bool{}, 0
	for _, folder := range folders {
		plan, err := selection.PlanIn(folder)
		if err != nil {
			return nil, err
		}
		if plan == nil {
			continue
		}
		if of != 0 && plan.Of != of {
			return nil, fmt.Errorf("merge shards: %s is one of %d, another is one of %d", folder, plan.Of, of)
		}
		plans[folder], parts[plan.Part], of = plan, true, plan.Of
	}
	for part := range of {
		if !parts[part+1] {
			return nil, fmt.Errorf("merge shards: part %d of %d is missing: give its folder, or run --shard %[1]d/%d",
				part+1, of)
		}
	}
	return plans, nil
}

// runsIn finds the folders with a timeline: those given, or those right below them. A shard may have none.
func runsIn(folders []string) ([]string, error) {
	var runs []string
	for _, folder := range folders {
		if _, err := os.Stat(filepath.Join(folder, timeline.FileName)); err == nil {
			runs = append(runs, folder)
			continue
		}
		below, err := filepath.Glob(filepath.Join(folder, "*", timeline.FileName))
		if plan, unread := selection.PlanIn(folder); plan != nil || unread != nil {
			err = unread
		} else if len(below) == 0 {
			err = fs.ErrNotExist
		}
		if err != nil {
			return nil, fmt.Errorf("find a run in %q: there is no %s in it or right below it", folder, timeline.FileName)
		}
		for _, file := range below {
			runs = append(runs, filepath.Dir(file))
		}
	}
	return runs, nil
}

// complete the values of a flag in a shell.
func complete(command *cobra.Command, flag string, values cobra.CompletionFunc) {
	if err := command.RegisterFlagCompletionFunc(flag, values); err != nil {
		panic(err) // there is no such flag, or it is registered twice
	}
}

// CompleteRuns names the folders of runs below out, for a shell; other folders are completed, too.
func CompleteRuns(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var all []cobra.Completion
	for _, depth := range []string{"*", "*/*"} {
		found, _ := filepath.Glob(filepath.Join(defaultRuns, depth, timeline.FileName)) // the pattern is right
		for _, file := range found {
			all = append(all, filepath.Dir(file))
		}
	}
	return all, cobra.ShellCompDirectiveDefault
}
