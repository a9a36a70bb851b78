package transplant_test

import (
	"regexp"
	"slices"
	"testing"
)

// startsOnItsOwnThread are the files that set Pdeathsig themselves, and why the thread that starts the program lives
// as long as the program shall.
var startsOnItsOwnThread = map[string]string{
	"clusters/tied/tied.go":                                     "keeps it",
	"clusters/embedded/process/process.go":                      "the Runner has one",
	"clusters/embedded/processnode/container/launcher_linux.go": "the Launcher has one",
	"clusters/embedded/processnode/container/rootless_linux.go": "the caller's is locked, and waits",
	"sim/report/browser_test.go":                                "no thread of this test ends",
}

var setsPdeathsig = regexp.MustCompile(`(?m)\bPdeathsig(:| +=)`)

// The kernel counts the end of the thread that has started a program as the end of its parent, and Go ends threads.
func TestPdeathsig_IsSetWhereTheThreadIsKept(t *testing.T) {
	t.Parallel()
	var setting []string
	for name, content := range tracked(t).written() {
		if setsPdeathsig.MatchString(content) {
			setting = append(setting, name)
			if startsOnItsOwnThread[name] == "" {
				t.Errorf("%s sets Pdeathsig; use package tied, for the thread that starts the program may end before it", name)
			}
		}
	}
	for name := range startsOnItsOwnThread {
		if !slices.Contains(setting, name) {
			t.Errorf("%s sets no Pdeathsig, and needs no exception", name)
		}
	}
}
