package results

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/transplant-sim/transplant/sim/contract"
)

// The reports that this repository publishes are about the clauses as they are, break none, leave no kind and no clause
// out that is judged, and say how to make them again.
func TestPublished_Reports_AreOfTheseClauses(t *testing.T) {
	t.Parallel()
	const folder = "../../../contracts"
	overview, err := os.ReadFile(filepath.Join(folder, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	paths, err := filepath.Glob(filepath.Join(folder, "*", PublishedName))
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d reports: %v", len(paths), err)
	}
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var p Published
		if err := yaml.UnmarshalStrict(content, &p); err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if p.Clauses.SHA256 != contract.ClausesDigest() {
			t.Errorf("%s is of other clauses: make it again, as contracts/README.md says", path)
		}
		if p.Result != contract.Conformant || len(p.Programs) == 0 || p.Reproduce.Version == "" ||
			!strings.HasPrefix(p.Reproduce.Command, "transplant contract ") ||
			strings.Contains(p.Reproduce.Command, "--points") || strings.Contains(p.Reproduce.Command, "--clause") {
			t.Errorf("%s is %s, of the programs %v, by %+v", path, p.Result, p.Programs, p.Reproduce)
		}
		if name := filepath.Base(filepath.Dir(path)); !strings.Contains(string(overview), "]("+name+"/"+PublishedName+")") {
			t.Errorf("contracts/README.md does not name %s", path)
		}
		var uncovered []string // by any report
		for _, c := range contract.Clauses() {
			if !c.IsJudged() || c.Aside != "" {
				uncovered = append(uncovered, c.ID)
			}
		}
		for _, left := range p.LeftOut {
			if !slices.Contains(uncovered, left.What) {
				t.Errorf("%s leaves out %s: %s", path, left.What, left.Why)
			}
		}
		for _, profile := range p.Profiles {
			for _, f := range slices.Concat(profile.Failures, profile.Unknown) {
				t.Errorf("%s: %s of %s: %s", path, f.Clause, f.Kind, f.Reason)
			}
		}
	}
}
