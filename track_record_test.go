package transplant_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	commandTest     = regexp.MustCompile("`go test -run '\\^\\(?([\\w|\\\\]+)\\)?\\$'?(?:/\\w+')? \\./([\\w/-]+)`")
	commandScenario = regexp.MustCompile("`transplant run ([a-z0-9 -]+?)(?: --[a-z -]+)?`")
	commandBug      = regexp.MustCompile("`make mutants MUTANTS=\"?([a-z0-9 -]+)\"?`")
)

// The track record names commands that repeat what was found: their tests, scenarios and planted bugs exist.
func TestTrackRecord_Commands_FindWhatTheyName(t *testing.T) {
	t.Parallel()
	page, bugs := contentOf(t, "docs/track-record.md"), contentOf(t, "e2e/mutants/mutants.yaml")
	ofTests, ofScenarios := commandTest.FindAllStringSubmatch(page, -1), commandScenario.FindAllStringSubmatch(page, -1)
	ofBugs := commandBug.FindAllStringSubmatch(page, -1)
	commands := strings.Count(page, "`go test -run") + strings.Count(page, "`transplant run") +
		strings.Count(page, "`make mutants M")
	if read := len(ofTests) + len(ofScenarios) + len(ofBugs); read != commands || read == 0 {
		t.Errorf("%d of %d commands are written as this test reads them", read, commands)
	}
	tests := map[string]string{} // content of the test files, by folder
	for _, m := range ofTests {
		folder := m[2]
		if _, read := tests[folder]; !read {
			files, err := filepath.Glob(folder + "/*_test.go")
			if err != nil {
				t.Fatal(err)
			}
			for _, file := range files {
				tests[folder] += contentOf(t, file)
			}
		}
		for name := range strings.SplitSeq(m[1], `\|`) {
			if !strings.Contains(tests[folder], "func "+name+"(") {
				t.Errorf("there is no %s in %s", name, folder)
			}
		}
	}
	for _, m := range ofScenarios {
		for name := range strings.FieldsSeq(m[1]) {
			if files, err := filepath.Glob("scenarios/*/" + name + ".yaml"); err != nil || len(files) != 1 {
				t.Errorf("there is no scenario %s", name)
			}
		}
	}
	for _, m := range ofBugs {
		for name := range strings.FieldsSeq(m[1]) {
			if !strings.Contains(bugs, "- name: "+name+"\n") {
				t.Errorf("there is no planted bug %s", name)
			}
		}
	}
}
