package contract

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/transplant-sim/transplant/clusters/kind/docker"
	"github.com/transplant-sim/transplant/cmd/transplant/environment"
	"github.com/transplant-sim/transplant/cmd/transplant/environment/backend"
	"github.com/transplant-sim/transplant/sim/contract"
	"github.com/transplant-sim/transplant/sim/contract/plan"
	"github.com/transplant-sim/transplant/sim/contract/results"
	"github.com/transplant-sim/transplant/sim/junit"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/report"
	"github.com/transplant-sim/transplant/sim/run"
)

// Names in the folder of results, beside those of package results.
const (
	recordName = "record.json"
	plansName  = "plans"
	logsName   = "logs"
)

// exitError is an error with the code to exit with.
type exitError struct {
	code int
	text string
}

// Error implements error.
func (e *exitError) Error() string { return e.text }

// ExitCode is what the program exits with.
func (e *exitError) ExitCode() int { return e.code }

func (o *options) run(ctx context.Context, out io.Writer) error {
	clauses, err := o.check()
	if err != nil {
		return err
	}
	extensions := &backend.Extensions{Warnings: out}
	extensions.Files = []string{o.file}
	if err := extensions.Check(ctx, o.backend, []string{sourceName, destinationName}); err != nil {
		return err
	}
	prepared := environment.New(environment.ScenarioSettings)
	if err := extensions.On(prepared); err != nil {
		return err
	}
	e := prepared.Extensions[0]
	if clauses, err = o.readPlan(kindsOf(e), clauses); err != nil {
		return err
	}
	subjects, without := subjectsOf(e, o.kinds)
	if len(subjects)+len(without) == 0 {
		return fmt.Errorf("--kind: the extension %s does not reconcile %s", e.Name, strings.Join(o.kinds, ", "))
	}
	found, err := o.newReport(ctx, e, clauses)
	if err != nil {
		return err
	}
	var expected []contract.ExpectedFailure
	if o.expected != "" {
		if expected, err = contract.ReadExpected(o.expected, found.Reconciles); err != nil {
			return err
		}
	}
	if err := o.chooseOut(e.Name); err != nil {
		return err
	}
	if err := o.discard(); err != nil {
		return err
	}
	if len(subjects) > 0 {
		if found.Kinds, err = o.judge(ctx, prepared, subjects, clauses, out); err != nil && len(found.Kinds) < len(subjects) {
			return err
		}
	}
	found.Kinds = append(found.Kinds, without...)
	found.Expect(expected)
	found.Seconds = time.Since(found.Started).Seconds()
	return o.finish(out, found, clauses, err)
}

// judge tries all subjects, and finds what the record says about the clauses. If there is an error, too, all kinds were
// judged, or none.
func (o *options) judge(ctx context.Context, e *environment.Environment, subjects []subject, clauses []contract.Clause,
	out io.Writer) (kinds []contract.KindReport, err error) {
	// Connections that are cut off on purpose, and such, are noise for the user.
	if err := run.LogInto(filepath.Join(o.out, logsName), 0); err != nil {
		return nil, err
	}
	var evidence []*contract.Evidence
	err = o.onSeeds(ctx, e, subjects, out, func(ctx context.Context, k *kit) (err error) {
		if o.replayed != nil {
			evidence, err = k.replay(ctx, subjects[0], []plan.Plan{*o.replayed})
		} else {
			evidence, err = k.try(ctx, subjects, clauses)
		}
		kinds, err = o.verdicts(ctx, k, subjects, evidence, clauses, err)
		return err
	})
	if len(evidence) > 0 { // an error may be understood by it
		err = errors.Join(err, o.write(recordName, evidence))
	}
	return kinds, err
}

// verdicts are what the record of all kinds says, and the plans that show it again. If ended has ended the crashes,
// what the walks have shown stays.
func (o *options) verdicts(ctx context.Context, k *kit, subjects []subject, evidence []*contract.Evidence,
	clauses []contract.Clause, ended error) (kinds []contract.KindReport, err error) {
	if ended != nil {
		if crashes := (*crashError)(nil); !errors.As(ended, &crashes) {
			return nil, ended
		}
		o.shrink = 0 // nothing more is tried
	}
	for i, e := range evidence {
		kind := contract.Judge(e, clauses)
		if o.replayed != nil {
			id := o.replayed.Clause
			kind.Findings[id] = o.replayed.Shown(kind.Findings[id])
		}
		err = errors.Join(err, o.plans(ctx, k, subjects[i], e, kind))
		kinds = append(kinds, kind)
	}
	return kinds, errors.Join(ended, err)
}

