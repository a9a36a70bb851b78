package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// rules are what bill.yaml says.
type rules struct {
	// Modules of this repository whose code runs with its users.
	Modules []shipped `yaml:"modules"`
	// Tools are the others: folder, and why its code is in nothing that users run.
	Tools map[string]string `yaml:"tools"`
	// Fitting are licences, by their SPDX identifiers, whose code may be in a program under Apache-2.0.
	Fitting []string `yaml:"fitting"`
	// Exceptions are other licences, each for the modules that it is argued for.
	Exceptions []exception `yaml:"exceptions"`
}

// shipped is a Go module of this repository, and what of it is built, as it is built.
type shipped struct {
	Name     string   `yaml:"name"`
	Folder   string   `yaml:"folder"`
	Packages []string `yaml:"packages"`
	Tags     []string `yaml:"tags"`
	Cgo      bool     `yaml:"cgo"`
}

type exception struct {
	License string   `yaml:"license"`
	Why     string   `yaml:"why"`
	Modules []string `yaml:"modules"`
}

func readRules(file string) (*rules, error) {
	in, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("read the rules: %w", err)
	}
	defer in.Close()
	r := &rules{}
	decoder := yaml.NewDecoder(in)
	decoder.KnownFields(true)
	if err := decoder.Decode(r); err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	for _, s := range r.Modules {
		if s.Name == "" || s.Folder == "" || len(s.Packages) == 0 {
			return nil, fmt.Errorf("read %s: modules: %q: give name, folder and packages", file, cmp.Or(s.Name, s.Folder))
		}
	}
	for _, e := range r.Exceptions {
		if e.License == "" || strings.TrimSpace(e.Why) == "" || len(e.Modules) == 0 {
			return nil, fmt.Errorf("read %s: exceptions: %q: give license, why and modules", file, e.License)
		}
	}
	return r, nil
}

// isSPDX says whether the rules name the licence; they name each that is found when they pass.
func (r *rules) isSPDX(license string) bool {
	return slices.Contains(r.Fitting, license) ||
		slices.ContainsFunc(r.Exceptions, func(e exception) bool {
			return e.License == license && license != noLicense && !strings.Contains(license, " ")
		})
}

// judge returns the report, with a line for each module, and an error for each licence that neither fits nor is argued
// for, and for each exception that nothing needs.
func (r *rules) judge(bills []*bill) (report string, err error) {
	var lines strings.Builder
	var errs []error
	needed := map[string]bool{}
	lines.WriteString("| module | version | licences | in | why it fits |\n|---|---|---|---|---|\n")
	modules, in := merge(bills)
	for _, key := range slices.Sorted(maps.Keys(modules)) {
		m, why := modules[key], []string{}
		licenses := slices.Sorted(maps.Keys(m.licenses))
		for _, license := range licenses {
			if slices.Contains(r.Fitting, license) {
				continue
			}
			argument := r.argument(license, m.path)
			if argument == "" {
				errs = append(errs, fmt.Errorf("%s %s (in %s): licence %q is not known to fit Apache-2.0: "+
					"leave the module out, or argue for it in the exceptions of bill.yaml",
					m.path, m.version, strings.Join(in[key], ", "), license))
			}
			needed[license+" "+m.path] = true
			why = append(why, cmp.Or(argument, "**it does not**"))
		}
		fmt.Fprintf(&lines, "| %s | %s | %s | %s | %s |\n", m.path, m.version, strings.Join(licenses, ", "),
			strings.Join(in[key], ", "), cmp.Or(strings.Join(why, "; "), "permissive"))
	}
	for _, e := range r.Exceptions {
		for _, path := range e.Modules {
			if !needed[e.License+" "+path] {
				errs = append(errs, fmt.Errorf("exception %s for %s: nothing needs it: remove it from bill.yaml", e.License, path))
			}
		}
	}
	return lines.String(), errors.Join(errs...)
}

// argument why the licence fits although it is not on the list, or nothing.
func (r *rules) argument(license, path string) string {
	for _, e := range r.Exceptions {
		if e.License == license && slices.Contains(e.Modules, path) {
			return strings.TrimSpace(e.Why)
		}
	}
	return ""
}

// merge the bills: each version of a module once, with the licences of all its packages, and the bills that it is in.
func merge(bills []*bill) (modules map[string]*module, in map[string][]string) {
	modules, in = map[string]*module{}, map[string][]string{}
	for _, b := range bills {
		for _, m := range b.modules {
			if modules[m.url()] == nil {
				modules[m.url()] = &module{path: m.path, version: m.version, licenses: map[string]bool{}}
			}
			maps.Copy(modules[m.url()].licenses, m.licenses)
			in[m.url()] = append(in[m.url()], b.name)
		}
	}
	return modules, in
}
