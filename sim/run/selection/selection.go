// Package selection finds the scenario files that a command is about: by their names, paths or labels, and as one of
// several parts of them. It does not say what is wrong in a file, except that labels cannot be read.
package selection

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/transplant-sim/transplant/api/unpacked"
	"github.com/transplant-sim/transplant/api/userfile"
	"github.com/transplant-sim/transplant/sim/catalogue"
)

// Scenarios is which scenario files a command is about.
type Scenarios struct {
	Folder   string // where scenarios are looked up by name and label; empty for the usual one, and BuiltIn
	Selector string // of labels; empty for whatever they are
	BuiltIn  fs.FS  // the scenarios that the program has; nil for none

	read []*catalogue.Catalogue // once they are
}

// usual is where scenarios are looked up first if no folder is given.
const usual = "scenarios"

// AddFlags adds the flags that say so.
func (s *Scenarios) AddFlags(command *cobra.Command) {
	flags := command.Flags()
	flags.StringVar(&s.Folder, "scenarios", "", "folder where scenarios are found by their names and labels (default "+
		usual+", or else those of this program)")
	flags.StringVarP(&s.Selector, "selector", "l", "", "only scenarios whose labels match, such as tier=smoke or "+
		"'tier in (smoke,core)'; if you name none, of all in --scenarios")
	for flag, values := range map[string]cobra.CompletionFunc{
		"selector": s.completeLabels, "scenarios": cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs),
	} {
		if err := command.RegisterFlagCompletionFunc(flag, values); err != nil {
			panic(err) // there is no such flag, or it is registered twice
		}
	}
}

// completeLabels of scenarios for a shell, as a selector of one of them.
func (s *Scenarios) completeLabels(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	known, err := s.catalogues()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	found := map[string]bool{}
	for _, e := range known[len(known)-1].Select(labels.Everything()) {
		for key, value := range e.Labels {
			found[key+"="+value] = true
		}
	}
	return slices.Sorted(maps.Keys(found)), cobra.ShellCompDirectiveNoFileComp
}

// Help is what the help of each command says about its arguments.
const Help = `Name a scenario, or give the path of its file. The command looks for names in the folder
--scenarios and below. Without this flag, it looks in the folder scenarios if there is one, and then
among the scenarios of this program ("transplant scenarios list"). An argument with a slash or a dot
is a path. -l takes only scenarios whose labels match: of those that you name, or else of all in the
folder. The scenarios of this program have the label tier: smoke, core or nightly.`

// Check says what to give to whoever gives neither arguments nor a selector.
func (s *Scenarios) Check(command string, arguments []string) error {
	if len(arguments) == 0 && s.Selector == "" {
		return fmt.Errorf("%s which scenarios? give names such as planned-migration, scenario files, or -l tier=smoke",
			command)
	}
	return nil
}

// Files are the paths of Entries, also beside an error.
func (s *Scenarios) Files(arguments []string) ([]string, error) {
	entries, err := s.Entries(arguments)
	files := make([]string, len(entries))
	for i, e := range entries {
		files[i] = e.Path
	}
	return files, err
}

// Complete names of scenarios for a shell, each with its why; files are completed, too.
func (s *Scenarios) Complete(_ *cobra.Command, given []string, _ string) ([]cobra.Completion,
	cobra.ShellCompDirective) {
	var all []cobra.Completion
	known, err := s.catalogues()
	if err != nil {
		return nil, cobra.ShellCompDirectiveDefault
	}
	for _, e := range known[len(known)-1].Select(labels.Everything()) {
		if !slices.Contains(given, e.Name) {
			all = append(all, cobra.CompletionWithDesc(e.Name, e.Why))
		}
	}
	return all, cobra.ShellCompDirectiveDefault
}

// Entries are those that are meant by the arguments, in their order, or else all, by their names; of
// both, those whose labels match. Beside an error there are those that were found.
func (s *Scenarios) Entries(arguments []string) ([]catalogue.Entry, error) {
	selector, err := labels.Parse(s.Selector)
	if err != nil {
		return nil, fmt.Errorf("--selector %q: %w", s.Selector, err)
	}
	entries, err := s.entries(arguments)
	if s.Selector == "" {
		return entries, err
	}
	entries = catalogue.Filter(entries, selector)
	switch {
	case err != nil, len(entries) > 0:
		return entries, err
	case len(arguments) > 0:
		return nil, fmt.Errorf("--selector %q: none of the scenarios that are given has such labels", s.Selector)
	}
	folders, err := s.folders()
	if err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("--selector %q: no scenario in %s has such labels", s.Selector, folders[0])
}

// entries that are named, or all.
func (s *Scenarios) entries(arguments []string) ([]catalogue.Entry, error) {
	if len(arguments) == 0 {
		return s.all()
	}
	var entries []catalogue.Entry
	var errs []error
	for _, argument := range arguments {
		found, err := s.find(argument)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		entries = append(entries, found)
	}
	return entries, errors.Join(errs...)
}

// all scenarios: of the folder that is given, or else of the usual one if it is there, or else of the program.
func (s *Scenarios) all() ([]catalogue.Entry, error) {
	known, err := s.catalogues()
	if err != nil {
		return nil, fmt.Errorf("%w; give another with --scenarios", err)
	}
	return known[0].Select(labels.Everything()), nil
}

// find what an argument means.
func (s *Scenarios) find(argument string) (catalogue.Entry, error) {
	if isPath(argument) {
		return catalogue.File(argument), nil
	}
	known, err := s.catalogues()
	if err != nil {
		return catalogue.Entry{}, fmt.Errorf("find the scenario %q by its name: %w; %s", argument, err, elsewhere(argument))
	}
	var found catalogue.Entry
	for _, one := range known {
		found, err = one.Find(argument)
		if unknown := (*catalogue.UnknownError)(nil); !errors.As(err, &unknown) {
			return found, err
		}
	}
	return found, fmt.Errorf("%w; %s", err, elsewhere(argument))
}

// catalogues in which scenarios are looked up by name, one after the other: of the first folder, then of both.
func (s *Scenarios) catalogues() ([]*catalogue.Catalogue, error) {
	if s.read != nil {
		return s.read, nil
	}
	folders, err := s.folders()
	if err != nil {
		return nil, err
	}
	for i := range folders {
		known, err := catalogue.Read(folders[:i+1]...)
		if err != nil {
			return nil, err
		}
		s.read = append(s.read, known)
	}
	return s.read, nil
}

// folders in which scenarios are looked up; all scenarios are those of the first one.
func (s *Scenarios) folders() ([]string, error) {
	if s.Folder != "" || s.BuiltIn == nil {
		return []string{cmp.Or(s.Folder, usual)}, nil
	}
	own, err := unpacked.Folder(usual, s.BuiltIn)
	if err != nil {
		return nil, err
	}
	if userfile.Kind(usual) == "folder" {
		return []string{usual, own}, nil
	}
	return []string{own}, nil
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
