// Package thirdparty has the flag --extension: it holds the files of the third-party extensions of a run against each
// other and against what a landscape has, before anything starts. What is wrong inside one file package scenario finds.
package thirdparty

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/scenario"
)

// Flag is the flag --extension, by which commands are given extensions.
type Flag struct{ Files []string }

const extensionFlag = "extension"

// AddFlag adds the flag.
func (f *Flag) AddFlag(flags *pflag.FlagSet) {
	flags.StringArrayVar(&f.Files, extensionFlag, nil,
		"file of an "+scenario.ExtensionKind+
			": a third-party extension controller that runs on every seed (docs/third-party-extensions.md); may be repeated")
}

// Parse all files, in order, and hold them against each other.
func (f *Flag) Parse() ([]landscape.Extension, error) {
	var extensions []landscape.Extension
	var errs []error
	named, reconciled := map[string]string{}, map[string]string{}
	for _, file := range f.Files {
		e, err := scenario.ParseExtension(file)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if other, taken := named[e.Name]; taken {
			errs = append(errs, scenario.ExtensionMistake(file, e, "metadata.name",
				fmt.Sprintf("%q is also the name of the extension in %s; each needs its own", e.Name, other)))
		}
		named[e.Name] = file
		for i, resource := range e.Resources {
			key := resource.Key()
			if !resource.IsPrimary() {
				continue
			}
			if other, taken := reconciled[key]; taken {
				errs = append(errs, scenario.ExtensionMistake(file, e, fmt.Sprintf("spec.resources[%d]", i),
					fmt.Sprintf("%s is reconciled by the extension in %s, too; only one may; another one that acts on its objects "+
						"has primary: false", key, other)))
			}
			reconciled[key] = file
		}
		extensions = append(extensions, e)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return extensions, errors.Join(append(f.checkAsked(extensions), f.checkServed(extensions)...)...)
}

// WriteNotes says what of the files of these extensions, which Parse has read, has no effect: a line each.
func (f *Flag) WriteNotes(to io.Writer, extensions []landscape.Extension) {
	for i, e := range extensions {
		for _, note := range e.Notes {
			fmt.Fprintf(to, "warning: %s: %s\n", f.Files[i], note)
		}
	}
}
