package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"github.com/spf13/cobra"

	"github.com/transplant-sim/transplant/api/output"
	"github.com/transplant-sim/transplant/sim/run/selection"
	"github.com/transplant-sim/transplant/sim/scenario"
)

// NewValidateCommand is the command `validate NAME|FILE…`: it finds mistakes without starting anything.
func NewValidateCommand(backends map[string]Backend, builtIn fs.FS) *cobra.Command {
	r := newReader(backends, builtIn)
	var form *output.Form
	command := &cobra.Command{
		Use:   "validate [NAME|FILE]…",
		Short: "Find mistakes in scenario files",
		Long: `Find mistakes in scenario files, without starting anything. It reports all mistakes of all files, but for
those that may be mere consequences of others. docs/steps.md lists every field that a scenario file may
have.

` + selection.Help + `

These are mistakes, too:

- Something that the backend cannot do, as in the command run. Give the --backend of your runs. It is
  looked for once there is no other mistake.
- A goal or a deadline that the file's own settings put out of reach. The command run only warns of it.

The command warns of promises that the scenario never tests, and of fields of an extension's
ControllerRegistration that have no effect.

The exit code is 2 if there is a mistake.`,
		Example: `  transplant validate ./my-scenario.yaml
  transplant validate -l tier=smoke --backend kind
  transplant validate ./my-scenario.yaml -o json   # a list of files, with places of mistakes`,
		Args: r.checkArguments,
		RunE: func(command *cobra.Command, arguments []string) error {
			files, err := r.selection.Files(arguments)
			r.out = command.OutOrStdout()
			v := &validation{runner: r, out: r.progress(), notes: r.progress(), all: []validated{}}
			if !form.Is(output.Text) {
				v.out, v.notes = io.Discard, command.ErrOrStderr()
			}
			err = errors.Join(err, v.validate(command.Context(), files))
			if !form.Is(output.Text) {
				err = errors.Join(err, form.Print(r.out, v.all, nil))
			}
			if err != nil {
				return notRun{err}
			}
			return nil
		},
	}
	r.addFlags(command)
	form = output.AddFlag(command)
	r.addQuiet(command, "print only mistakes")
	return command
}

// validation of files.
type validation struct {
	*runner
	out   io.Writer // what is found, for people
	notes io.Writer // about extensions
	noted bool      // all files have the same extensions
	all   []validated
}

// validated is what was found in a file.
type validated struct {
	File     string             `json:"file"`
	Scenario string             `json:"scenario,omitempty"` // its name, unless the file cannot be read
	Fine     bool               `json:"fine"`
	Mistakes []scenario.Mistake `json:"mistakes,omitempty"`
	Warnings []scenario.Mistake `json:"warnings,omitempty"`
	// Errors are about something else than a place in the file, such as flags.
	Errors []string `json:"errors,omitempty"`
}

// add the mistakes that an error consists of.
func (v *validated) add(err error) {
	switch err := err.(type) { //nolint:errorlint // each part of it is looked at
	case scenario.Mistake:
		v.Mistakes = append(v.Mistakes, err)
	case scenario.Mistakes:
		v.Mistakes = append(v.Mistakes, err...)
	case interface{ Unwrap() []error }:
		for _, part := range err.Unwrap() {
			v.add(part)
		}
	default:
		v.Errors = append(v.Errors, err.Error())
	}
}

// validate each file by itself. The error has the mistakes of all, and each about flags once.
func (v *validation) validate(ctx context.Context, files []string) error {
	var errs []error
	for _, file := range files {
		found := validated{File: file}
		err := v.file(ctx, &found)
		if found.Fine = err == nil; err != nil {
			errs = append(errs, err)
			found.add(err)
		}
		v.all = append(v.all, found)
	}
	said := map[string]bool{}
	return errors.Join(slices.DeleteFunc(errs, func(err error) bool {
		again := said[err.Error()]
		said[err.Error()] = true
		return again
	})...)
}

// file validates one. The error has its mistakes; a doubt is one if it is about what the file itself puts out of reach.
func (v *validation) file(ctx context.Context, found *validated) error {
	p, err := v.accept(ctx, []string{found.File})
	if err != nil {
		return err
	}
	found.Scenario = p.read[0].Metadata.Name
	if !v.noted {
		v.extensions.WriteNotes(v.notes, p.read[0].Spec.Landscape.Extensions)
		v.noted = true
	}
	warnings, err := v.warnings(p.read[0], found.File)
	if err != nil {
		return err
	}
	var late scenario.Mistakes
	for _, w := range warnings {
		if w.late {
			late = append(late, w.Mistake)
			continue
		}
		found.Warnings = append(found.Warnings, w.Mistake)
		fmt.Fprintf(v.out, "warning: %v\n", w.Mistake)
	}
	if len(late) > 0 {
		return late
	}
	fmt.Fprintf(v.out, "%s: scenario %s is fine\n", found.File, found.Scenario)
	return nil
}

