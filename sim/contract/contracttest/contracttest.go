// Package contracttest tries an extension against the contract between gardenlets and extensions, in a Go test of the
// repository of the extension (docs/contract-kit.md#in-a-go-test). Each kind and clause is a subtest.
//
// It judges nothing: the program transplant does, which it starts. Who has no Go test starts the program.
package contracttest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/transplant-sim/transplant/sim/contract"
	"github.com/transplant-sim/transplant/sim/contract/results"
)

// Options of a run.
type Options struct {
	// File of the extension, a path from the folder of the test. Its program must have been built.
	File string
	// Flags of the command transplant contract, such as --points none or --expected-failures known.yaml.
	Flags []string
	// Program is the path of transplant. Empty for the tool of that name of the module of the test:
	// go get -tool github.com/transplant-sim/transplant/cmd/transplant
	Program string
	// Env is added to the environment of the test, for the program alone.
	Env []string
	// Out is the folder of the results; empty for the test's artifacts, which go test keeps with -artifacts.
	Out string
	// UnknownPasses lets a run pass that breaks no clause, and does not show all that apply.
	UnknownPasses bool
}

// stopTime is how long the program may take to stop what it has started.
const stopTime = time.Minute

// Run tries the extension. The test has a subtest for each kind, and in it one for each clause that is judged. It
// fails if the extension breaks the clause. It is skipped if that is expected or not shown, or if the clause does not
// apply. The test fails, too, if something that applies is not shown, if an expected failure did not fail, or if exit
// code and report do not fit each other. It ends at once if the program has no report, or if less than a minute is left
// until the timeout of the test.
//
// The error of a subtest has what was found, the sentence of the contract, and the command that shows it again.
func Run(t *testing.T, o Options) contract.Report {
	t.Helper()
	if o.Program == "" {
		o.Program = tool(t)
	}
	if o.Out == "" {
		o.Out = t.ArtifactDir()
	}
	report, code := try(t, o)
	if want := report.ExitCode(); code != want {
		t.Errorf("the program ended with exit code %d, and its report with %s, which is %d: look at what it has printed",
			code, report.Outcome(), want)
	}
	checkReport(t, report)
	for _, kind := range report.Kinds {
		t.Run(kind.Name(), func(t *testing.T) {
			if kind.Reason != "" {
				t.Skip(kind.Reason)
			}
			for _, id := range report.Clauses {
				if clause, known := contract.ClauseByID(id); known && clause.IsJudged() {
					t.Run(id, func(t *testing.T) { show(t, report, kind, clause) })
				}
			}
		})
	}
	for _, x := range report.Outdated {
		t.Error(x.Remedy())
	}
	if report.Outcome() == contract.Unknown && !o.UnknownPasses {
		t.Error("not all clauses that apply could be judged; the subtests that are skipped say why")
	}
	return report
}

// checkReport fails the test for what no subtest can show.
func checkReport(t *testing.T, report contract.Report) {
	t.Helper()
	for _, id := range report.Clauses {
		if _, known := contract.ClauseByID(id); !known {
			t.Errorf("the report has the clause %q, which this package does not know: use program and package of one version",
				id)
		}
	}
	if len(report.Kinds) == 0 {
		t.Error("the report has no kind; look at what the program has printed")
	}
	for _, kind := range report.Kinds {
		for id, f := range kind.Findings {
			clause, _ := contract.ClauseByID(id)
			isShown := kind.Reason == "" && slices.Contains(report.Clauses, id) && clause.IsJudged()
			if f.Shown() == contract.NonConformant && !isShown {
				t.Errorf("%s breaks %s, which is no subtest: %s", kind.Name(), id, f.Reason)
			}
		}
	}
}

// tool is the program of the module of the test.
func tool(t *testing.T) string {
	t.Helper()
	var said bytes.Buffer
	find := exec.CommandContext(t.Context(), "go", "tool", "-n", "transplant")
	find.Stderr = &said
	path, err := find.Output()
	if err != nil {
		t.Fatalf("find the program transplant: %v: %s\nadd it to the module: go get -tool "+
			"github.com/transplant-sim/transplant/cmd/transplant; or set Program", err, said.Bytes())
	}
	return string(bytes.TrimSpace(path))
}

// try runs the program. What it prints is logged.
func try(t *testing.T, o Options) (report contract.Report, code int) {
	t.Helper()
	ctx := t.Context()
	if deadline, has := t.Deadline(); has { // what was started is stopped before go test ends the test
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline.Add(-stopTime))
		defer cancel()
	}
	path := filepath.Join(o.Out, contract.ReportName)
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("remove the report of an earlier run: %v", err)
	}
	command := exec.CommandContext(ctx, o.Program, append([]string{"contract", o.File, "--out", o.Out}, o.Flags...)...)
	command.Env = append(os.Environ(), o.Env...)
	command.Stdout, command.Stderr = t.Output(), t.Output()
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = stopTime
	ended := command.Run()
	content, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(content, &report)
	}
	if err == nil && ctx.Err() != nil {
		err = fmt.Errorf("it was stopped, so that it ends before the test does: %w", ctx.Err())
	}
	if exit := (*exec.ExitError)(nil); err == nil && !errors.As(ended, &exit) {
		err = ended // it did not start, or its output did not end
	}
	if err != nil {
		t.Fatalf("try %s: %v: %v", o.File, ended, err)
	}
	return report, command.ProcessState.ExitCode()
}

func show(t *testing.T, report contract.Report, kind contract.KindReport, clause contract.Clause) {
	t.Helper()
	switch f := kind.Findings[clause.ID]; f.Shown() {
	case contract.NonConformant:
		t.Error(results.FailureText(report, kind, clause))
	case contract.Conformant:
	case contract.NotJudged:
		t.Errorf("the program does not judge %s yet: use program and package of one version", clause.ID)
	case "":
		t.Errorf("the report says nothing about %s of %s: use program and package of one version", clause.ID, kind.Name())
	default:
		t.Skipf("%s: %s", f.Shown(), f.Reason)
	}
}