// kindsOf the extension, each with its type.
func kindsOf(e landscape.Extension) (all []string) {
	for _, resource := range e.Resources {
		all = append(all, resource.Key())
	}
	return all
}

// newReport says what is tried, and how.
func (o *options) newReport(ctx context.Context, e landscape.Extension, clauses []contract.Clause) (contract.Report,
	error) {
	r := contract.Report{Extension: e.Name, File: o.file, Version: o.version(), Started: time.Now(),
		Multiplier: o.multiplier, Reconciles: kindsOf(e)}
	for _, c := range clauses {
		r.Clauses = append(r.Clauses, c.ID)
	}
	if o.backend != embeddedBackend {
		r.Backend, r.NodeImage = o.backend, o.nodeImage
	}
	for _, program := range e.Programs() {
		name, digest := program.Image, docker.Digest
		if program.Binary != "" {
			name, digest = program.Binary, digestOf
		}
		sum, err := digest(ctx, name)
		if err != nil {
			return r, fmt.Errorf("read the program: %w", err)
		}
		r.Programs = append(r.Programs, contract.Program{Name: filepath.Base(name), SHA256: sum})
	}
	return r, nil
}

// digestOf a file is its SHA-256 sum.
func digestOf(_ context.Context, path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	_, err = io.Copy(sum, file)
	return hex.EncodeToString(sum.Sum(nil)), errors.Join(err, file.Close())
}

// discard the results of an earlier run in the same folder: after an error they would be taken for those of this one.
// What the user has given is no result.
func (o *options) discard() error {
	var paths []string
	for _, name := range append(results.Names(), contract.ReportName, recordName) {
		paths = append(paths, filepath.Join(o.out, name))
	}
	if o.plan == "" {
		paths = append(paths, o.earlierPlans()...)
	}
	for _, path := range paths {
		for _, given := range []string{o.file, o.expected, o.plan} {
			if isSame(path, given) {
				return fmt.Errorf("--out: the results would replace %s; name another folder", given)
			}
		}
	}
	for _, path := range paths {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove the results of an earlier run: %w", err)
		}
	}
	return nil
}

// earlierPlans are the paths of those that the report in the folder of the results has found.
func (o *options) earlierPlans() (paths []string) {
	content, err := os.ReadFile(filepath.Join(o.out, contract.ReportName))
	var earlier contract.Report
	if err != nil || json.Unmarshal(content, &earlier) != nil {
		return nil // then the report was not written
	}
	for _, kind := range earlier.Kinds {
		for _, f := range kind.Findings {
			path := filepath.Join(o.out, plansName, filepath.Base(f.Plan))
			if f.Plan != "" && isSame(path, f.Plan) { // the plan of a replay is that of another run
				paths = append(paths, path)
			}
		}
	}
	return paths
}

// isSame says that both paths are there, and of the same file.
func isSame(path, other string) bool {
	one, err := os.Stat(path)
	if err != nil {
		return false
	}
	another, err := os.Stat(other)
	return err == nil && os.SameFile(one, another)
}

// finish writes the results. The error has the exit code. It is failed if a run that has judged all kinds has failed
// then, and nil if not: the results are there all the same.
func (o *options) finish(out io.Writer, found contract.Report, clauses []contract.Clause, failed error) error {
	if err := o.write(contract.ReportName, found); err != nil {
		return errors.Join(failed, err)
	}
	files, err := results.Files(found, report.Style())
	if err != nil {
		return errors.Join(failed, err)
	}
	for name, content := range files {
		if err := o.writeFile(name, content); err != nil {
			return errors.Join(failed, err)
		}
	}
	if err := found.Write(out, clauses); err != nil {
		return errors.Join(failed, err)
	}
	fmt.Fprintf(out, "  %s, %s, %s, %s, record and logs are in %s\n", results.PageName, junit.FileName,
		results.PublishedName, results.BadgeName, o.out)
	switch code := found.ExitCode(); {
	case failed != nil:
		return failed
	case code == 0:
		return nil
	case code == 3:
		return &exitError{code, "not all clauses that apply could be judged"}
	case found.Outcome() == contract.NonConformant:
		return &exitError{code, "the extension does not keep the contract"}
	default:
		return &exitError{code, "what is listed as an expected failure did not fail: remove the entries named above"}
	}
}

func (o *options) write(name string, content any) error {
	text, err := json.MarshalIndent(content, "", "  ")
	if err != nil {
		return fmt.Errorf("encode %s: %w", name, err)
	}
	return o.writeFile(name, append(text, '\n'))
}

// writeFile for the user alone: errors of an extension, and the record, may have credentials.
func (o *options) writeFile(name string, content []byte) error {
	path := filepath.Join(o.out, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("make the folder of --out: %w", err)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}
