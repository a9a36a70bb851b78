package main

import (
	"maps"
	"os"
	"slices"

	"github.com/CycloneDX/cyclonedx-go"
)

// write the bill as a file. It has neither the time nor a number of its own: the same sources give the same bytes.
func (b *bill) write(file string, isSPDX func(string) bool) error {
	licenses := func(ids []string) *cyclonedx.Licenses {
		all := cyclonedx.Licenses{}
		for _, id := range ids {
			if isSPDX(id) {
				all = append(all, cyclonedx.LicenseChoice{License: &cyclonedx.License{ID: id}})
			} else {
				all = append(all, cyclonedx.LicenseChoice{License: &cyclonedx.License{Name: id}})
			}
		}
		return &all
	}
	references := func(paths map[string]bool) *[]string {
		all := []string{}
		for _, path := range slices.Sorted(maps.Keys(paths)) {
			all = append(all, b.modules[path].url())
		}
		return &all
	}

	document := cyclonedx.NewBOM()
	document.Metadata = &cyclonedx.Metadata{Component: &cyclonedx.Component{
		BOMRef: b.name, Type: cyclonedx.ComponentTypeApplication, Name: b.name, Licenses: licenses(b.licenses),
	}}
	components := []cyclonedx.Component{}
	dependencies := []cyclonedx.Dependency{{Ref: b.name, Dependencies: references(b.requires)}}
	for _, path := range slices.Sorted(maps.Keys(b.modules)) {
		m := b.modules[path]
		components = append(components, cyclonedx.Component{
			BOMRef: m.url(), PackageURL: m.url(), Type: cyclonedx.ComponentTypeLibrary, Name: m.path, Version: m.version,
			Licenses: licenses(slices.Sorted(maps.Keys(m.licenses))),
		})
		dependencies = append(dependencies, cyclonedx.Dependency{Ref: m.url(), Dependencies: references(m.requires)})
	}
	document.Components, document.Dependencies = &components, &dependencies

	out, err := os.Create(file)
	if err != nil {
		return err
	}
	defer out.Close()
	encoder := cyclonedx.NewBOMEncoder(out, cyclonedx.BOMFileFormatJSON).SetPretty(true)
	if err := encoder.EncodeVersion(document, cyclonedx.SpecVersion1_6); err != nil { // which scanners read
		return err
	}
	return out.Close()
}

// url of the module as package-url has it, by which scanners look it up.
func (m *module) url() string {
	return "pkg:golang/" + m.path + "@" + m.version
}
