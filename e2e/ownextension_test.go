package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/transplant-sim/transplant/sim/verdict"
)

// An author's own extension, which is linked with nothing of ours, is moved with its shoot. When its restore forgets what only
// its state knows, the promise that it breaks says so, and nothing else does.
func TestAnOwnExtensionIsToldInAStory(t *testing.T) {
	folder := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", filepath.Join(folder, "vault"), "./ownextension")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the extension: %v\n%s", err, said)
	}
	for name, c := range map[string]struct {
		forgetful bool
		verdict   verdict.Verdict
		violation string
	}{
		"in order":         {verdict: verdict.Held},
		"with a bad habit": {forgetful: true, verdict: verdict.Violated, violation: "alpha: Extension vault on seed b has another status.state than it had on seed a before the move"},
	} {
		t.Run(name, func(t *testing.T) {
			report := tellWith(t, folder, c.forgetful)
			if report.Verdict != c.verdict || strings.Join(report.Extensions, " ") != "vault" {
				t.Fatalf("%s with %v, want %s: %+v %v", report.Verdict, report.Extensions, c.verdict, report.Violations, report.Reasons)
			}
			for _, v := range report.Violations {
				if v.Oracle != "MigrationEnds" || !strings.Contains(v.Message, c.violation) {
					t.Errorf("%s says %q, want MigrationEnds to say %q", v.Oracle, v.Message, c.violation)
				}
			}
		})
	}
}

// tellWith tells planned-migration with the program in the folder.
func tellWith(t *testing.T, folder string, forgetful bool) verdict.Report {
	t.Helper()
	t.Setenv("TRANSPLANT_HOME", t.TempDir())
	file, out := filepath.Join(folder, "vault.yaml"), t.TempDir()
	text := fmt.Sprintf(`apiVersion: transplant.dev/v1alpha1
kind: ExtensionDeployment
metadata: {name: vault}
spec:
  resources: [{kind: Extension, type: vault}]
  binary: vault
  env: [{name: FORGETFUL, value: "%t"}]
  rules: [{apiGroups: [""], resources: [secrets], verbs: [get, create, update, delete]}]
`, forgetful)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	said, _ := exec.CommandContext(t.Context(), program, "run", "../scenarios/planned-migration.yaml",
		"--extension", file, "--timeout-multiplier", "3", "--out", out).CombinedOutput() // its code is the verdict's
	content, err := os.ReadFile(filepath.Join(out, verdict.FileName))
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	report := verdict.Report{}
	if err := json.Unmarshal(content, &report); err != nil {
		t.Fatal(err)
	}
	return report
}
