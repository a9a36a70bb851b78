// Command mutants plants one bug at a time and asks whether the scenario named beside it notices: it tests the testers.
// There are two lists: bugs of the product, which an oracle must find, and bugs of the harness, which must not let a
// run pass. Bugs are build overlays; the tree is never changed.
package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"k8s.io/utils/clock"
	"sigs.k8s.io/yaml"

	"github.com/transplant-sim/transplant/sim/catalogue"
	"github.com/transplant-sim/transplant/sim/verdict"
)

var (
	//go:embed mutants.yaml
	ofProduct []byte
	//go:embed harness.yaml
	ofHarness []byte
)

// mutant is one planted bug, of the product or of the harness.
type mutant struct {
	Name string `json:"name"`
	Why  string `json:"why"`
	edit `json:",inline"`
	// Also are further edits, where another layer would make up for the first.
	Also []edit `json:"also,omitempty"`
	// Scenario is the name of the one that must notice, in the catalogue or in the folder scenarios beside this program.
	Scenario string `json:"scenario"`
	// Extensions are third-party extensions of its landscape, by the names of their files in the folder e2e/extensions.
	Extensions []string `json:"extensions,omitempty"`
	// Oracle that must find a violation: one that the scenario names, what every scenario is judged by (expect, measure,
	// settle), or requests.
	Oracle string `json:"oracle"`
	// Says is part of what the violation must say, where the oracle is an expectation, a goal or settle: a
	// value that only the bug gives, which goal it is that the bug has missed, or what it lets move.
	Says string `json:"says,omitempty"`

	// Want is the verdict that a bug of the harness must lead to: Inconclusive, or Error. Says is part of its reasons
	// then.
	Want verdict.Verdict `json:"want,omitempty"`
	// With is a bug of the product that is planted beside one of the harness, which must not hide it: its oracle must
	// find it all the same, in its scenario, or the verdict must be Inconclusive or Error.
	With string `json:"with,omitempty"`
}

// requests is the oracle of bugs that only cost too much: a kind of request occurs at least twice as often as in the
// profile of the scenario in the folder profiles.
const requests = "requests"

// wanted is what must become of the run, for people.
func (m mutant) wanted() string {
	switch {
	case m.With != "":
		return fmt.Sprintf("%s (%s), Inconclusive or Error", m.Oracle, m.With)
	case m.Want != "":
		return string(m.Want)
	}
	return m.Oracle
}

// edits of a mutant, in their order.
func (m mutant) edits() []edit { return append([]edit{m.edit}, m.Also...) }

func main() {
	out := flag.String("out", "out/mutants", "folder for the evidence")
	stretch := flag.String("timeout-multiplier", "1", "for slow machines, as in transplant run")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *out, *stretch, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out, stretch string, names []string) error {
	mutants, err := read()
	if err != nil {
		return err
	}
	files, err := scenariosOf(".", mutants)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return fmt.Errorf("make the folder for the evidence: %w", err)
	}
	var missed []string
	total := 0
	wall := clock.RealClock{}
	table := []string{"| bug | want | seconds | verdict | caught by |", "|---|---|---|---|---|"}
	for _, m := range mutants {
		if len(names) > 0 && !slices.Contains(names, m.Name) {
			continue
		}
		total++
		begin := wall.Now()
		became, err := m.try(ctx, files[m.Scenario], filepath.Join(out, m.Name), stretch)
		if err != nil {
			return fmt.Errorf("mutant %q: %w", m.Name, err)
		}
		took := wall.Since(begin).Seconds()
		fmt.Printf("%-36s %-16s %4.0fs %s\n", m.Name, m.wanted(), took, became)
		row := fmt.Sprintf("| %s | %s | %.0f | %s | %s |", m.Name, m.wanted(), took, became.verdict, became.cell())
		table = append(table, row)
		content := []byte(strings.Join(table, "\n") + "\n")
		if err := os.WriteFile(filepath.Join(out, "table.md"), content, 0o644); err != nil {
			return fmt.Errorf("write the table: %w", err)
		}
		if !became.caught {
			missed = append(missed, m.Name)
		}
	}
	fmt.Printf("%d of %d mutants caught\n", total-len(missed), total)
	if len(missed) > 0 {
		return fmt.Errorf("not caught: %s", strings.Join(missed, ", "))
	}
	if total == 0 {
		return fmt.Errorf("no mutant is called %s", strings.Join(names, ", "))
	}
	return nil
}

