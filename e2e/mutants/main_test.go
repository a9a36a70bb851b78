package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// Every mutant's line must be in the tree as it is, else the list has gone stale.
func TestEveryMutantCanBePlanted(t *testing.T) {
	t.Parallel()
	var mutants []mutant
	if err := yaml.UnmarshalStrict(list, &mutants); err != nil {
		t.Fatal(err)
	}
	if len(mutants) < 6 {
		t.Errorf("there are %d mutants, want at least 6", len(mutants))
	}
	for _, m := range mutants {
		content, err := os.ReadFile(filepath.Join("..", "..", m.File))
		if err != nil {
			t.Errorf("%s: %v", m.Name, err)
			continue
		}
		changed, err := m.plant(content)
		if err != nil {
			t.Errorf("%s: %v", m.Name, err)
			continue
		}
		if !strings.Contains(string(changed), m.New) {
			t.Errorf("%s: the bug was not planted", m.Name)
		}
		if _, err := os.Stat(filepath.Join("..", "..", m.Scenario)); err != nil {
			t.Errorf("%s: %v", m.Name, err)
		}
	}
}

func TestPlant(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		content    string
		occurrence int
		want       string
	}{
		{"a b", 0, "x b"}, {"a a", 1, "x a"}, {"a a", 2, "a x"}, {"a a", 0, ""}, {"b", 0, ""}, {"a", 2, ""},
	} {
		got, err := mutant{Old: "a", New: "x", Occurrence: c.occurrence}.plant([]byte(c.content))
		if string(got) != c.want || (err != nil) != (c.want == "") {
			t.Errorf("plant in %q, occurrence %d: %q, %v; want %q", c.content, c.occurrence, got, err, c.want)
		}
	}
}

// The verdict of another oracle, or of an expect that ran out, is not enough.
func TestOnlyTheNamedOracleCounts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		verdict string
		want    bool
	}{
		"caught":       {`{"verdict":"Violated","violations":[{"oracle":"expect"},{"oracle":"NoOrphans"}]}`, true},
		"only expect":  {`{"verdict":"Violated","violations":[{"oracle":"expect"}]}`, false},
		"another":      {`{"verdict":"Violated","violations":[{"oracle":"NoLostWrite"}]}`, false},
		"held":         {`{"verdict":"Held","violations":[]}`, false},
		"inconclusive": {`{"verdict":"Inconclusive"}`, false},
	} {
		file := filepath.Join(t.TempDir(), "verdict.json")
		if err := os.WriteFile(file, []byte(c.verdict), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := mutant{Oracle: "NoOrphans"}.judge(file, nil)
		if err != nil || (got == caught) != c.want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}
