package run

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/transplant-sim/transplant/api/output"
	"github.com/transplant-sim/transplant/api/userfile"
	"github.com/transplant-sim/transplant/sim/trend"
	"github.com/transplant-sim/transplant/sim/verdict"
)

// maxHistory bounds the file of a history, in bytes: about a million runs.
const maxHistory = 1 << 30

// NewTrendCommand is the command `trend FILE`.
func NewTrendCommand() *cobra.Command {
	var form *output.Form
	var options trend.Options
	command := &cobra.Command{
		Use:   "trend FILE",
		Short: "Say whether RTO, RPO or API downtime got worse",
		Long: `Say whether RTO, RPO or API downtime got worse. "run --history FILE" writes FILE.

The command compares the newest run of each scenario and backend with the runs before it. A measure
is worse if both of these are true:

- It is above their median by more than the tolerance.
- It is above their median by more than three standard deviations, which the command estimates from
  the median absolute deviation.

If the earlier runs have a measure and the newest run does not, it is worse too: the event that it
measures never happened. With fewer than three earlier runs, or fewer than --last if that is less,
the command says nothing. Runs with the verdict Error or Inconclusive do not count.

Exit codes: 0 nothing got worse, 1 something got worse, 2 the file cannot be read.`,
		Example: `  transplant run seed-loss --history history.jsonl
  transplant trend history.jsonl
  transplant trend history.jsonl -o json`,
		Args: cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, files []string) error {
			if options.Last < 1 || !(options.Tolerance >= 0) { // NaN is neither
				return notRun{fmt.Errorf("--last %d, --tolerance %g: must be at least 1 and at least 0", options.Last,
					options.Tolerance)}
			}
			file, err := userfile.Open(files[0], maxHistory)
			if err != nil {
				return notRun{fmt.Errorf("open the history: %w", err)}
			}
			defer file.Close()
			records, err := trend.Read(file, files[0])
			if err != nil {
				return notRun{err}
			}
			trends := append([]trend.Trend{}, trend.Compare(records, options)...) // a list, also without any
			err = form.Print(command.OutOrStdout(), trends, func(out io.Writer) error { return showTrends(out, trends) })
			if err != nil {
				return notRun{err}
			}
			return worse(trends)
		},
	}
	form = output.AddFlag(command)
	form.AddJSON(command, output.Lines)
	command.Flags().IntVar(&options.Last, "last", 10, "number of earlier runs to compare with, at most")
	command.Flags().Float64Var(&options.Tolerance, "tolerance", 0.2,
		"fraction of the median by which a run may always exceed it")
	return command
}

// worseError is the error of a command that found something to be worse.
type worseError int

func (w worseError) Error() string { return fmt.Sprintf("%d measures got worse", int(w)) }

// ExitCode of the program, as with a run that failed.
func (w worseError) ExitCode() int { return verdict.Failed.ExitCode() }

func worse(trends []trend.Trend) error {
	count := 0
	for _, t := range trends {
		if t.Worse {
			count++
		}
	}
	if count == 0 {
		return nil
	}
	return worseError(count)
}

func showTrends(out io.Writer, trends []trend.Trend) error {
	if len(trends) == 0 {
		_, err := fmt.Fprintln(out,
			"There is nothing to compare: no run in it passed or failed and has measured RTO, RPO or API downtime.")
		return err
	}
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "SCENARIO\tBACKEND\tMEASURE\tNEWEST\tMEDIAN\tLIMIT\tEARLIER\tRESULT")
	for _, t := range trends {
		newest, median, limit, result := "none", "-", "-", "too few earlier runs"
		if t.Newest != nil {
			newest = fmt.Sprintf("%.3f", *t.Newest)
		}
		if t.Limit != nil {
			median, limit, result = fmt.Sprintf("%.3f", *t.Median), fmt.Sprintf("%.3f", *t.Limit), "not worse"
		}
		if t.Worse {
			result = "WORSE"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%d\t%s\n", t.Scenario, t.Backend, t.Measure, newest, median, limit,
			t.Earlier, result)
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("print the trends: %w", err)
	}
	return nil
}
