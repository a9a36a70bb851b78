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
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"sigs.k8s.io/yaml"
)

//go:embed mutants.yaml
var list []byte

// mutant is one planted bug.
type mutant struct {
	Name string `json:"name"`
	Why  string `json:"why"`
	// File, from the root of the repository, in which Old is replaced by New.
	File string `json:"file"`
	Old  string `json:"old"`
	New  string `json:"new"`
	// Occurrence of Old, counted from 1; 0 means that there must be exactly one.
	Occurrence int    `json:"occurrence,omitempty"`
	Scenario   string `json:"scenario"`
	// Oracle that must be violated.
	Oracle string `json:"oracle"`
}

func main() {
	out := flag.String("out", "out/mutants", "folder for the evidence")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *out, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out string, names []string) error {
	var mutants []mutant
	if err := yaml.UnmarshalStrict(list, &mutants); err != nil {
		return fmt.Errorf("read the list of mutants: %w", err)
	}
	var missed []string
	total := 0
	for _, m := range mutants {
		if len(names) > 0 && !slices.Contains(names, m.Name) {
			continue
		}
		total++
		verdict, err := m.try(ctx, filepath.Join(out, m.Name))
		if err != nil {
			return fmt.Errorf("mutant %q: %w", m.Name, err)
		}
		fmt.Printf("%-40s %-16s %s\n", m.Name, m.Oracle, verdict)
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

const caught = "caught"

// try builds the mutant, runs its scenario, and says what came of it.
func (m mutant) try(ctx context.Context, out string) (string, error) {
	work, err := os.MkdirTemp("", "mutant-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work)
	program, err := m.build(ctx, work)
	if err != nil {
		return "", err
	}
	command := exec.CommandContext(ctx, program, "run", m.Scenario, "--out", out, "--landscape", "mutant")
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

// build makes a program with the changed file laid over the tree.
func (m mutant) build(ctx context.Context, work string) (string, error) {
	original, err := filepath.Abs(m.File)
	if err != nil {
		return "", err
	}
	content, err := os.ReadFile(original)
	if err != nil {
		return "", err
	}
	changed, err := m.plant(content)
	if err != nil {
		return "", err
	}
	replacement, overlay, program := filepath.Join(work, "changed.go"), filepath.Join(work, "overlay.json"), filepath.Join(work, "transplant")
	description, err := json.Marshal(map[string]any{"Replace": map[string]string{original: replacement}})
	if err != nil {
		return "", err
	}
	if err := errors.Join(os.WriteFile(replacement, changed, 0o600), os.WriteFile(overlay, description, 0o600)); err != nil {
		return "", err
	}
	command := exec.CommandContext(ctx, "go", "build", "-overlay", overlay, "-o", program, "./cmd/transplant")
	if said, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, said)
	}
	return program, nil
}

func (m mutant) plant(content []byte) ([]byte, error) {
	found := bytes.Count(content, []byte(m.Old))
	if found == 0 || (m.Occurrence == 0 && found > 1) || m.Occurrence > found {
		return nil, fmt.Errorf("%s has its line %d times, want occurrence %d (0 is the only one)", m.File, found, m.Occurrence)
	}
	at := 0
	for range max(1, m.Occurrence) {
		at = bytes.Index(content[at:], []byte(m.Old)) + at
		if m.Occurrence > 1 {
			at++
		}
	}
	if m.Occurrence > 1 {
		at--
	}
	return slices.Concat(content[:at], []byte(m.New), content[at+len(m.Old):]), nil
}

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
		if violation.Oracle == m.Oracle {
			return caught, nil
		}
		others = append(others, violation.Oracle)
	}
	return fmt.Sprintf("NOT caught: %s %s", verdict.Verdict, strings.Join(slices.Compact(others), ", ")), nil
}
