package main

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/CycloneDX/cyclonedx-go"
)

const (
	mit = `Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction, including without
limitation the rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the
Software, and to permit persons to whom the Software is furnished to do so, subject to the following
conditions: The above copyright notice and this permission notice shall be included in all copies or
substantial portions of the Software. THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS
OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE
AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR
OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION
WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
`
	gpl = `This program is free software: you can redistribute it and/or modify it under the terms of the GNU General
Public License as published by the Free Software Foundation, either version 3 of the License, or (at your
option) any later version.
`
)

// place writes files, by their paths below a new folder.
func place(t *testing.T, files map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	for path, content := range files {
		file := filepath.Join(folder, path)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func TestUpwards_LicenseFiles_GivesTheirLicenses(t *testing.T) {
	t.Parallel()
	more := strings.Repeat("You may not use it on Sundays. ", 30)
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"of the module":             {map[string]string{"LICENSE": mit}, "MIT"},
		"of the package":            {map[string]string{"LICENSE": mit, "a/COPYING": gpl}, "GPL-3.0-or-later MIT"},
		"between":                   {map[string]string{"a/Licence.md": mit}, "MIT"},
		"of another package":        {map[string]string{"LICENSE": mit, "a/c/LICENSE": gpl}, "MIT"},
		"two files":                 {map[string]string{"MIT-LICENSE.txt": mit, "LICENSE-GPL": gpl}, "GPL-3.0-or-later MIT"},
		"a license nobody knows":    {map[string]string{"LICENSE": "Pay us, and you may read this."}, "unknown in LICENSE"},
		"more than the known text":  {map[string]string{"LICENSE": mit + more}, "MIT unknown in LICENSE"},
		"no file":                   {map[string]string{"README.md": mit}, noLicense},
		"code of that name":         {map[string]string{"license.go": "package license"}, noLicense},
		"an empty file":             {map[string]string{"LICENSE": ""}, "unknown in LICENSE"},
		"above the module does not": {map[string]string{"../LICENSE": mit}, noLicense},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{"m/a/b/b.go": "package b"}
			for path, content := range c.files {
				files[filepath.Join("m", path)] = content
			}
			top := filepath.Join(place(t, files), "m")
			licenses := map[string]bool{}
			if err := (scanner{}).upwards(filepath.Join(top, "a", "b"), top, licenses); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(slices.Sorted(maps.Keys(licenses)), " "); got != c.want {
				t.Errorf("licences %q, want %q", got, c.want)
			}
		})
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	const fitting = "fitting: [MIT]\n"
	const argued = fitting + "exceptions: [{license: MPL-2.0, why: x, modules: [example.com/m]}]"
	const other = fitting + "exceptions: [{license: MPL-2.0, why: x, modules: [example.com/n]}]"
	for name, c := range map[string]struct {
		licenses    []string
		rules, want string // part of the error; none is wanted when empty
	}{
		"fits":                    {[]string{"MIT"}, fitting, ""},
		"list without it":         {[]string{"MIT"}, "fitting: [ISC]\n", `licence "MIT" is not known to fit`},
		"does not fit":            {[]string{"GPL-3.0-only"}, fitting, `licence "GPL-3.0-only" is not known to fit`},
		"one of two does not":     {[]string{"MIT", "SSPL-1.0"}, fitting, `licence "SSPL-1.0"`},
		"none found":              {[]string{noLicense}, fitting, `licence "none found"`},
		"unknown":                 {[]string{"unknown in LICENSE"}, fitting, `licence "unknown in LICENSE"`},
		"argued for":              {[]string{"MPL-2.0"}, argued, ""},
		"argued for another":      {[]string{"MPL-2.0"}, other, "example.com/m v1.0.0 (in program)"},
		"argued for, now another": {[]string{"AGPL-3.0"}, argued, `licence "AGPL-3.0"`},
		"argument left over":      {[]string{"MIT"}, argued, "nothing needs it"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := readRules(filepath.Join(place(t, map[string]string{"bill.yaml": c.rules}), "bill.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			m := &module{path: "example.com/m", version: "v1.0.0", licenses: map[string]bool{}}
			for _, license := range c.licenses {
				m.licenses[license] = true
			}
			report, err := r.judge([]*bill{{name: "program", modules: map[string]*module{m.path: m}}})
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
			line := "| example.com/m | v1.0.0 | " + strings.Join(c.licenses, ", ") + " | program | "
			if !strings.Contains(report, line) {
				t.Errorf("no line %q in the report:\n%s", line, report)
			}
		})
	}
}

func TestReadRules_Wrong_NamesTheField(t *testing.T) {
	t.Parallel()
	for rules, want := range map[string]string{
		"fiting: [MIT]":                                      "fiting",
		"modules: [{name: a, packages: [.]}]":                `"a": give name, folder and packages`,
		"modules: [{folder: b, packages: [.]}]":              `"b": give name, folder and packages`,
		"modules: [{name: a, folder: b}]":                    `"a": give name, folder and packages`,
		"exceptions: [{license: X, why: y}]":                 `"X": give license, why and modules`,
		"exceptions: [{license: X, modules: [m]}]":           `"X": give license, why and modules`,
		"exceptions: [{license: X, why: ' ', modules: [m]}]": `"X": give license, why and modules`,
		"exceptions: [{why: y, modules: [m]}]":               `"": give license, why and modules`,
	} {
		_, err := readRules(filepath.Join(place(t, map[string]string{"bill.yaml": rules}), "bill.yaml"))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", rules, err, want)
		}
	}
}

