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
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/transplant-sim/transplant/clusters/embedded"
	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
	"github.com/transplant-sim/transplant/cmd/transplant/environment"
	"github.com/transplant-sim/transplant/cmd/transplant/environment/backend"
	"github.com/transplant-sim/transplant/sim/contract"
	"github.com/transplant-sim/transplant/sim/contract/plan"
	"github.com/transplant-sim/transplant/sim/contract/results"
	"github.com/transplant-sim/transplant/sim/junit"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/report"
)

// Names in the folder of results, beside those of package results.
const (
	recordName = "record.json"
	plansName  = "plans"
)

// options of the command.
type options struct {
	file       string
	clauses    []string
	kinds      []string
	points     string
	expected   string
	plan       string
	shrink     time.Duration
	out        string
	multiplier int
	version    func() string

	replayed *plan.Plan // of --plan
}

// NewCommand is the command `contract`, of a program of this version, with the files of the catalogue, which has the
// schemas.
func NewCommand(version func() string, files fs.FS) *cobra.Command {
	o := &options{version: version}
	command := &cobra.Command{
		Use:   "contract FILE",
		Short: "Try an extension against the contract between gardenlets and extensions, clause by clause",
		Long: `Try an extension against the contract between gardenlets and extensions, clause by clause.

FILE is what --extension of other commands takes (docs/third-party-extensions.md). The command starts
two API servers with the extension, and the simulated cloud. It plays the gardenlet: reconcile,
migrate, restore on the other seed, delete. Then it kills the extension at each write of migrate and
restore. It needs no scenario; there is no garden, and there is no control plane of a shoot.

The exit code is 0 for Conformant, 1 for NonConformant, 2 for an error, and 3 if nothing breaks a
clause and some that apply could not be judged. What --expected-failures lists counts as known, and
the exit code is 1 if it did not fail. docs/contract-kit.md says more.`,
		Example: `  transplant contract my-extension.yaml
  transplant contract my-extension.yaml --kind Network --clause B4,B17
  transplant contract my-extension.yaml --points none      # without crashes
  transplant contract my-extension.yaml --plan out/contract/my-extension/plans/B4-Network-calico.yaml
  transplant contract init --kinds Network                 # a first FILE
  transplant contract explain B4                           # what a clause is, and how it is judged`,
		Args: cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			o.file = args[0]
			ctx, stop := signal.NotifyContext(command.Context(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
			defer stop()
			return o.run(ctx, command.OutOrStdout())
		},
	}
	flags := command.Flags()
	flags.StringSliceVar(&o.clauses, "clause", nil,
		"judge only these clauses: A1, or B for all of a group; may be repeated")
	flags.StringSliceVar(&o.kinds, "kind", nil, "try only these kinds; may be repeated")
	flags.StringVar(&o.points, "points", "all",
		"crash points to try: all, or none, which leaves "+contract.ByCrashes+" out")
	flags.StringVar(&o.expected, "expected-failures", "",
		"YAML file of clauses that the extension is known to break, each with a reason")
	flags.StringVar(&o.plan, "plan", "", "YAML file of a plan that an earlier run has written: do that alone")
	flags.DurationVar(&o.shrink, "shrink", 0,
		"how long to look for a smaller plan for each finding that breaks a clause; 0 for never")
	for _, other := range []string{"clause", "kind", "points", "expected-failures"} {
		command.MarkFlagsMutuallyExclusive("plan", other)
	}
	flags.StringVar(&o.out, "out", "", "folder for report and logs (default out/contract/<extension>)")
	flags.IntVar(&o.multiplier, "timeout-multiplier", 1,
		"multiplies all waits; 2 or 3 on a slow or busy machine")
	command.AddCommand(newExplain(), newInit(files))
	return command
}

func newExplain() *cobra.Command {
	return &cobra.Command{
		Use:     "explain ID",
		Short:   "Say what a clause is, where it is written, and how it is judged",
		Example: "  transplant contract explain B4",
		Args:    cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			clause, found := contract.ClauseByID(args[0])
			if !found {
				return fmt.Errorf("there is no clause %q; docs/contract.md has all, such as B4", args[0])
			}
			clause.Explain(command.OutOrStdout())
			return nil
		},
	}
}

// exitError is an error with the code to exit with.
type exitError struct {
	code int
	text string
}

// Error implements error.
func (e *exitError) Error() string { return e.text }

// ExitCode is what the program exits with.
func (e *exitError) ExitCode() int { return e.code }

