// Package authoring is the commands for those who look for a scenario or write one: scenarios list, scenarios show,
// init and schema. They start nothing.
//
// It knows no scenario by name, and does not say what is wrong in a file: that is for the command validate.
package authoring

import (
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/transplant-sim/transplant/api/output"
	"github.com/transplant-sim/transplant/api/userfile"
	"github.com/transplant-sim/transplant/sim/catalogue"
	"github.com/transplant-sim/transplant/sim/run/selection"
)

// maxSize of a scenario file in bytes.
const maxSize = 1 << 20

// NewScenariosCommand is the command `scenarios`, about those that the program has and those in folders.
func NewScenariosCommand(builtIn fs.FS) *cobra.Command {
	command := &cobra.Command{Use: "scenarios", Short: "List and show scenarios"}
	command.AddCommand(newList(builtIn), newShow(builtIn))
	return command
}

// listed is a scenario as programs get it.
type listed struct {
	Name    string            `json:"name"`
	Purpose string            `json:"purpose"` // its folder
	Labels  map[string]string `json:"labels,omitempty"`
	Why     string            `json:"why"`
	Path    string            `json:"path"`
	Error   string            `json:"error,omitempty"` // why the file cannot be read
}

func newList(builtIn fs.FS) *cobra.Command {
	s := selection.Scenarios{BuiltIn: builtIn}
	var form *output.Form
	var of users
	command := &cobra.Command{
		Use: "list [NAME|FILE]…", Short: "List scenarios, with what each promises",
		Long: "List scenarios, with what each promises.\n\n" + selection.Help,
		Example: `  transplant scenarios list
  transplant scenarios list -l tier=smoke -o wide
  transplant scenarios list --fault loseCluster      # that inject this fault
  transplant scenarios list --scenarios my/folder -o json`,
		ValidArgsFunction: s.Complete,
		RunE: func(command *cobra.Command, arguments []string) error {
			entries, err := s.Entries(arguments)
			if err == nil {
				entries, err = of.filter(entries)
			}
			if err != nil {
				return err
			}
			all := make([]listed, len(entries))
			for i, e := range entries {
				all[i] = listOf(e)
			}
			return form.Print(command.OutOrStdout(), all, func(out io.Writer) error {
				return table(out, all, form.Is(output.Wide))
			})
		},
	}
	form = output.AddFlag(command, output.Wide)
	of.addFlags(command)
	s.AddFlags(command)
	return command
}

func listOf(e catalogue.Entry) listed {
	one := listed{Name: e.Name, Labels: e.Labels, Why: e.Why, Path: e.Path, Purpose: filepath.Base(filepath.Dir(e.Path))}
	if e.Unread != nil {
		one.Error = e.Unread.Error()
	}
	return one
}

func table(out io.Writer, all []listed, wide bool) error {
	header := []string{"NAME", "TIER", "PURPOSE", "WHY"}
	if wide {
		header = append(header, "FILE")
	}
	var rows [][]string
	for _, one := range all {
		row := []string{one.Name, one.Labels["tier"], one.Purpose, one.Why}
		if one.Error != "" {
			row[3] = "cannot be read: " + one.Error
		}
		if wide {
			row = append(row, one.Path)
		}
		rows = append(rows, row)
	}
	return output.Table(out, header, rows)
}

func newShow(builtIn fs.FS) *cobra.Command {
	s := selection.Scenarios{BuiltIn: builtIn}
	command := &cobra.Command{
		Use: "show NAME", Short: "Print the file of a scenario",
		Long: `Print the file of a scenario as it stands, to copy from. "transplant plan" prints it with every default
filled in.

Its first line names a schema for editors, in the folder above. "transplant schema scenario" prints that.`,
		Example: `  transplant scenarios show seed-loss
  transplant scenarios show seed-loss > my-scenario.yaml`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: s.Complete,
		RunE: func(command *cobra.Command, arguments []string) error {
			entries, err := s.Entries(arguments)
			if err != nil {
				return err
			}
			content, err := userfile.Read(entries[0].Path, maxSize)
			if err != nil {
				return fmt.Errorf("show the scenario: %w", err)
			}
			_, err = command.OutOrStdout().Write(content)
			return err
		},
	}
	s.AddFlags(command)
	return command
}
