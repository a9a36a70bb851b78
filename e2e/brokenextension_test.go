package e2e

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/transplant-sim/transplant/sim/verdict"
)

// raised is how long a run waits for its shoots before the first step.
const raised = 3 * time.Minute

// unneeded is a scenario whose steps are never reached.
const unneeded = `apiVersion: transplant.dev/v1alpha1
kind: Scenario
metadata: {name: unneeded}
spec:
  why: an extension that does not work is named before the first step
  landscape:
    seeds: [{name: a}]
    shoots: [{name: alpha, seed: a, workers: 1, objects: 1}]
  steps:
  - wait: {for: 1s, because: nobody gets here}
  always: [SingleWriter]
`

// brokenExtension is the file of an extension called vault, beside its program; does says what it does, in the words of
// its file.
func brokenExtension(t *testing.T, does string) string {
	t.Helper()
	built(t)
	folder := t.TempDir()
	if err := buildStatic(t, "./brokenextension", filepath.Join(folder, "vault")); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder, "vault.yaml")
	content := fmt.Sprintf(`apiVersion: transplant.dev/v1alpha1
kind: ExtensionDeployment
metadata: {name: vault}
spec: {resources: [{kind: Extension, type: vault}], %s}
`, does)
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// A third-party extension that does not come up ends the run long before its patience with shoots is over. The verdict
// names the extension, with how it ended and what it said, and whose fault that is; its log is in the folder of the
// run.
func TestThirdPartyExtension_NeverComesUp_IsNamed(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { taken.Close() })
	_, port, _ := net.SplitHostPort(taken.Addr().String())
	for _, c := range []struct {
		name, does string
		says       []string
		log        string // what the log in the folder says
		often      bool   // whether "make test" runs it, too
	}{
		{"it ends at once", "args: [ends]", []string{
			"the extension vault never came up on seed a: exit code 3, restarts: ",
			"\n  | cannot read the configuration: no such setting",
			"This is a finding about the extension vault",
		}, "cannot read the configuration: no such setting", true},
		{"its command does not exist", "command: [nowhere]", []string{
			"the extension vault could not be started on seed a: exit code 128 (StartError), restarts: ", `"nowhere"`,
			"This is an error of the set-up: check image, command and binary",
		}, "nowhere", true},
		{"its port is taken", fmt.Sprintf("args: [listens], env: [{name: LISTEN, value: \":%s\"}]", port), []string{
			"the extension vault never came up on seed a: exit code 1, restarts: ",
			"In the file of the extension vault, spec.args: the port is taken by process " + strconv.Itoa(os.Getpid()),
			"port " + port + " is in use", "$(POD_IP):" + port,
		}, "address already in use", false},
		{"it waits for a kind that is not there", "args: [asks]", []string{
			"the extension vault never answered on seed a: ",
			"In the file of the extension vault, spec.manifests: no seed serves any kind of vault.example/v1",
		}, "no matches for vault.example/v1", false},
		{"it answers nothing", "args: [sleeps]", []string{
			"the extension vault never answered on seed a: Extension shoot--p--alpha/vault of type vault waits for it",
			"\n  | waiting for a leader that never comes", "This is a finding about the extension vault",
		}, "waiting for a leader that never comes", true},
	} {
		if !c.often && !all() {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			scenario := filepath.Join(t.TempDir(), "unneeded.yaml")
			if err := os.WriteFile(scenario, []byte(unneeded), 0o600); err != nil {
				t.Fatal(err)
			}
			report, out := runWith(t, brokenExtension(t, "binary: vault, "+c.does), scenario)
			if report.Verdict != verdict.Error || len(report.Reasons) != 1 {
				t.Fatalf("%s, want Error for one reason: %q", report.Verdict, report.Reasons)
			}
			for _, want := range c.says {
				if !strings.Contains(report.Reasons[0], want) {
					t.Errorf("%q has no %q", report.Reasons[0], want)
				}
			}
			if patience := raised.Seconds() * multiplier; report.WallSeconds >= patience {
				t.Errorf("the run took %.0f s, as long as its patience of %.0f s", report.WallSeconds, patience)
			}
			log, err := os.ReadFile(filepath.Join(out, "logs", "a", "vault-a.log"))
			// of a run that has ended just now there may be one alone
			before, _ := os.ReadFile(filepath.Join(out, "logs", "a", "vault-a.previous.log"))
			if err != nil || !strings.Contains(string(log)+string(before), c.log) {
				t.Errorf("the kept log says %q, want %q: %v", log, c.log, err)
			}
			junit, err := os.ReadFile(filepath.Join(out, verdict.JUnitName))
			if want := filepath.Join(out, "logs"); err != nil || !strings.Contains(string(junit), want) {
				t.Errorf("JUnit has no %s: %v", want, err)
			}
			if _, err := os.Stat(filepath.Join(out, "logs", "garden", "kube-apiserver.log")); errors.Is(err, os.ErrNotExist) {
				t.Error("the log of the garden's API server is not kept")
			}
		})
	}
}