// selected are the clauses that the flags name; all if they name none.
func (o *options) selected() ([]contract.Clause, error) {
	if len(o.clauses) == 0 {
		return contract.Clauses(), nil
	}
	var found []contract.Clause
	for _, wanted := range o.clauses {
		known := false
		for _, c := range contract.Clauses() {
			isGroup := len(wanted) == 1 && strings.EqualFold(c.ID[:1], wanted)
			if !isGroup && !strings.EqualFold(c.ID, wanted) {
				continue
			}
			known = true
			if !slices.Contains(found, c) {
				found = append(found, c)
			}
		}
		if !known {
			return nil, fmt.Errorf("--clause: there is no clause %q; docs/contract.md has all, such as B4", wanted)
		}
	}
	return found, nil
}

// check the flags, and find the clauses that they leave.
func (o *options) check() ([]contract.Clause, error) {
	clauses, err := o.selected()
	if err != nil {
		return nil, err
	}
	if o.points != "all" && o.points != "none" {
		return nil, fmt.Errorf("--points: must be all or none, and not %q", o.points)
	}
	if o.points == "none" {
		clauses = slices.DeleteFunc(slices.Clone(clauses), func(c contract.Clause) bool { return c.ID == contract.ByCrashes })
	}
	if len(clauses) == 0 {
		return nil, fmt.Errorf("--points: none leaves %s out, and --clause has no other", contract.ByCrashes)
	}
	if o.multiplier < 1 {
		return nil, fmt.Errorf("--timeout-multiplier: must be 1 or more, and not %d", o.multiplier)
	}
	return clauses, nil
}

// readPlan makes of --plan what is tried; without the flag it is what other flags say.
func (o *options) readPlan(kinds []string, clauses []contract.Clause) ([]contract.Clause, error) {
	if o.plan == "" {
		return clauses, nil
	}
	p, err := plan.Read(o.plan, kinds)
	if err != nil {
		return nil, err
	}
	o.replayed, o.kinds = &p, []string{p.Of}
	return []contract.Clause{p.Judged()}, nil
}

