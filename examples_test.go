package transplant_test

import (
	"path"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
	"sigs.k8s.io/yaml"
)

// goNamed is a version of Go in a file for a CI.
var goNamed = regexp.MustCompile(`(?:golang:|GO_VERSION: )(\d+\.\d+\.\d+)`)

// Files for CIs can be read, keep what a failed run leaves, and name the Go that go.mod names.
func TestExamples_FilesForCI_AreReadAndNameTheToolchain(t *testing.T) {
	t.Parallel()
	tree := tracked(t)
	module, err := modfile.Parse("go.mod", []byte(tree["go.mod"]), nil)
	if err != nil {
		t.Fatal(err)
	}
	files, named := 0, 0
	for name, content := range tree {
		folder, suffix := path.Dir(name), path.Ext(name)
		if !strings.HasPrefix(folder, ".github") && folder != "docs/examples" || suffix != ".yml" && suffix != ".yaml" {
			continue
		}
		files++
		var read map[string]any
		if err := yaml.UnmarshalStrict([]byte(content), &read); err != nil || len(read) == 0 {
			t.Errorf("%s: %v", name, err)
		}
		for _, found := range goNamed.FindAllStringSubmatch(content, -1) {
			if named++; "go"+found[1] != module.Toolchain.Name {
				t.Errorf("%s names Go %s, want %s as in go.mod", name, found[1], module.Toolchain.Name)
			}
		}
		if strings.Count(content, "cache/save@") != strings.Count(content, "cache/restore@") ||
			strings.Contains(content, "actions/cache@") {
			t.Errorf("%s: a cache is restored and saved apart, else a failed run keeps nothing", name)
		}
		for _, step := range strings.Split(content, "\n      - ") {
			if strings.Contains(step, "cache/save@") && !strings.Contains(step, "if: always()") {
				t.Errorf("%s: a failed run keeps nothing:\n%s", name, step)
			}
		}
	}
	if files < 7 || named < 3 {
		t.Errorf("%d files with %d versions of Go were looked at", files, named)
	}
}
