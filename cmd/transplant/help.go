package main

import "github.com/spf13/cobra"

// Groups of the commands, by what people want.
const (
	forScenarios  = "scenarios"
	forResults    = "results"
	forLandscapes = "landscapes"
	forOther      = "other"
	programs      = "programs"
)

// addGroups to the help of the root command. Programs, which people do not start, are shown by --help --all alone.
func addGroups(root *cobra.Command) (add func(group string, commands ...*cobra.Command)) {
	started := &cobra.Group{ID: programs, Title: `Programs of a landscape, which the commands start: see "--help --all"`}
	root.AddGroup(
		&cobra.Group{ID: forScenarios, Title: "Scenarios:"},
		&cobra.Group{ID: forResults, Title: "Results of runs:"},
		&cobra.Group{ID: forLandscapes, Title: "Landscapes that stay:"},
		&cobra.Group{ID: forOther, Title: "Other commands:"},
		started,
	)
	root.SetHelpCommandGroupID(forOther)
	root.SetCompletionCommandGroupID(forOther)
	var all bool
	root.Flags().BoolVar(&all, "all", false, "with --help: list the programs of a landscape, too")
	show := root.HelpFunc()
	root.SetHelpFunc(func(command *cobra.Command, arguments []string) {
		if all && command == root {
			started.Title = "Programs of a landscape, which the commands start:"
			for _, program := range root.Commands() {
				program.Hidden = program.Hidden && program.GroupID != programs
			}
		}
		show(command, arguments)
	})
	return func(group string, commands ...*cobra.Command) {
		for _, command := range commands {
			command.GroupID, command.Hidden = group, command.Hidden || group == programs
			root.AddCommand(command)
		}
	}
}