func (o *options) run(ctx context.Context, out io.Writer) error {
	clauses, err := o.check()
	if err != nil {
		return err
	}
	extensions := &backend.Extensions{Warnings: out}
	extensions.Files = []string{o.file}
	if err := extensions.Check(ctx, "embedded", []string{sourceName, destinationName}); err != nil {
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
	found, err := o.newReport(e, clauses)
	if err != nil {
		return err
	}
	var expected []contract.ExpectedFailure
	if o.expected != "" {
		if expected, err = contract.ReadExpected(o.expected, found.Reconciles); err != nil {
			return err
		}
	}
	if o.out == "" {
		o.out = filepath.Join("out", "contract", e.Name)
		if o.plan != "" { // what found the plan stays
			o.out = filepath.Join(o.out, "replay")
		}
	}
	if err := o.discard(); err != nil {
		return err
	}
	if len(subjects) > 0 {
		if found.Kinds, err = o.judge(ctx, prepared, subjects, clauses, out); err != nil {
			return err
		}
	}
	found.Kinds = append(found.Kinds, without...)
	found.Expect(expected)
	found.Seconds = time.Since(found.Started).Seconds()
	return o.finish(out, found, clauses)
}

// judge tries all subjects, and finds what the record says about the clauses.
func (o *options) judge(ctx context.Context, e *environment.Environment, subjects []subject, clauses []contract.Clause,
	out io.Writer) (kinds []contract.KindReport, err error) {
	var evidence []*contract.Evidence
	err = o.onSeeds(ctx, e, subjects, out, func(ctx context.Context, k *kit) (err error) {
		if o.replayed != nil {
			evidence, err = k.replay(ctx, subjects[0], []plan.Plan{*o.replayed})
		} else {
			evidence, err = k.try(ctx, subjects, clauses)
		}
		for i := 0; i < len(evidence) && err == nil; i++ {
			kinds = append(kinds, contract.Judge(evidence[i], clauses))
			err = o.plans(ctx, k, subjects[i], evidence[i], kinds[i])
		}
		return err
	})
	if len(evidence) > 0 { // an error may be understood by it
		err = errors.Join(err, o.write(recordName, evidence))
	}
	return kinds, err
}

// kindsOf the extension, each with its type.
func kindsOf(e landscape.Extension) (all []string) {
	for _, resource := range e.Resources {
		all = append(all, resource.Key())
	}
	return all
}

// newReport says what is tried, and how.
func (o *options) newReport(e landscape.Extension, clauses []contract.Clause) (contract.Report, error) {
	r := contract.Report{Extension: e.Name, File: o.file, Version: o.version(), Started: time.Now(),
		Multiplier: o.multiplier, Reconciles: kindsOf(e)}
	for _, c := range clauses {
		r.Clauses = append(r.Clauses, c.ID)
	}
	for _, program := range e.Programs() {
		file, err := os.Open(program.Binary)
		if err != nil {
			return r, fmt.Errorf("read the program: %w", err)
		}
		sum := sha256.New()
		_, err = io.Copy(sum, file)
		if err = errors.Join(err, file.Close()); err != nil {
			return r, fmt.Errorf("read the program: %w", err)
		}
		r.Programs = append(r.Programs, contract.Program{Name: filepath.Base(program.Binary),
			SHA256: hex.EncodeToString(sum.Sum(nil))})
	}
	return r, nil
}

// discard the results of an earlier run in the same folder: after an error they would be taken for those of this one.
func (o *options) discard() error {
	names := append(results.Names(), contract.ReportName, recordName)
	if o.plan == "" {
		plans, err := filepath.Glob(filepath.Join(o.out, plansName, "*.yaml"))
		if err != nil {
			return fmt.Errorf("find the plans of an earlier run: %w", err)
		}
		for _, path := range plans {
			names = append(names, filepath.Join(plansName, filepath.Base(path)))
		}
	}
	for _, name := range names {
		if err := os.Remove(filepath.Join(o.out, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove the results of an earlier run: %w", err)
		}
	}
	return nil
}

// finish writes the results. The error has the exit code.
func (o *options) finish(out io.Writer, found contract.Report, clauses []contract.Clause) error {
	if err := o.write(contract.ReportName, found); err != nil {
		return err
	}
	files, err := results.Files(found, report.Style())
	if err != nil {
		return err
	}
	for name, content := range files {
		if err := o.writeFile(name, content); err != nil {
			return err
		}
	}
	if err := found.Write(out, clauses); err != nil {
		return err
	}
	fmt.Fprintf(out, "  %s, %s, %s, %s, record and logs are in %s\n", results.PageName, junit.FileName,
		results.PublishedName, results.BadgeName, o.out)
	switch outcome := found.Outcome(); {
	case outcome == contract.NonConformant:
		return &exitError{1, "the extension does not keep the contract"}
	case len(found.Outdated) > 0:
		return &exitError{1, "what is listed as an expected failure did not fail: remove the entries named above"}
	case outcome == contract.Unknown:
		return &exitError{3, "not all clauses that apply could be judged"}
	}
	return nil
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

// onSeeds starts two seeds, does something there, and stops them.
func (o *options) onSeeds(ctx context.Context, e *environment.Environment, subjects []subject, out io.Writer,
	do func(context.Context, *kit) error) (err error) {
	began := time.Now()
	progress := func(format string, arguments ...any) {
		fmt.Fprintf(out, "%6.1fs  %s\n", time.Since(began).Seconds(), fmt.Sprintf(format, arguments...))
	}
	dir, lock, err := claim()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	if _, err := dir.Renew(); err != nil {
		return err
	}
	defer func() {
		_, cleared := dir.Clear()
		err = errors.Join(err, cleared)
	}()
	started := embedded.Options{Name: dir.Name, Dir: dir.Path, Lock: lock,
		Seeds: []string{sourceName, destinationName}}
	e.ConfigureExtensionsAlone(&started)
	progress("starting two seeds with %s", e.Extensions[0].Name)
	l, err := embedded.Start(ctx, started)
	if err != nil {
		return err
	}
	defer func() {
		cleanup, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		kept := environment.KeepLogs(cleanup, l, filepath.Join(o.out, "logs"))
		err = errors.Join(err, kept, l.Stop(cleanup))
	}()
	k := &kit{landscape: l, environment: e, multiplier: o.multiplier, progress: progress,
		quiet: quietTime * time.Duration(o.multiplier), settles: settleTime * time.Duration(o.multiplier)}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := k.connect(ctx, subjects); err != nil {
		return err
	}
	progress("trying %d kinds", len(subjects))
	err = do(ctx, k)
	progress("done")
	return err
}

// most landscapes of this command at once.
const most = 9

// claim the first landscape that nobody uses.
func claim() (rundir.Dir, *rundir.Lock, error) {
	home, err := rundir.Home()
	if err != nil {
		return rundir.Dir{}, nil, err
	}
	for n := range most {
		name := "contract"
		if n > 0 {
			name += fmt.Sprintf("-%d", n+1)
		}
		dir, err := rundir.Of(home, name)
		if err != nil {
			return rundir.Dir{}, nil, err
		}
		lock, err := dir.TakeLock()
		if !errors.Is(err, rundir.ErrInUse) {
			return dir, lock, err
		}
	}
	return rundir.Dir{}, nil, fmt.Errorf("find a free landscape: contract to contract-%d are all in use", most)
}
