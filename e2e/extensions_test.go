package e2e

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/transplant-sim/transplant/sim/contract"
	"github.com/transplant-sim/transplant/sim/oracle"
	"github.com/transplant-sim/transplant/sim/scenario/thirdparty"
	"github.com/transplant-sim/transplant/sim/verdict"
)

// exampleClasses are the extensions of docs/extensions, in the order of their files: a list in a later file replaces
// that of an earlier one.
var exampleClasses = []string{"network", "container-runtime", "operating-system", "dns", "certificates", "provider"}

// exampleFiles are their files in a folder, beside a program.
func exampleFiles(t *testing.T, makeProgram func(path string) error) map[string]string {
	t.Helper()
	folder, files := t.TempDir(), map[string]string{}
	if err := makeProgram(filepath.Join(folder, "extensions")); err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob("extensions/*.yaml")
	if err != nil || len(names) == 0 {
		t.Fatalf("%d files in extensions: %v", len(names), err)
	}
	for _, name := range names {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(folder, filepath.Base(name))
		if err := os.WriteFile(to, content, 0o600); err != nil {
			t.Fatal(err)
		}
		files[strings.TrimSuffix(filepath.Base(name), ".yaml")] = to
	}
	return files
}

// builtExamples are the files beside the program.
func builtExamples(t *testing.T) map[string]string {
	t.Helper()
	built(t)
	return exampleFiles(t, func(path string) error { return buildStatic(t, "./extensions", path) })
}

// inOrder are the files of all classes.
func inOrder(files map[string]string) []string {
	var all []string
	for _, class := range exampleClasses {
		all = append(all, files[class])
	}
	return all
}

