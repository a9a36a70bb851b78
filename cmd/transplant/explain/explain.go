// Package explain is the command `transplant explain`: it says what the rules of the product decide and why, from
// files alone. No landscape is started and nothing is changed.
//
// A topic is one file with one constructor, listed in topics. It has a form for people and, with --jsonl, one for
// machines: a question a line on standard input, an answer a line on standard output. The decisions themselves are made
// by the pure packages below controllers; nothing is decided here.
package explain

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// topics lists what can be explained.
func topics() []*cobra.Command {
	return []*cobra.Command{
		newMaintenance(), newRollout(), newWindow(),
		newWebhooks(), newStatus(), newErrors(), newTolerations(), newCleanup(),
	}
}

// NewCommand is the command `explain NAME`.
func NewCommand() *cobra.Command {
	command := &cobra.Command{
		Use:          "explain NAME",
		Short:        "Explain what the rules decide and why, without a landscape",
		SilenceUsage: true,
		Args:         cobra.ArbitraryArgs,
		// The flags of a topic that does not exist are not what is wrong.
		FParseErrWhitelist: cobra.FParseErrWhitelist{UnknownFlags: true},
		RunE: func(command *cobra.Command, args []string) error {
			if len(args) == 0 {
				return command.Help()
			}
			return fmt.Errorf("explain %q: no such topic: choose one of %s", args[0], strings.Join(names(command), ", "))
		},
	}
	command.AddCommand(topics()...)
	return command
}

// names are the topics' names, in alphabetical order.
func names(command *cobra.Command) []string {
	var names []string
	for _, topic := range command.Commands() {
		names = append(names, topic.Name())
	}
	return names
}
