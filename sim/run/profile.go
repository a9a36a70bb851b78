package run

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/transplant-sim/transplant/sim/profile"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// NewProfileCommand is the command `profile DIR…`.
func NewProfileCommand() *cobra.Command {
	var asJSON bool
	command := &cobra.Command{
		Use:   "profile DIR…",
		Short: "Say where the work of runs went: processor time and requests by phase",
		Long: `Say where the work of runs went: processor time and wake-ups by program, requests and bytes by
actor, verb and resource, in each phase. DIR is the folder of a run, or a folder of such folders.

A landscape on kind has no programs: its processes are counted together.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(command *cobra.Command, folders []string) error {
			runs, err := runsIn(folders)
			if err != nil {
				return notRun{err}
			}
			for _, folder := range runs {
				if err := printProfile(command.OutOrStdout(), folder, asJSON); err != nil {
					return notRun{fmt.Errorf("profile the run in %q: %w", folder, err)}
				}
			}
			return nil
		},
	}
	command.Flags().BoolVar(&asJSON, "json", false, "print each profile as a line of JSON")
	return command
}

func printProfile(out io.Writer, folder string, asJSON bool) error {
	record, err := timeline.ReadFile(filepath.Join(folder, timeline.FileName))
	if err != nil {
		return err
	}
	phases := profile.Of(record.Events)
	if asJSON {
		if err := json.NewEncoder(out).Encode(phases); err != nil {
			return fmt.Errorf("print the profile: %w", err)
		}
		return nil
	}
	fmt.Fprintf(out, "%s\n", folder)
	for _, p := range phases {
		fmt.Fprintf(out, "\n%s, %.1f s\n", p.Name, p.Seconds)
		table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		for _, u := range p.Programs {
			fmt.Fprintf(table, "  %s\t%s\t%.2f CPU-s\t%d wake-ups\n", u.Program, u.Parent, u.CPUSeconds, u.WakeUps)
		}
		for _, l := range p.Links {
			fmt.Fprintf(table, "  %s\t%s\t%d requests\t%d bytes\n", l.From, l.To, l.Requests, l.Bytes)
		}
		for _, r := range p.Requests {
			fmt.Fprintf(table, "  %s\t%s\t%d\t%s %s\n", r.From, r.To, r.Requests, r.Verb, r.Resource)
		}
		if err := table.Flush(); err != nil {
			return fmt.Errorf("print the profile: %w", err)
		}
	}
	return nil
}
