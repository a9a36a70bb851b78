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

// The supervisor makes the ring that was asked for, of the seeds that the caller names.
func TestPlanFlags_Ring_ReachesTheSupervisor(t *testing.T) {
	t.Parallel()
	configure := Configure{Ring: func(int) ([]string, error) { return []string{"first", "a", "b", "c"}, nil }}
	given, parsed := planFlags{}, planFlags{}
	command, supervise := &cobra.Command{}, &cobra.Command{}
	given.register(command, configure)
	parsed.register(supervise, configure)
	if err := command.ParseFlags([]string{"--ring=3"}); err != nil {
		t.Fatal(err)
	}
	if err := given.shape(command.Flags(), configure); err != nil {
		t.Fatal(err)
	}
	if err := supervise.ParseFlags(given.arguments()[1:]); err != nil {
		t.Fatal(err)
	}
	if err := parsed.shape(supervise.Flags(), configure); err != nil {
		t.Fatal(err)
	}
	if parsed.ring != 3 || !slices.Equal(parsed.seeds, given.seeds) || len(parsed.seeds) != 4 {
		t.Errorf("the supervisor makes a ring of %d among %q", parsed.ring, parsed.seeds)
	}
}