// withUsers has users of the shoot ask two of the extensions for something before anything else happens.
func withUsers(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("../scenarios", path+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	const steps, users = "\n  steps:\n", `  - apply: {shoot: alpha, object: {apiVersion: dns.example.org/v1,
      kind: DNSEntry, metadata: {name: web, namespace: default}, spec: {dnsName: web.example.org, target: 192.0.2.1}}}
  - apply: {shoot: alpha, object: {apiVersion: certificates.example.org/v1, kind: Certificate,
      metadata: {name: web, namespace: default}, spec: {commonName: web.example.org}}}
  - wait: {for: 10s, because: care must have seen whether the extensions do what users ask for}
  - wait: {until: shoot('alpha').healthy, within: 60s}
`
	if !strings.Contains(string(content), steps) {
		t.Fatalf("%s has no steps", path)
	}
	file := filepath.Join(t.TempDir(), filepath.Base(path)+".yaml")
	if err := os.WriteFile(file, []byte(strings.Replace(string(content), steps, steps+users, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// all says whether also what takes hours is to run ("make example-extensions").
func all() bool { return os.Getenv("TRANSPLANT_EXAMPLES") == "all" }

// crashing is a scenario in which the extension of a class dies after a write, on the seed that the shoot leaves or on
// the one that it comes to: after the first one that some fields of a crash select, or after each of four.
func crashing(t *testing.T, class, seed, fields string) string {
	t.Helper()
	sweep := ""
	if fields == "" {
		sweep = "  sweep: [{fault: dies, upTo: 4}]\n"
	}
	file := filepath.Join(t.TempDir(), "crash.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, `apiVersion: transplant.dev/v1alpha1
kind: Scenario
metadata: {name: crash}
spec:
  why: an extension that dies in the middle of a migration takes it up where it was
  landscape:
    seeds: [{name: a}, {name: b}]
    shoots: [{name: alpha, seed: a, workers: 1, objects: 10}]
  steps:
  - load:    {shoot: alpha, writesPerSecond: 10}
  - fault:   {name: dies, crash: {actor: %[1]s-%[2]s, target: %[2]s, %[3]sat: After}}
  - migrate: {shoot: alpha, to: b}
  - expect:  {that: "shoot('alpha').seed == 'b' && shoot('alpha').healthy", within: 120s}
  - expect:  {that: "seed('a').shoots == 0", within: 60s}
%[4]s  always: [SingleWriter, NoLostWrite, CloudUntouched, NodesPreserved, NoOrphans, MigrationEnds, ShootUntouched]
`, class, seed, fields, sweep), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// Six extensions that behave as those of the field are moved, lost and brought back with a shoot that has them all.
func TestExampleExtensions_AllAtOnce_Pass(t *testing.T) {
	t.Parallel()
	files := builtExamples(t)
	scenarios := []string{withUsers(t, "loss/seed-loss")}
	if all() {
		scenarios = append(scenarios, withUsers(t, "migration/planned-migration"), withUsers(t, "loss/seed-loss-and-return"),
			"../scenarios/migration/hibernated-shoot.yaml")
		for _, class := range exampleClasses {
			scenarios = append(scenarios, crashing(t, class, "a", ""), crashing(t, class, "b", ""))
		}
	}
	for _, file := range scenarios {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			for _, report := range runAll(t, inOrder(files), file, "--sample", "2") {
				if report.Verdict != verdict.Passed || len(report.Extensions) != len(exampleClasses) {
					t.Errorf("%s with %v, want Passed: %+v %v", report.Verdict, report.Extensions, report.Violations,
						report.Reasons)
				}
			}
		})
	}
}

// runAll runs a scenario with extensions, and returns the verdicts of all its runs.
func runAll(t *testing.T, extensions []string, scenario string, flags ...string) []verdict.Report {
	t.Helper()
	out := t.TempDir()
	args := append([]string{"run", scenario, "--timeout-multiplier", strconv.Itoa(multiplier), "--out", out}, flags...)
	for _, extension := range extensions {
		args = append(args, "--extension", extension)
	}
	command := exec.CommandContext(t.Context(), program, args...)
	command.Env = inHome(t.TempDir())
	said, _ := command.CombinedOutput() // its code is the verdict's
	reports, err := reportsIn(out)
	if err != nil || len(reports) == 0 {
		t.Fatalf("%d verdicts: %v\n%s", len(reports), err, said)
	}
	return reports
}

// reportsIn are the verdicts of all runs in a folder.
func reportsIn(folder string) (reports []verdict.Report, err error) {
	err = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Name() != verdict.FileName {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		report := verdict.Report{}
		if err := json.Unmarshal(content, &report); err != nil {
			return fmt.Errorf("read %s: %w", path, err)
		}
		reports = append(reports, report)
		return nil
	})
	return reports, err
}

// plantedBug is a row of extensions/planted-bugs.yaml.
type plantedBug struct {
	Bug, Class, Scenario, At, Promise, Does string
	CI                                      bool
}

func plantedBugs(t *testing.T) []plantedBug {
	t.Helper()
	content, err := os.ReadFile("extensions/planted-bugs.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var rows []plantedBug
	if err := yaml.UnmarshalStrict(content, &rows); err != nil {
		t.Fatal(err)
	}
	return rows
}

// ofContract is the scenario of planted bugs that the contract kit must name.
const ofContract = "contract"

// Each planted bug is caught by its promise.
func TestExampleExtensions_PlantedBug_IsCaughtByItsPromise(t *testing.T) {
	t.Parallel()
	for _, row := range plantedBugs(t) {
		if !row.CI && !all() || row.Scenario == ofContract {
			continue
		}
		t.Run(row.Class+" "+row.Bug, func(t *testing.T) {
			t.Parallel()
			files := builtExamples(t)
			replace(t, files[row.Class], `name: PLANTED_BUG, value: ""`, `name: PLANTED_BUG, value: `+row.Bug)
			file := ""
			if row.Scenario == "crash" {
				file = crashing(t, row.Class, "a", row.At)
			} else {
				file = withUsers(t, row.Scenario)
			}
			for _, report := range runAll(t, inOrder(files), file) {
				if report.Verdict != verdict.Failed || !slices.ContainsFunc(report.Violations,
					func(v verdict.Violation) bool { return v.Oracle == row.Promise }) {
					t.Errorf("%s, want Failed by %s: %+v %v", report.Verdict, row.Promise, report.Violations, report.Reasons)
				}
			}
		})
	}
}

// page of docs/extensions.
func page(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("../docs/extensions", name+".md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// The files are accepted, alone and all together, and each planted bug is of a class, for a promise that exists.
// The pages show the files and the planted bugs.
func TestExampleExtensions_Files_AreAccepted(t *testing.T) {
	t.Parallel()
	files := exampleFiles(t, func(path string) error {
		return os.WriteFile(path, []byte("#!"), 0o755) //nolint:gosec // a program
	})
	for _, class := range exampleClasses {
		flag := thirdparty.Flag{Files: []string{files[class]}}
		if _, err := flag.Parse(); err != nil {
			t.Error(err)
		}
	}
	flag := thirdparty.Flag{}
	for _, class := range exampleClasses {
		flag.Files = append(flag.Files, files[class])
	}
	if parsed, err := flag.Parse(); err != nil || len(parsed) != len(exampleClasses) {
		t.Errorf("%d of them together: %v", len(parsed), err)
	}
	overview := page(t, "README")
	for class, file := range files {
		if content, err := os.ReadFile(file); err != nil || slices.Contains(exampleClasses, class) &&
			!strings.Contains(page(t, class), "```yaml\n"+string(content)+"```\n") {
			t.Errorf("docs/extensions/%s.md does not show the file %s.yaml as it is: %v", class, class, err)
		}
	}
	for _, row := range plantedBugs(t) {
		if line := fmt.Sprintf("| %s | `%s` | %s | `%s` |\n", row.Class, row.Bug, row.Does, row.Promise); !strings.Contains(
			overview, line) {
			t.Errorf("docs/extensions/README.md lacks the row %s", line)
		}
		promised := row.Promise == verdict.Expect ||
			slices.ContainsFunc(oracle.All(), func(o oracle.Oracle) bool { return o.Name() == row.Promise })
		if clause, found := contract.ClauseByID(row.Promise); row.Scenario == ofContract {
			promised = found && clause.IsJudged()
		}
		if !slices.Contains(exampleClasses, row.Class) || !promised || row.Does == "" {
			t.Errorf("a planted bug of no class, or for no promise: %+v", row)
		}
	}
}
