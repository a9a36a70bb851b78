package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/transplant-sim/transplant/api/output"
	"github.com/transplant-sim/transplant/api/userfile"
	"github.com/transplant-sim/transplant/sim/profile"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/verdict"
)

// maxProfile bounds the file of a profile, in bytes; a large one has some hundred kilobytes.
const maxProfile = 16 << 20

// NewProfileCommand is the command `profile DIR`.
func NewProfileCommand() *cobra.Command {
	var form *output.Form
	var against string
	var most float64
	command := &cobra.Command{
		Use:   "profile DIR",
		Short: "Say where the work of a run went: processor time and requests by phase",
		Long: `Say where the work of a run went: processor time and wake-ups by program, requests and bytes by
actor, verb and resource, in each phase. DIR is the folder of the run. For each phase and for all of
them the first line has the share of the harness: what it has used, in percent of what it watches.

With --against, the run is compared with another one of the same scenario. The command fails, with
the exit code of a run that has Failed, if a kind of request occurs at least twice as often. A phase
that took longer may have as many more.

With --harness-at-most, it also fails if the harness has used more than that many percent, in phase
recovery or in all phases together.`,
		Example: `  transplant profile out/seed-loss
  transplant profile out/earlier -o json >earlier.json
  transplant profile out/seed-loss --against earlier.json`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: CompleteRuns,
		RunE: func(command *cobra.Command, folders []string) error {
			out := command.OutOrStdout()
			phases, err := profileOf(folders[0])
			if !(most >= 0) { // NaN is not
				err = fmt.Errorf("--harness-at-most %g: must be at least 0", most)
			}
			if err != nil {
				return notRun{err}
			}
			err = form.Print(out, phases, func(out io.Writer) error { return printProfile(out, phases) })
			if err != nil {
				return notRun{fmt.Errorf("print the profile: %w", err)}
			}
			found, err := compareProfile(against, phases)
			if err != nil {
				return err
			}
			for _, what := range append(found, profile.Heavy(phases, most)...) {
				fmt.Fprintln(command.ErrOrStderr(), what)
				err = result(verdict.Failed)
			}
			return err
		},
	}
	form = output.AddFlag(command)
	form.AddJSON(command, output.JSON)
	command.Flags().StringVar(&against, "against", "", "`FILE` with what --output json has printed for another run")
	command.Flags().Float64Var(&most, "harness-at-most", 0,
		"what the harness may use, in `percent` of what it watches; 0 for as much as it likes")
	return command
}

func profileOf(folder string) ([]profile.Phase, error) {
	record, err := timeline.ReadFile(filepath.Join(folder, timeline.FileName))
	if err != nil {
		return nil, err
	}
	phases := profile.Of(record.Events)
	if len(phases) == 0 {
		return nil, fmt.Errorf("profile the run in %q: its timeline has no event CostSeen; was it stopped while it began?",
			folder)
	}
	return phases, nil
}

// compareProfile with that in a file, if one is named.
func compareProfile(file string, now []profile.Phase) ([]string, error) {
	if file == "" {
		return nil, nil
	}
	content, err := userfile.Read(file, maxProfile)
	if err != nil {
		return nil, notRun{fmt.Errorf("read the other profile: %w", err)}
	}
	var before []profile.Phase
	if err := json.Unmarshal(content, &before); err != nil {
		return nil, notRun{fmt.Errorf("read the other profile: %s is not what transplant profile -o json prints: %w",
			file, err)}
	}
	return profile.Doubled(before, now), nil
}

func printProfile(out io.Writer, phases []profile.Phase) error {
	var errs []error
	fmt.Fprintf(out, "all phases: %s\n", profile.ShareOf(phases...))
	for _, p := range phases {
		fmt.Fprintf(out, "%s, %.1f s: %s\n", p.Name, p.Seconds, profile.ShareOf(p))
		table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		for _, u := range p.Programs {
			fmt.Fprintf(table, "  %s\t%s\t%.2f CPU s\t%d wake-ups\n", u.Program, u.Parent, u.CPUSeconds, u.WakeUps)
		}
		for _, l := range p.Links {
			fmt.Fprintf(table, "  %s\t%s\t%d requests\t%d bytes\n", l.From, l.To, l.Requests, l.Bytes)
		}
		for _, r := range p.Requests {
			fmt.Fprintf(table, "  %s\t%s\t%d\t%s %s\n", r.From, r.To, r.Requests, r.Verb, r.Resource)
		}
		errs = append(errs, table.Flush())
	}
	return errors.Join(errs...)
}