// The module of this program is real, and stands for any.
func TestRun_RealModule(t *testing.T) {
	t.Parallel()
	const modules = "modules: [{name: program, folder: .ci/bill, packages: [.]}]\n"
	const unfit = `github.com/CycloneDX/cyclonedx-go v0.12.0 (in program): licence "Apache-2.0" is not known to fit`
	for name, c := range map[string]struct{ rules, want string }{
		"fits":                {modules + "fitting: [Apache-2.0, BSD-3-Clause, MIT]", ""},
		"list without one":    {modules + "fitting: [BSD-3-Clause, MIT]", unfit},
		"folder is not there": {strings.Replace(modules, "bill", "bil", 1), `list the packages of program in ".ci/bil"`},
		"package is not":      {strings.Replace(modules, "[.]", "[./none]", 1), "bill/none"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := place(t, map[string]string{"bill.yaml": c.rules})
			err := run(t.Context(), filepath.Join("..", ".."), filepath.Join(out, "bill.yaml"), out, true)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
			if err == nil {
				checkBill(t, filepath.Join(out, "program.cdx.json"))
			}
		})
	}
}

// checkBill wants what this program imports, with licences, and what that imports.
func checkBill(t *testing.T, file string) {
	t.Helper()
	in, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	document := cyclonedx.BOM{}
	if err := cyclonedx.NewBOMDecoder(in, cyclonedx.BOMFileFormatJSON).Decode(&document); err != nil {
		t.Fatal(err)
	}
	licenses := map[string]string{"program": (*document.Metadata.Component.Licenses)[0].License.ID}
	for _, c := range *document.Components {
		licenses[c.Name] = (*c.Licenses)[0].License.ID
	}
	for name, want := range map[string]string{
		"program": "Apache-2.0", "github.com/CycloneDX/cyclonedx-go": "Apache-2.0",
		"github.com/google/licensecheck": "BSD-3-Clause", standardLibrary: "BSD-3-Clause",
	} {
		if licenses[name] != want {
			t.Errorf("%s: licence %q, want %q", name, licenses[name], want)
		}
	}
	requires := map[string]string{}
	for _, d := range *document.Dependencies {
		if d.Dependencies != nil {
			requires[d.Ref] = strings.Join(*d.Dependencies, " ")
		}
	}
	const licensecheck = "pkg:golang/github.com/google/licensecheck@v0.3.1"
	if got := requires["program"]; !strings.Contains(got, licensecheck+" ") {
		t.Errorf("the program requires %q, and not licensecheck", got)
	}
	if got := requires[licensecheck]; !strings.HasPrefix(got, "pkg:golang/"+standardLibrary+"@1.") {
		t.Errorf("licensecheck requires %q, want the standard library alone", got)
	}
}

func TestRun_ModuleUnderGPL_Fails(t *testing.T) {
	t.Parallel()
	root := place(t, map[string]string{
		"go.mod": "module example.com/program\n\ngo 1.26\n\n" +
			"require example.com/gpl v1.2.3\n\nreplace example.com/gpl => ./gpl\n",
		"main.go":          "package main\n\nimport _ \"example.com/gpl/part\"\n\nfunc main() {}\n",
		"gpl/go.mod":       "module example.com/gpl\n\ngo 1.26\n",
		"gpl/LICENSE":      mit,
		"gpl/part/a.go":    "package part\n",
		"gpl/part/COPYING": gpl,
		"bill.yaml":        "modules: [{name: program, folder: ., packages: [.]}]\nfitting: [MIT, BSD-3-Clause]\n",
	})
	err := run(t.Context(), root, filepath.Join(root, "bill.yaml"), t.TempDir(), true)
	const want = `example.com/gpl v1.2.3 (in program): licence "GPL-3.0-or-later" is not known to fit`
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
}

// Each Go module of the repository is in the bills, or said to be a tool.
func TestModules_OfRepository_AreListed(t *testing.T) {
	t.Parallel()
	r, err := readRules("bill.yaml")
	if err != nil {
		t.Fatal(err)
	}
	listed := slices.Collect(maps.Keys(r.Tools))
	for _, s := range r.Modules {
		listed = append(listed, s.Folder)
	}
	slices.Sort(listed)
	var there []string
	root := filepath.Join("..", "..")
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && slices.Contains([]string{".git", ".cache", "out", "bin"}, entry.Name()) {
			return fs.SkipDir
		}
		if entry.Name() == "go.mod" {
			folder, err := filepath.Rel(root, filepath.Dir(path))
			there = append(there, folder)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(there)
	if !slices.Equal(listed, there) {
		t.Errorf("bill.yaml lists the Go modules %q, and the repository has %q", listed, there)
	}
}
