package main

import (
	"fmt"
	"os"
	"regexp"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/transplant-sim/transplant/cmd/transplant/actors"
)

func newMan() *cobra.Command {
	return &cobra.Command{
		Use: "man FOLDER", Short: "Write a manual page for each command",
		Long: `Write a manual page for each command for people, such as transplant-run.1. The folder is made if it is
missing. Pages of an earlier version in it are overwritten.`,
		Example: `  transplant man ~/.local/share/man/man1
  man transplant-run`,
		Args: cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, arguments []string) error {
			if err := os.MkdirAll(arguments[0], 0o755); err != nil {
				return fmt.Errorf("make the folder for the manual pages: %w", err)
			}
			root := command.Root()
			forManual(root)
			header := &doc.GenManHeader{Section: "1", Source: "transplant " + actors.Version, Manual: "transplant"}
			if err := doc.GenManTree(root, header, arguments[0]); err != nil {
				return fmt.Errorf("write the manual pages: %w", err)
			}
			return nil
		},
	}
}

// set begins a line that is set apart, as a table is.
var set = regexp.MustCompile(`(?m)^  (\S)`)

// forManual keeps lines that are set apart as they are: in Markdown, as which help is read, they have four spaces.
func forManual(command *cobra.Command) {
	command.DisableAutoGenTag = true // else each page changes every day
	command.Long = set.ReplaceAllString(command.Long, "    $1")
	for _, child := range command.Commands() {
		forManual(child)
	}
}
