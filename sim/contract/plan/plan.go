// Package plan has files that repeat one finding of the contract kit: what to ask for which objects, and where the
// extension dies. It makes plans out of findings, and smaller ones out of plans.
//
// It starts nothing: cmd/transplant/contract carries plans out.
package plan

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/transplant-sim/transplant/api/spelling"
	"github.com/transplant-sim/transplant/api/userfile"
	"github.com/transplant-sim/transplant/sim/contract"
)

// FileKind is the kind of files of plans.
const FileKind = "ContractPlan"

// Plan repeats one finding.
type Plan struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Clause is the id of the clause that is judged.
	Clause string `json:"clause"`
	// Of is the kind of the extension with its type, such as Network/calico.
	Of string `json:"of"`
	// Found says what breaks the clause, for people. Empty if nobody has seen it.
	Found string `json:"found,omitempty"`
	// Way in which the clause is broken (contract.Finding): another is another finding. Empty for any.
	Way string `json:"way,omitempty"`
	// Objects in order; each has a namespace of its own.
	Objects []Object `json:"objects"`
	// Crash of the extension while one more object is in work; nil for none.
	Crash *Crash `json:"crash,omitempty"`
}

// Object is an object of the kind, and what is asked for it.
type Object struct {
	// Walk is its name in the report (contract.WalkSteps).
	Walk string `json:"walk"`
	// Steps of the walk, in its order. Some may be left out.
	Steps []string `json:"steps"`
}

// Crash is a crash point.
type Crash struct {
	// Step is one of contract.CrashSteps.
	Step string `json:"step"`
	// Writes are let pass before.
	Writes int `json:"writes"`
}

const maxSize = 1 << 16 // bytes of a file

// Read reads the plan of a file, for an extension that reconciles these kinds, each with its type. The error has a line
// for each mistake.
func Read(path string, kinds []string) (Plan, error) {
	var p Plan
	content, err := userfile.Read(path, maxSize)
	if err != nil {
		return p, fmt.Errorf("read the plan: %w", err)
	}
	if err := yaml.UnmarshalStrict(content, &p); err != nil {
		return p, fmt.Errorf("read the plan of %s: %w", path, err)
	}
	if clause, known := contract.ClauseByID(p.Clause); known {
		p.Clause = clause.ID
	}
	var errs []error
	for _, err := range p.check(kinds) {
		errs = append(errs, fmt.Errorf("%s: %w", path, err))
	}
	return p, errors.Join(errs...)
}

// Marshal is the content of a file.
func (p Plan) Marshal() ([]byte, error) { return yaml.Marshal(p) }

func (p Plan) check(kinds []string) (errs []error) {
	mistake := func(field, format string, arguments ...any) {
		errs = append(errs, fmt.Errorf("%s: %s", field, fmt.Sprintf(format, arguments...)))
	}
	if p.APIVersion != contract.APIVersion {
		mistake("apiVersion", "must be %s, and not %q", contract.APIVersion, p.APIVersion)
	}
	if p.Kind != FileKind {
		mistake("kind", "must be %s, and not %q", FileKind, p.Kind)
	}
	if clause, known := contract.ClauseByID(p.Clause); !known || !clause.IsJudged() {
		mistake("clause", "there is no clause %q that is judged; docs/contract.md has all, such as B4", p.Clause)
	}
	if !slices.Contains(kinds, p.Of) {
		mistake("of", "the extension does not reconcile %q: %s", p.Of, spelling.Suggest(p.Of, kinds))
	}
	if len(p.Objects) == 0 {
		mistake("objects", "has no entry, such as {walk: clean, steps: [create, migrate]}")
	}
	walks := map[string]bool{}
	for i, o := range p.Objects {
		at := fmt.Sprintf("objects[%d]", i)
		if walks[o.Walk] {
			mistake(at+".walk", "%s is there twice; leave one", o.Walk)
		}
		walks[o.Walk] = true
		if err := o.check(); err != nil {
			mistake(at, "%s", err)
		}
	}
	if p.Crash != nil {
		if err := p.checkCrash(); err != nil {
			mistake("crash", "%s", err)
		}
	}
	return errs
}

