package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// bugsOf is a row of the table: the link to a scenario, and its bugs.
var bugsOf = regexp.MustCompile(`(?m)^\| \[([a-z0-9-]+)\]\([^)]+\) \| (.+) \|$`)

// The page about planted bugs has each bug of the product in the row of its scenario, with what catches it.
func TestPlantedBugs_OfTheProduct_AreThoseOfThePage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join(root, "docs", "planted-bugs.md"))
	if err != nil {
		t.Fatal(err)
	}
	got, want := map[string][]string{}, map[string][]string{}
	for _, m := range bugsOf.FindAllStringSubmatch(string(page), -1) {
		got[m[1]] = append(got[m[1]], strings.Split(m[2], ", ")...)
	}
	for _, m := range listed(t) {
		if m.Want == "" && m.With == "" {
			want[m.Scenario] = append(want[m.Scenario], fmt.Sprintf("%s (%s)", m.Name, m.Oracle))
		}
	}
	if diff := cmp.Diff(want, got, cmpopts.SortSlices(strings.Compare)); diff != "" {
		t.Errorf("docs/planted-bugs.md is not that of mutants.yaml (-list +page):\n%s", diff)
	}
}
