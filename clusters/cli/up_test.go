package cli

import (
	"slices"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The supervisor gets every flag as it was given. Of one that may be repeated it gets each value, whatever is in it.
func TestPlanFlags_FlagsOfTheCaller_ReachTheSupervisor(t *testing.T) {
	t.Parallel()
	configure := Configure{AddFlags: func(flags *pflag.FlagSet) {
		flags.StringArray("extension", nil, "")
		flags.String("bucket-url", "", "")
	}}
	given, parsed := planFlags{}, planFlags{}
	command, supervise := &cobra.Command{}, &cobra.Command{}
	given.register(command, configure)
	parsed.register(supervise, configure)
	want := []string{"a,b.yaml", "c [d].yaml"}
	if err := command.ParseFlags([]string{"--extension", want[0], "--extension", want[1],
		"--bucket-url=file:///x"}); err != nil {
		t.Fatal(err)
	}
	if err := supervise.ParseFlags(given.arguments()[1:]); err != nil {
		t.Fatal(err)
	}
	extensions, err := parsed.own.GetStringArray("extension")
	if err != nil || !slices.Equal(extensions, want) {
		t.Errorf("the supervisor gets %q, %v", extensions, err)
	}
	if url, err := parsed.own.GetString("bucket-url"); err != nil || url != "file:///x" {
		t.Errorf("and %q, %v", url, err)
	}
}