// NewPlanCommand is the command `plan NAME|FILE…`: it prints the scenarios that a run would have. Each can be run by
// itself.
func NewPlanCommand(backends map[string]Backend, builtIn fs.FS) *cobra.Command {
	r := newReader(backends, builtIn)
	command := &cobra.Command{
		Use:   "plan [NAME|FILE]…",
		Short: "Print scenarios with every default filled in, and the points of their sweeps",
		Long: `Print scenarios with every default filled in.

` + selection.Help + `

If a scenario has a sweep, the command prints every point as a scenario of its own, as the command
run runs it. --sample N --seed S prints the N points of each sweep that run takes with these flags.
--shard 2/5 prints what this part of a run has.`,
		Example: `  transplant plan seed-loss
  transplant plan seed-loss-during-migration --sample 3 --seed 7`,
		Args: r.checkArguments,
		RunE: func(command *cobra.Command, arguments []string) error {
			if r.sample > 0 && !command.Flags().Changed("seed") {
				return notRun{fmt.Errorf("--sample %d: the points are chosen by the random seed: give the --seed of the run",
					r.sample)}
			}
			files, err := r.selection.Files(arguments)
			if err != nil {
				return notRun{err}
			}
			accepted, err := r.accept(command.Context(), files)
			if err != nil {
				return notRun{err}
			}
			text, err := accepted.text()
			if err != nil {
				return notRun{err}
			}
			if _, err := command.OutOrStdout().Write(text); err != nil {
				return fmt.Errorf("print the plan: %w", err)
			}
			return nil
		},
	}
	r.addFlags(command)
	command.Flags().Var(&r.shard, "shard", "print one part of the selected scenarios, such as 2/5 (default: all)")
	command.Flags().IntVar(&r.sample, "sample", 0,
		"number of points of each sweep, chosen by the random seed (default: all)")
	command.Flags().Uint64Var(&r.randomSeed, "seed", 0, "random seed of the run")
	return command
}

// newReader is a runner that accepts files as they would be run, and runs none.
func newReader(backends map[string]Backend, builtIn fs.FS) *runner {
	return &runner{backends: backends, selection: selection.Scenarios{BuiltIn: builtIn}, jobs: 1, stretch: 1}
}

// text of the scenarios, a document each.
func (p *plan) text() ([]byte, error) {
	pointOf := map[string]string{}
	for _, s := range p.sweeps {
		for i, point := range s.points {
			pointOf[point.Metadata.Name] = fmt.Sprintf("# %s, %d of %d points of %s\n",
				point.Metadata.Name, i+1, len(s.points), s.name)
		}
	}
	var text bytes.Buffer
	for _, s := range p.scenarios {
		if text.Len() > 0 {
			text.WriteString("---\n")
		}
		text.WriteString(pointOf[s.Metadata.Name])
		content, err := scenario.Print(s)
		if err != nil {
			return nil, err
		}
		text.Write(content)
	}
	return text.Bytes(), nil
}

// warning of a doubt about a scenario, at its place in the file.
type warning struct {
	scenario.Mistake
	late bool
}

// warnings of what makes a scenario doubtful when it is run with this multiplier.
func (r *runner) warnings(s *scenario.Scenario, file string) ([]warning, error) {
	doubts, err := s.Doubts(r.stretch)
	if err != nil {
		return nil, err
	}
	var all []warning
	for _, d := range doubts {
		all = append(all, warning{scenario.MistakeIn(file, d.Field, d.ErrorBody()), d.Late})
	}
	return all, nil
}

// warn of all doubts about files that are to be run. A goal that is out of reach is no reason not to run: by how much
// it is missed is an answer, too.
func (r *runner) warn(to io.Writer, p *plan) error {
	if len(p.read) > 0 { // all have the same extensions
		r.extensions.WriteNotes(to, p.read[0].Spec.Landscape.Extensions)
	}
	for _, s := range p.read {
		warnings, err := r.warnings(s, p.from[s.Metadata.Name])
		if err != nil {
			return err
		}
		for _, w := range warnings {
			fmt.Fprintf(to, "warning: %v\n", w.Mistake)
		}
	}
	return nil
}