// read both lists, that of the product first.
func read() ([]mutant, error) {
	var product, harness []mutant
	if err := yaml.UnmarshalStrict(ofProduct, &product); err != nil {
		return nil, fmt.Errorf("read the list of bugs of the product: %w", err)
	}
	if err := yaml.UnmarshalStrict(ofHarness, &harness); err != nil {
		return nil, fmt.Errorf("read the list of bugs of the harness: %w", err)
	}
	for i := range harness {
		if err := harness[i].join(product); err != nil {
			return nil, err
		}
	}
	return append(product, harness...), nil
}

// scenariosOf gives the files of the scenarios that mutants name, from the root of the repository.
func scenariosOf(root string, mutants []mutant) (map[string]string, error) {
	known, err := catalogue.Read(filepath.Join(root, "scenarios"), filepath.Join(root, "e2e", "mutants", "scenarios"))
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	var errs []error
	for _, m := range mutants {
		found, err := known.Find(m.Scenario)
		if err != nil {
			errs = append(errs, fmt.Errorf("mutant %q: %w", m.Name, err))
			continue
		}
		files[m.Scenario] = found.Path
	}
	return files, errors.Join(errs...)
}

// join plants the product's bug beside that of the harness, if it has one.
func (m *mutant) join(product []mutant) error {
	if m.With == "" {
		return nil
	}
	at := slices.IndexFunc(product, func(p mutant) bool { return p.Name == m.With })
	if at < 0 {
		return fmt.Errorf("mutant %q: the product has no bug %q", m.Name, m.With)
	}
	p := product[at]
	m.Also = slices.Concat(m.Also, []edit{p.edit}, p.Also)
	m.Scenario = p.Scenario
	if m.Oracle == "" { // else another one finds it, when the bug of the harness has blinded the first
		m.Oracle, m.Says = p.Oracle, p.Says
	}
	return nil
}

// outcome of a run with a bug.
type outcome struct {
	verdict verdict.Verdict
	caught  bool
	by      string // the oracles that found something, or the first reason
}

func (o outcome) String() string {
	if o.caught {
		return fmt.Sprintf("caught: %s: %s", o.verdict, o.by)
	}
	return fmt.Sprintf("NOT caught: %s %s", o.verdict, o.by)
}

// cell of the table.
func (o outcome) cell() string {
	by := strings.ReplaceAll(o.by, "|", "\\|")
	if !o.caught {
		return "**not caught** " + by
	}
	return by
}

// try builds the mutant, runs its scenario, and says what came of it.
func (m mutant) try(ctx context.Context, file, out, stretch string) (outcome, error) {
	if err := os.RemoveAll(out); err != nil { // the verdict of an earlier try proves nothing
		return outcome{}, fmt.Errorf("remove the earlier evidence: %w", err)
	}
	work, err := os.MkdirTemp("", "mutant-")
	if err != nil {
		return outcome{}, err
	}
	defer os.RemoveAll(work)
	program, err := m.build(ctx, work)
	if err != nil {
		return outcome{}, err
	}
	args := []string{"run", file, "--out", out, "--landscape", "mutant", "--timeout-multiplier", stretch}
	extensions, err := m.extensions(ctx, filepath.Join(work, "extensions"))
	if err != nil {
		return outcome{}, err
	}
	for _, extension := range extensions {
		args = append(args, "--extension", extension)
	}
	command := exec.CommandContext(ctx, program, args...)
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	said, err := command.CombinedOutput()
	if exit := (&exec.ExitError{}); err != nil && !errors.As(err, &exit) {
		return outcome{}, fmt.Errorf("run %s: %w", file, err)
	}
	if err := ctx.Err(); err != nil {
		return outcome{}, err
	}
	if m.Oracle == requests {
		return m.compare(ctx, program, out, said)
	}
	return m.judge(filepath.Join(out, "verdict.json"), said)
}

