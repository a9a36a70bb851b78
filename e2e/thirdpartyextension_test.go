package e2e

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/verdict"
)

// dying is a scenario whose shoot asks for no Extension. The extension dies of what it has just written, on
// seed a while it releases the shoot, on seed b while it adopts it.
const dying = `apiVersion: transplant.dev/v1alpha1
kind: Scenario
metadata: {name: dying}
spec:
  why: an extension of one's own that dies in the middle of a migration takes it up where it was
  landscape:
    seeds: [{name: a}, {name: b}]
    shoots: [{name: alpha, seed: a, workers: 1, objects: 10}]
  steps:
  - load:    {shoot: alpha, writesPerSecond: 10}
  - fault:   {name: lets-go, crash: {actor: acme-a, target: a, nth: 2, at: After}}
  - fault:   {name: takes-over, crash: {actor: acme-b, target: b, nth: 3, at: After}}
  - migrate: {shoot: alpha, to: b}
  - expect:  {that: "shoot('alpha').seed == 'b' && shoot('alpha').healthy", within: 120s}
  - expect:  {that: "seed('a').shoots == 0", within: 60s}
  always: [SingleWriter, NoLostWrite, CloudUntouched, NodesPreserved, NoOrphans, MigrationEnds, ShootUntouched]
`

// A third-party extension, which is linked with nothing of ours, is moved with its shoot: a kind of its own, and one
// that it takes over from the reference provider. It may die in between. When its restore forgets what only its state
// knows, the promises that it breaks say so, and no others.
func TestThirdPartyExtension_MovedWithItsShoot_IsJudged(t *testing.T) {
	t.Parallel()
	const planned = "../scenarios/migration/planned-migration.yaml"
	t.Run("in order, from its registration and its chart", func(t *testing.T) {
		t.Parallel()
		scenario := filepath.Join(t.TempDir(), "dying.yaml")
		if err := os.WriteFile(scenario, []byte(dying), 0o600); err != nil {
			t.Fatal(err)
		}
		report, out := runWith(t, filepath.Join(filepath.Dir(acmeExtension(t)), "charted.yaml"), scenario)
		if report.Verdict != verdict.Passed || strings.Join(report.Extensions, " ") != "acme" {
			t.Errorf("%s with %v, want Passed: %+v %v", report.Verdict, report.Extensions, report.Violations, report.Reasons)
		}
		record, err := timeline.ReadFile(filepath.Join(out, timeline.FileName))
		if err != nil {
			t.Fatal(err)
		}
		checkEnabled(t, record.Events)
	})
	t.Run("with a planted bug", func(t *testing.T) {
		t.Parallel()
		file := acmeExtension(t)
		replace(t, file, `name: FORGETFUL, value: "false"`, `name: FORGETFUL, value: "true"`)
		report, _ := runWith(t, file, planned)
		if report.Verdict != verdict.Failed {
			t.Fatalf("%s, want Failed: %v", report.Verdict, report.Reasons)
		}
		missing := []string{
			"MigrationEnds: alpha: Extension vault on seed b has another status.state than it had on seed a before the move",
			"MigrationEnds: alpha: Infrastructure alpha on seed b has another status.state " +
				"than it had on seed a before the move",
			"CloudUntouched: alpha: acme-b has made the cloud create networks",
			"CloudUntouched: alpha: acme-b has made the cloud create subnets",
			"CloudUntouched: alpha: acme-b has made the cloud create routers",
			"CloudUntouched: alpha: acme-b has made the cloud create security-groups",
		}
		for _, v := range report.Violations {
			says := v.Oracle + ": " + v.Message
			i := slices.IndexFunc(missing, func(want string) bool { return strings.HasPrefix(says, want) })
			if i < 0 {
				t.Errorf("for another reason: %s", says)
				continue
			}
			missing = slices.Delete(missing, i, i+1)
		}
		if len(missing) > 0 {
			t.Errorf("nobody says %q", missing)
		}
	})
}

// checkEnabled looks on both seeds for the Extension of a shoot that names none. Its registration has it migrated when
// the API server is gone; without that it would be migrated before any extension object is deleted. It has it restored
// after the workers, which wait for the Network; without that the Network and it would be made at the same time.
func checkEnabled(t *testing.T, events []timeline.Event) {
	t.Helper()
	first := func(seed, object string, is func(timeline.ExtensionStateSeen) bool) int {
		return slices.IndexFunc(events, func(e timeline.Event) bool {
			seen, ofState := e.Payload.(timeline.ExtensionStateSeen)
			return ofState && seen.Seed == seed && seen.Object == object && is(seen)
		})
	}
	during := func(operation string) func(timeline.ExtensionStateSeen) bool {
		return func(seen timeline.ExtensionStateSeen) bool { return seen.Operation.Type == operation }
	}
	const vault = "Extension vault"
	if first("b", vault, during("Restore")) < 0 {
		t.Errorf("no %s is restored: it does not enable itself", vault)
	}
	gone := first("a", "Network alpha", func(seen timeline.ExtensionStateSeen) bool { return seen.Gone })
	if own := first("a", vault, during("Migrate")); gone < 0 || own < gone {
		t.Errorf("%s is migrated at event %d, want it after the Network is gone, at event %d", vault, own, gone)
	}
	ready := first("b", "Network alpha", func(seen timeline.ExtensionStateSeen) bool {
		return seen.Operation.Type == "Restore" && seen.Operation.State == "Succeeded"
	})
	made := first("b", vault, func(seen timeline.ExtensionStateSeen) bool { return !seen.Gone })
	if ready < 0 || made < ready {
		t.Errorf("%s is made at event %d, want it after the Network is restored, at event %d", vault, made, ready)
	}
}

// acmeExtension is the file of the extension, beside its program and what else it names.
func acmeExtension(t *testing.T) string {
	t.Helper()
	built(t)
	folder := t.TempDir()
	if err := buildStatic(t, "./acmeextension", filepath.Join(folder, "acme")); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(folder, "chart"), os.DirFS("acmeextension/chart")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"config.json", "rights.yaml", "acme.yaml", "registration.yaml", "charted.yaml"} {
		content, err := os.ReadFile(filepath.Join("acmeextension", name))
		if err := errors.Join(err, os.WriteFile(filepath.Join(folder, name), content, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(folder, "acme.yaml")
}

func replace(t *testing.T, file, old, with string) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(content), old) {
		t.Fatalf("%s has no %q", file, old)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(content), old, with, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// multiplier is what these runs give every deadline.
const multiplier = 3

// runWith runs a scenario with the extension of the file, and says in which folder its evidence is.
func runWith(t *testing.T, extension, scenario string) (report verdict.Report, out string) {
	t.Helper()
	out = t.TempDir()
	command := exec.CommandContext(t.Context(), program, "run", scenario, "--extension", extension,
		"--timeout-multiplier", strconv.Itoa(multiplier), "--out", out)
	command.Env = inHome(t.TempDir())
	said, _ := command.CombinedOutput() // its code is the verdict's
	content, err := os.ReadFile(filepath.Join(out, verdict.FileName))
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	if err := json.Unmarshal(content, &report); err != nil {
		t.Fatal(err)
	}
	return report, out
}
