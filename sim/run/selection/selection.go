// Package selection finds the scenario files that a command is about: by their names, paths or labels, and as one of
// several parts of them. It does not say what is wrong in a file, except that labels cannot be read.
package selection

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/transplant-sim/transplant/sim/catalogue"
)

// Scenarios is which scenario files a command is about.
type Scenarios struct {
	Folder   string // where scenarios are looked up by name and label
	Selector string // of labels; empty for whatever they are
}

// AddFlags adds the flags that say so.
func (s *Scenarios) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&s.Folder, "scenarios", "scenarios", "folder where scenarios are found by their names and labels")
	flags.StringVarP(&s.Selector, "selector", "l", "", "only scenarios whose labels match, such as tier=smoke or "+
		"'tier in (smoke,core)'; if you name none, of all in --scenarios")
}

// Help is what the help of each command says about its arguments.
const Help = `Name a scenario, or give the path of its file. The command looks for names in
the folder --scenarios and below. An argument with a slash or a dot is a path. -l takes only scenarios
whose labels match: of those that you name, or else of all in --scenarios. The scenarios in the
repository have the label tier: smoke, core or nightly.`

// Check says what to give to whoever gives neither arguments nor a selector.
func (s *Scenarios) Check(command string, arguments []string) error {
	if len(arguments) == 0 && s.Selector == "" {
		return fmt.Errorf("%s which scenarios? give names such as planned-migration, scenario files, or -l tier=smoke",
			command)
	}
	return nil
}

// Files are those that are meant by the arguments, in their order, or else by their names.
func (s *Scenarios) Files(arguments []string) ([]string, error) {
	selector, err := labels.Parse(s.Selector)
	if err != nil {
		return nil, fmt.Errorf("--selector %q: %w", s.Selector, err)
	}
	entries, err := s.entries(arguments)
	if err != nil {
		return nil, err
	}
	if s.Selector != "" {
		entries = catalogue.Filter(entries, selector)
	}
	var files []string
	for _, e := range entries {
		files = append(files, e.Path)
	}
	switch {
	case len(files) > 0:
		return files, nil
	case len(arguments) > 0:
		return nil, fmt.Errorf("--selector %q: none of the scenarios that are given has such labels", s.Selector)
	}
	return nil, fmt.Errorf("--selector %q: no scenario in %s has such labels", s.Selector, s.Folder)
}

// entries that are named, or all.
func (s *Scenarios) entries(arguments []string) ([]catalogue.Entry, error) {
	var known *catalogue.Catalogue
	var entries []catalogue.Entry
	var errs []error
	for _, argument := range arguments {
		if isPath(argument) {
			entries = append(entries, catalogue.File(argument))
			continue
		}
		if known == nil {
			var err error
			if known, err = catalogue.Read(s.Folder); err != nil {
				return nil, fmt.Errorf("find the scenario %q by its name: %w; %s", argument, err, elsewhere(argument))
			}
		}
		found, err := known.Find(argument)
		if err != nil {
			errs = append(errs, fmt.Errorf("%w; %s", err, elsewhere(argument)))
		}
		entries = append(entries, found)
	}
	if len(arguments) > 0 {
		return entries, errors.Join(errs...)
	}
	known, err := catalogue.Read(s.Folder)
	if err != nil {
		return nil, fmt.Errorf("%w; give another with --scenarios", err)
	}
	return known.Select(labels.Everything()), nil
}

// isPath says whether an argument is the path of a file, and not the name of a scenario, which is a DNS label.
func isPath(argument string) bool {
	return strings.ContainsAny(argument, "./"+string(filepath.Separator))
}

// elsewhere says where else a scenario may be that is not found by its name.
func elsewhere(name string) string {
	if _, err := os.Stat(name); err == nil {
		return fmt.Sprintf("the file %s is given as .%c%s", name, filepath.Separator, name)
	}
	return "give the path of its file, or another folder with --scenarios"
}
