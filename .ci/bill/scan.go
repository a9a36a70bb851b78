package main

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// noLicense is what a package without a licence file has; rules treat it as they do a licence.
const noLicense = "none found"

// leastCovered is how much of a licence file must be texts that are known, in percent of its words: as on pkg.go.dev.
// Titles and names of holders are not among them.
const leastCovered = 75

// licenseFile finds "LICENSE", "LICENSE-MIT", "license.md", "MIT-LICENSE.txt", "COPYING" and "UNLICENSE".
var licenseFile = regexp.MustCompile(`(?i)^([\w.]+-)?(un)?(licen[cs]e|copying)s?([-_.].*)?$`)

// scanner keeps the licences of folders: the SPDX identifiers in their licence files, or "unknown in FILE".
type scanner map[string][]string

// upwards adds the licences of a folder and of those above it, as far as top: a package may be under another licence
// than the module that it lies in.
func (s scanner) upwards(folder, top string, licenses map[string]bool) error {
	found := false
	for ; ; folder = filepath.Dir(folder) {
		ids, err := s.folder(folder)
		if err != nil {
			return err
		}
		for _, id := range ids {
			found, licenses[id] = true, true
		}
		if folder == top || folder == filepath.Dir(folder) {
			break
		}
	}
	if !found {
		licenses[noLicense] = true
	}
	return nil
}

func (s scanner) folder(folder string) ([]string, error) {
	if ids, known := s[folder]; known {
		return ids, nil
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	ids := map[string]bool{}
	for _, e := range entries {
		if !e.Type().IsRegular() || strings.HasSuffix(e.Name(), ".go") || !licenseFile.MatchString(e.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			return nil, err
		}
		covered := licensecheck.Scan(text)
		if covered.Percent < leastCovered {
			ids["unknown in "+e.Name()] = true
		}
		for _, match := range covered.Match {
			ids[match.ID] = true
		}
	}
	s[folder] = slices.Sorted(maps.Keys(ids))
	return s[folder], nil
}