// compare the profile of the run with that of the scenario. A bug that only costs too much lets the run pass.
func (m mutant) compare(ctx context.Context, program, out string, said []byte) (outcome, error) {
	became, err := m.judge(filepath.Join(out, "verdict.json"), said)
	if err != nil || became.verdict != verdict.Passed {
		return became, err
	}
	command, found := exec.CommandContext(ctx, program, "profile", out, "--against", m.profile(".")), &strings.Builder{}
	command.Stderr = found
	err = command.Run()
	if exit := (&exec.ExitError{}); err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		return outcome{}, fmt.Errorf("profile the run: %w\n%s", err, found)
	}
	became.caught, became.by = err != nil && m.says().MatchString(found.String()), found.String()
	return became, nil
}

// profile is the file with that of the scenario, from the root of the repository.
func (m mutant) profile(root string) string {
	return filepath.Join(root, "e2e", "mutants", "profiles", m.Scenario+".json")
}

// build makes a program with the changed files laid over the tree.
func (m mutant) build(ctx context.Context, work string) (string, error) {
	changed, err := m.changed(".")
	if err != nil {
		return "", err
	}
	overlay, err := lay(".", work, changed)
	if err != nil {
		return "", err
	}
	program := filepath.Join(work, "transplant")
	// As in make build, so that only what the bug touches is compiled; and linked without what debuggers need.
	command := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-w", "-overlay", overlay, "-o", program,
		"./cmd/transplant")
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if said, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, said)
	}
	return program, nil
}

// says is what the violation must say, up to the end of a value: 2 is not 20.
func (m mutant) says() *regexp.Regexp { return regexp.MustCompile(regexp.QuoteMeta(m.Says) + `(\W|$)`) }

// judge reads the verdict. Only the oracle, or the verdict, that is named counts.
func (m mutant) judge(file string, said []byte) (outcome, error) {
	content, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) && m.Oracle == "" { // without a verdict, no run counts as good
		return outcome{verdict.Error, m.Want == verdict.Error && m.says().Match(said), lastLine(said)}, nil
	}
	if err != nil {
		return outcome{}, fmt.Errorf("read the verdict: %w\n%s", err, said)
	}
	report := verdict.Report{}
	if err := json.Unmarshal(content, &report); err != nil {
		return outcome{}, fmt.Errorf("read the verdict: %w", err)
	}
	by := strings.Join(append(oraclesOf(report), firstOf(report.Reasons)...), "; ")
	became := outcome{verdict: report.Verdict, by: by}
	found := slices.ContainsFunc(report.Violations, func(v verdict.Violation) bool {
		return v.Oracle == m.Oracle && m.says().MatchString(v.Message)
	})
	unsure := report.Verdict == verdict.Inconclusive || report.Verdict == verdict.Error
	switch {
	case m.Want != "":
		became.caught = report.Verdict == m.Want && m.says().MatchString(strings.Join(report.Reasons, "\n"))
	case m.With != "":
		became.caught = found || unsure
	default:
		became.caught = found
	}
	return became, nil
}

func oraclesOf(report verdict.Report) []string {
	var names []string
	for _, v := range report.Violations {
		if !slices.Contains(names, v.Oracle) {
			names = append(names, v.Oracle)
		}
	}
	return names
}

// firstOf is the first, if there is any, and how many more there are.
func firstOf(reasons []string) []string {
	if len(reasons) < 2 {
		return reasons
	}
	return []string{fmt.Sprintf("%s (and %d more)", reasons[0], len(reasons)-1)}
}

func lastLine(said []byte) string {
	lines := strings.Split(strings.TrimSpace(string(said)), "\n")
	return lines[len(lines)-1]
}
