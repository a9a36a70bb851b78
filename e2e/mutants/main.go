// Command mutants plants one bug at a time and asks whether the scenario named beside it notices: it tests the
// testers. Bugs are build overlays; the tree is never changed.
package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
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
)

//go:embed mutants.yaml
var list []byte

// mutant is one planted bug.
type mutant struct {
	Name string `json:"name"`
	Why  string `json:"why"`
	edit `json:",inline"`
	// Also are further edits, where another layer would make up for the first.
	Also     []edit `json:"also,omitempty"`
	Scenario string `json:"scenario"`
	// Oracle that must be violated: one that the scenario names, or what every scenario is judged by (expect, measure, settle).
	Oracle string `json:"oracle"`
	// Says is part of what the violation must say, where the oracle is an expectation, a goal or the rest at the end: a value
	// that only the bug gives, which goal it is that the bug has missed, or what it lets move.
	Says string `json:"says,omitempty"`
}

// edit is one changed line.
type edit struct {
	// File, from the root of the repository, in which Old is replaced by New.
	File string `json:"file"`
	Old  string `json:"old"`
	New  string `json:"new"`
	// Occurrence of Old, counted from 1; 0 means that there must be exactly one.
	Occurrence int `json:"occurrence,omitempty"`
}

func main() {
	out := flag.String("out", "out/mutants", "folder for the evidence")
	stretch := flag.String("timeout-multiplier", "1", "as of transplant run, on a slow machine")
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
	var missed []string
	total := 0
	wall := clock.RealClock{}
	for _, m := range mutants {
		if len(names) > 0 && !slices.Contains(names, m.Name) {
			continue
		}
		total++
		begin := wall.Now()
		verdict, err := m.try(ctx, filepath.Join(out, m.Name), stretch)
		if err != nil {
			return fmt.Errorf("mutant %q: %w", m.Name, err)
		}
		fmt.Printf("%-36s %-16s %4.0fs %s\n", m.Name, m.Oracle, wall.Since(begin).Seconds(), verdict)
		if verdict != caught {
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

func read() ([]mutant, error) {
	var mutants []mutant
	if err := yaml.UnmarshalStrict(list, &mutants); err != nil {
		return nil, fmt.Errorf("read the list of mutants: %w", err)
	}
	return mutants, nil
}

const caught = "caught"

// try builds the mutant, runs its scenario, and says what came of it.
func (m mutant) try(ctx context.Context, out, stretch string) (string, error) {
	if err := os.RemoveAll(out); err != nil { // the verdict of an earlier try proves nothing
		return "", fmt.Errorf("remove the earlier evidence: %w", err)
	}
	work, err := os.MkdirTemp("", "mutant-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work)
	program, err := m.build(ctx, work)
	if err != nil {
		return "", err
	}
	command := exec.CommandContext(ctx, program, "run", m.Scenario, "--out", out, "--landscape", "mutant", "--timeout-multiplier", stretch)
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	said, err := command.CombinedOutput()
	if exit := (&exec.ExitError{}); err != nil && !errors.As(err, &exit) {
		return "", fmt.Errorf("run %s: %w", m.Scenario, err)
	}
	if err := ctx.Err(); err != nil {
		return "", err
	}
	return m.judge(filepath.Join(out, "verdict.json"), said)
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
	command := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-w", "-overlay", overlay, "-o", program, "./cmd/transplant")
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if said, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, said)
	}
	return program, nil
}

// lay writes changed files, named from the root of the repository, and the overlay that puts them into the tree.
func lay(root, work string, changed map[string][]byte) (overlay string, err error) {
	replace := map[string]string{}
	for i, file := range slices.Sorted(maps.Keys(changed)) {
		original, err := filepath.Abs(filepath.Join(root, file))
		if err != nil {
			return "", err
		}
		replace[original] = filepath.Join(work, fmt.Sprintf("changed%d.go", i))
		if err := os.WriteFile(replace[original], changed[file], 0o600); err != nil {
			return "", err
		}
	}
	description, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay = filepath.Join(work, "overlay.json")
	return overlay, os.WriteFile(overlay, description, 0o600)
}

// changed are the contents of the files with the bug in them, by name. The root is that of the repository.
func (m mutant) changed(root string) (map[string][]byte, error) {
	contents := map[string][]byte{}
	for _, e := range append([]edit{m.edit}, m.Also...) {
		content, known := contents[e.File]
		if !known {
			var err error
			if content, err = os.ReadFile(filepath.Join(root, e.File)); err != nil {
				return nil, err
			}
		}
		var err error
		if contents[e.File], err = e.plant(content); err != nil {
			return nil, err
		}
	}
	return contents, nil
}

func (e edit) plant(content []byte) ([]byte, error) {
	found := bytes.Count(content, []byte(e.Old))
	if found == 0 || (e.Occurrence == 0 && found > 1) || e.Occurrence > found {
		return nil, fmt.Errorf("%s has its line %d times, want occurrence %d (0 is the only one)", e.File, found, e.Occurrence)
	}
	at := 0
	for range max(1, e.Occurrence) {
		at = bytes.Index(content[at:], []byte(e.Old)) + at
		if e.Occurrence > 1 {
			at++
		}
	}
	if e.Occurrence > 1 {
		at--
	}
	return slices.Concat(content[:at], []byte(e.New), content[at+len(e.Old):]), nil
}

// says is what the violation must say, up to the end of a value: 2 is not 20.
func (m mutant) says() *regexp.Regexp { return regexp.MustCompile(regexp.QuoteMeta(m.Says) + `(\W|$)`) }

// judge reads the verdict. Only the oracle that is named counts.
func (m mutant) judge(file string, said []byte) (string, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("read the verdict: %w\n%s", err, said)
	}
	verdict := struct {
		Verdict    string
		Violations []struct{ Oracle, Message string }
	}{}
	if err := json.Unmarshal(content, &verdict); err != nil {
		return "", fmt.Errorf("read the verdict: %w", err)
	}
	var others []string
	for _, violation := range verdict.Violations {
		if violation.Oracle == m.Oracle && m.says().MatchString(violation.Message) {
			return caught, nil
		}
		others = append(others, violation.Oracle)
	}
	return fmt.Sprintf("NOT caught: %s %s", verdict.Verdict, strings.Join(slices.Compact(others), ", ")), nil
}
