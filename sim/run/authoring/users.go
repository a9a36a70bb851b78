package authoring

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/transplant-sim/transplant/api/spelling"
	"github.com/transplant-sim/transplant/sim/catalogue"
	"github.com/transplant-sim/transplant/sim/fault"
	"github.com/transplant-sim/transplant/sim/oracle"
	"github.com/transplant-sim/transplant/sim/scenario"
)

// users are the scenarios that use a fault or an oracle.
type users struct{ fault, oracle string }

func (u *users) addFlags(command *cobra.Command) {
	for _, flag := range []struct {
		into        *string
		name, usage string
		known       []string
	}{
		{&u.fault, "fault", "only scenarios with this fault, such as loseCluster", fault.Kinds()},
		{&u.oracle, "oracle", "only scenarios that are judged by this oracle, such as SingleWriter", oracle.Names()},
	} {
		command.Flags().StringVar(flag.into, flag.name, "", flag.usage)
		complete := cobra.FixedCompletions(flag.known, cobra.ShellCompDirectiveNoFileComp)
		if err := command.RegisterFlagCompletionFunc(flag.name, complete); err != nil {
			panic(err) // the flag is there, and has no other
		}
	}
}

// filter keeps the scenarios that use both. Of a file with mistakes nobody knows what it uses: that is an error.
func (u *users) filter(entries []catalogue.Entry) ([]catalogue.Entry, error) {
	for _, given := range []struct {
		flag, name string
		known      []string
	}{{"fault", u.fault, fault.Kinds()}, {"oracle", u.oracle, oracle.Names()}} {
		if given.name != "" && !slices.Contains(given.known, given.name) {
			return nil, fmt.Errorf("--%s %q: %s", given.flag, given.name, spelling.Suggest(given.name, given.known))
		}
	}
	if u.fault == "" && u.oracle == "" {
		return entries, nil
	}
	var kept []catalogue.Entry
	for _, e := range entries {
		s, err := scenario.ParseFile(e.Path)
		if err != nil {
			return nil, err
		}
		if u.match(s) {
			kept = append(kept, e)
		}
	}
	if len(kept) == 0 {
		given := []string{}
		for _, name := range []string{u.fault, u.oracle} {
			if name != "" {
				given = append(given, name)
			}
		}
		return nil, fmt.Errorf("list scenarios: none of them has %s", strings.Join(given, " and "))
	}
	return kept, nil
}

func (u *users) match(s *scenario.Scenario) bool {
	injects := false
	for i := range s.Spec.Steps {
		if inject := s.Spec.Steps[i].Fault; inject != nil {
			kind, _ := inject.Fault()
			injects = injects || kind == u.fault
		}
	}
	return (u.fault == "" || injects) && (u.oracle == "" || slices.Contains(s.Spec.Always, scenario.Oracle(u.oracle)))
}
