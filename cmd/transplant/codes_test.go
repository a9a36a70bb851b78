package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/transplant-sim/transplant/controllers/errorcodes"
	"github.com/transplant-sim/transplant/sim/scenario"
)

// codeTests are tests of codes that are no last error of an operation.
var codeTests = map[string]shown{
	"ERR_PROBLEMATIC_WEBHOOK": {"controllers/care/health/constraints_test.go", "", "ERR_PROBLEMATIC_WEBHOOK"},
}

// Every error code is expected by a scenario that makes something go wrong, or a test shows it.
func TestErrorCodes_EachIsExpectedByAScenario(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../scenarios/*/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	var expected []string
	for _, file := range files {
		s, err := scenario.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i := range s.Spec.Steps {
			if expect := s.Spec.Steps[i].Expect; expect != nil && strings.Contains(expect.That, "errorCodes") {
				expected = append(expected, expect.That)
			}
		}
	}
	for _, known := range errorcodes.All() {
		code := string(known.Code)
		if test, tested := codeTests[code]; tested {
			test.check(t, code)
			continue
		}
		if !slices.ContainsFunc(expected, func(that string) bool { return strings.Contains(that, "'"+code+"'") }) {
			t.Errorf("no scenario expects %s", code)
		}
	}
}