func (o Object) check() error {
	all, known := contract.WalkSteps[o.Walk]
	if !known {
		names := slices.Sorted(maps.Keys(contract.WalkSteps))
		return fmt.Errorf("there is no walk %q: %s", o.Walk, spelling.Suggest(o.Walk, names))
	}
	last := -1
	for _, step := range o.Steps {
		i := slices.Index(all, step)
		switch {
		case i < 0:
			return fmt.Errorf("the walk %s has no step %q: %s", o.Walk, step, spelling.Suggest(step, all))
		case i <= last:
			return fmt.Errorf("the steps of the walk %s have the order %s", o.Walk, strings.Join(all, ", "))
		}
		last = i
	}
	switch {
	case len(o.Steps) == 0:
		return errors.New("it has no steps")
	case o.Steps[0] != all[0]:
		return fmt.Errorf("the first step must be %s, which makes the object", all[0])
	}
	for _, step := range o.Steps {
		if step == contract.Delete && !slices.Contains(o.Steps, contract.Migrate) {
			continue // it never moved
		}
		for _, needed := range needs[step] {
			if slices.Contains(all, needed) && !slices.Contains(o.Steps, needed) {
				return fmt.Errorf("steps: %s needs %s before it in the walk %s; add that, or leave %s out", step, needed, o.Walk,
					step)
			}
		}
	}
	return nil
}

// needs are the steps that make a step what its clauses mean, in the walks that have them. Without them the gardenlet
// asks for something else, which an extension may rightly answer in another way.
var needs = map[string][]string{
	contract.AfterMigrate:   {contract.Migrate},
	contract.ReconcileAgain: {contract.Migrate},
	contract.MigrateAgain:   {contract.Migrate},
	contract.DeleteSource:   {contract.Migrate},
	contract.WaitForState:   {contract.Migrate, contract.DeleteSource},
	contract.Restore:        {contract.Migrate, contract.WaitForState},
	contract.RestoreLost:    {contract.WaitForState},
	contract.RestoreRefused: {contract.WaitForState},
	contract.RestoreAgain:   {contract.Restore},
	contract.ReconcileAfter: {contract.Restore},
	contract.Thaw:           {contract.Restore},
	contract.Recovered:      {contract.ReconcileFailed},
	contract.Delete:         {contract.Restore, contract.RestoreRefused}, // after a migrate
}

func (p Plan) checkCrash() error {
	walk := contract.Undisturbed(p.Crash.Step)
	i := slices.IndexFunc(p.Objects, func(o Object) bool { return o.Walk == walk })
	switch {
	case p.Clause != contract.ByCrashes:
		return fmt.Errorf("only %s is judged by crashes; leave it out", contract.ByCrashes)
	case !slices.Contains(contract.CrashSteps, p.Crash.Step):
		return fmt.Errorf("step must be one of %s, and not %q", strings.Join(contract.CrashSteps, ", "), p.Crash.Step)
	case p.Crash.Writes < 0:
		return fmt.Errorf("writes must be 0 or more, and not %d", p.Crash.Writes)
	case i < 0 || !slices.Contains(p.Objects[i].Steps, p.Crash.Step):
		return fmt.Errorf("it is compared with the walk %s, whose steps must have %s", walk, p.Crash.Step)
	}
	return nil
}

// Judged is the clause of the plan.
func (p Plan) Judged() contract.Clause {
	clause, _ := contract.ClauseByID(p.Clause)
	return clause
}

// Shown is what a replay of the plan has found: a break of the clause in another way does not show the plan's.
func (p Plan) Shown(f contract.Finding) contract.Finding {
	if f.Outcome != contract.NonConformant || p.Way == "" || f.Way == p.Way {
		return f
	}
	return contract.Finding{Outcome: contract.Unknown, Aside: f.Aside,
		Reason: "the clause is broken in another way than that of the plan: " + f.Reason}
}

// FileName of the plan, in a folder of plans of one extension.
func (p Plan) FileName() string {
	name := p.Clause + "-" + strings.ReplaceAll(p.Of, "/", "-")
	if p.Crash != nil {
		name += fmt.Sprintf("-%s-%d", p.Crash.Step, p.Crash.Writes)
	}
	return name + ".yaml"
}
