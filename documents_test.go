package transplant_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	citedTest      = regexp.MustCompile("`(Test\\w+)`")
	citedScenario  = regexp.MustCompile(`scenario ([a-z0-9-]+)`)
	citedDeparture = regexp.MustCompile(`\[([^\]]+)\]\(deviations\.md\)`)
	citedPage      = regexp.MustCompile(`\]\((adr/[^)]+)\)`)
)

// A row of docs/documents.md names what shows a statement: a test or a scenario that is there, or a departure that
// docs/deviations.md gives a reason for.
func TestDocuments_WhatRowsCite_Exists(t *testing.T) {
	t.Parallel()
	tests, departures := testsOf(t), contentOf(t, "docs/deviations.md")
	seen := map[string]bool{}
	for line := range strings.Lines(contentOf(t, "docs/documents.md")) {
		if !regexp.MustCompile(`^\| S\d-\d+ \|`).MatchString(line) {
			continue
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		id := strings.TrimSpace(cells[0])
		if seen[id] || len(cells) != 4 {
			t.Errorf("%s: want one row with 4 cells: %s", id, line)
		}
		seen[id] = true
		cited := 0
		cite := func(what string, exists bool) {
			cited++
			if !exists {
				t.Errorf("%s: there is no %s", id, what)
			}
		}
		for _, m := range citedTest.FindAllStringSubmatch(line, -1) {
			cite("test "+m[1], tests[m[1]])
		}
		for _, m := range citedScenario.FindAllStringSubmatch(cells[len(cells)-1], -1) {
			files, err := filepath.Glob("scenarios/*/" + m[1] + ".yaml")
			cite("scenario "+m[1], err == nil && len(files) > 0)
		}
		for _, m := range citedDeparture.FindAllStringSubmatch(line, -1) {
			cite("departure "+m[1]+" in docs/deviations.md", strings.Contains(departures, m[1]))
		}
		for _, m := range citedPage.FindAllStringSubmatch(line, -1) {
			_, err := os.Stat("docs/" + m[1])
			cite("page "+m[1], err == nil)
		}
		if cited == 0 {
			t.Errorf("%s: nothing shows it", id)
		}
	}
	const audited = 41
	if len(seen) != audited {
		t.Errorf("docs/documents.md has %d rows, want one for each of %d statements", len(seen), audited)
	}
}

func contentOf(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// testsOf are the names of all tests.
func testsOf(t *testing.T) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	for _, root := range []string{"api", "clusters", "cmd", "controllers", "e2e", "sim"} {
		err := filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			for _, m := range declared.FindAllStringSubmatch(contentOf(t, path), -1) {
				found[m[1]] = true
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return found
}

var (
	namedPackage = regexp.MustCompile("^ *`([a-z/]+)`")
	namedCode    = regexp.MustCompile("`([A-Z]\\w+\\.\\w+|[a-z]\\w+\\.\\w+|[A-Za-z]\\w+)`")
)

// The rows "code" of docs/ownership.md name functions, methods and types that are in the package which they name.
func TestOwnership_CodeOfRules_IsWhereTheRowSays(t *testing.T) {
	t.Parallel()
	found := 0
	for line := range strings.Lines(contentOf(t, "docs/ownership.md")) {
		row, is := strings.CutPrefix(line, "| code |")
		if !is {
			continue
		}
		for part := range strings.SplitSeq(row, ";") {
			named := namedPackage.FindStringSubmatch(part)
			if named == nil {
				t.Errorf("%q names no package", part)
				continue
			}
			sources := productOf(t, filepath.Join("controllers", named[1]))
			for _, m := range namedCode.FindAllStringSubmatch(part[len(named[0]):], -1) {
				found++
				if !declares(sources, m[1]) {
					t.Errorf("controllers/%s has no %s", named[1], m[1])
				}
			}
		}
	}
	if found == 0 {
		t.Error("no row names code")
	}
}

// productOf a package are its files but for the tests.
func productOf(t *testing.T, folder string) string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, path := range paths {
		if !strings.HasSuffix(path, "_test.go") {
			all.WriteString(contentOf(t, path))
		}
	}
	return all.String()
}

// declares says whether Go sources have a function, a type or a variable of the name, or a method "Type.Method".
func declares(sources, name string) bool {
	pattern := `(?m)^(func|type|var|const|\t) ?` + name + `\b`
	if of, method, is := strings.Cut(name, "."); is {
		pattern = `(?m)^func \((\w+ )?\*?` + of + `(\[\w+\])?\) ` + method + `\b`
	}
	return regexp.MustCompile(pattern).MatchString(sources)
}
