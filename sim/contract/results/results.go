// Package results makes files of what was found about an extension: for CI systems, for people, and for publishing.
//
// It judges nothing and reads nothing but the report.
package results

import (
	"encoding/json"
	"fmt"
	"html/template"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"al.essio.dev/pkg/shellescape"
	"sigs.k8s.io/yaml"

	"github.com/transplant-sim/transplant/sim/contract"
	"github.com/transplant-sim/transplant/sim/junit"
)

// Names of the files, besides that of junit.
const (
	PublishedName = "contract.yaml"
	BadgeName     = "badge.json"
	PageName      = "report.html"
)

// Names of all files.
func Names() []string { return []string{junit.FileName, PublishedName, BadgeName, PageName} }

// Files are the contents of all files, by name. The page has the style of the reports of runs.
func Files(r contract.Report, style template.CSS) (map[string][]byte, error) {
	published := PublishedOf(r)
	files := map[string][]byte{}
	for name, content := range map[string]func() ([]byte, error){
		junit.FileName: suiteOf(r).Marshal,
		PublishedName:  func() ([]byte, error) { return yaml.Marshal(published) },
		BadgeName: func() ([]byte, error) {
			content, err := json.MarshalIndent(published.badge(), "", "  ")
			return append(content, '\n'), err
		},
		PageName: func() ([]byte, error) { return pageOf(r, published, style) },
	} {
		made, err := content()
		if err != nil {
			return nil, fmt.Errorf("make %s: %w", name, err)
		}
		files[name] = made
	}
	return files, nil
}

// again is the command that shows a finding again, quoted for a shell.
func again(r contract.Report, kind contract.KindReport, clause string) string {
	words := []string{"transplant", "contract", r.File}
	if plan := kind.Findings[clause].Plan; plan != "" {
		return shellescape.QuoteCommand(append(append(words, "--plan", plan), surroundings(r)...))
	}
	words = append(words, "--kind", kind.Kind, "--clause", clause)
	if clause != contract.ByCrashes {
		words = append(words, "--points", "none")
	}
	return shellescape.QuoteCommand(append(words, surroundings(r)...))
}

// surroundings are the flags that say on what, and how patiently, it was tried.
func surroundings(r contract.Report) (flags []string) {
	if r.Backend != "" {
		flags = append(flags, "--backend", r.Backend)
	}
	if r.NodeImage != "" {
		flags = append(flags, "--node-image", r.NodeImage)
	}
	if r.Multiplier > 1 {
		flags = append(flags, "--timeout-multiplier", strconv.Itoa(r.Multiplier))
	}
	return flags
}

// reproduce is the command that does all of it again, in the folder of the extension's file.
func reproduce(r contract.Report) string {
	words := []string{"transplant", "contract", filepath.Base(r.File)}
	left := deselected(r)
	if slices.Contains(left, contract.ByCrashes) {
		words = append(words, "--points", "none")
	}
	if len(left) > 1 || len(left) == 1 && left[0] != contract.ByCrashes {
		words = append(words, "--clause", strings.Join(r.Clauses, ","))
	}
	if len(r.Kinds) < len(r.Reconciles) {
		var kinds []string
		for _, kind := range r.Kinds {
			kinds = append(kinds, kind.Kind)
		}
		slices.Sort(kinds)
		words = append(words, "--kind", strings.Join(slices.Compact(kinds), ","))
	}
	return shellescape.QuoteCommand(append(words, surroundings(r)...))
}

// unjudged says why a kind as a whole was not judged; empty if it was.
func unjudged(r contract.Report, name string) string {
	for _, kind := range r.Kinds {
		if kind.Name() == name {
			return kind.Reason
		}
	}
	return "not tried: left out by --kind"
}
