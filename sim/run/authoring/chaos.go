package authoring

import (
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/transplant-sim/transplant/sim/fault"
	"github.com/transplant-sim/transplant/sim/fault/chaosmesh/export"
	"github.com/transplant-sim/transplant/sim/run/selection"
	"github.com/transplant-sim/transplant/sim/scenario"
)

// NewChaosCommand is the command `chaos`, about faults in the format of Chaos Mesh.
func NewChaosCommand(builtIn fs.FS) *cobra.Command {
	command := &cobra.Command{Use: "chaos", Short: "Exchange faults with Chaos Mesh"}
	command.AddCommand(newExport(builtIn))
	return command
}

func newExport(builtIn fs.FS) *cobra.Command {
	s := selection.Scenarios{BuiltIn: builtIn}
	return &cobra.Command{
		Use: "export NAME|FILE", Short: "Print the faults of a scenario as objects of Chaos Mesh",
		Long: `Print the faults of a scenario as objects of Chaos Mesh.

Faults that have no such form are named in comments, with the reason. externalTargets are names of the
landscape: give addresses in their place before you create the objects in another cluster. To import an
object, paste it into a chaos fault of a scenario.`,
		Example: `  transplant chaos export poor-network
  transplant chaos export my-scenario.yaml > chaos.yaml`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: s.Complete,
		RunE: func(command *cobra.Command, arguments []string) error {
			entries, err := s.Entries(arguments)
			if err != nil {
				return err
			}
			for _, e := range entries {
				parsed, err := scenario.ParseFile(e.Path)
				if err != nil {
					return err
				}
				var faults []*fault.Spec
				for _, step := range parsed.Spec.Steps {
					if step.Fault != nil {
						faults = append(faults, &step.Fault.Spec)
					}
				}
				text, err := export.Faults(faults, parsed.Spec.Landscape)
				if err != nil {
					return err
				}
				if _, err := fmt.Fprint(command.OutOrStdout(), text); err != nil {
					return fmt.Errorf("print the faults: %w", err)
				}
			}
			return nil
		},
	}
}
