package contract

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/transplant-sim/transplant/api/spelling"
	"github.com/transplant-sim/transplant/api/userfile"
)

// ExpectedKind is the kind of files about expected failures.
const ExpectedKind = "ExpectedFailures"

// ExpectedFailure is a clause that an extension is known to break.
type ExpectedFailure struct {
	// Clause is its id.
	Clause string `json:"clause" yaml:"clause"`
	// Kind such as Network, or Network/calico; all of the extension without it.
	Kind string `json:"kind,omitempty" yaml:"kind"`
	// Point is a crash point, for the clause that is judged by them; all without it.
	Point string `json:"point,omitempty" yaml:"point"`
	// Reason is required.
	Reason string `json:"reason" yaml:"reason"`
	// File and Line are where it stands.
	File string `json:"file" yaml:"-"`
	Line int    `json:"line" yaml:"-"`
}

// UnmarshalYAML keeps the line.
func (x *ExpectedFailure) UnmarshalYAML(node *yaml.Node) error {
	type plain ExpectedFailure
	x.Line = node.Line
	return node.Load((*plain)(x), yaml.WithKnownFields())
}

// String names the entry.
func (x ExpectedFailure) String() string {
	text := x.Clause
	if x.Kind != "" {
		text += " of " + x.Kind
	}
	if x.Point != "" {
		text += " at " + x.Point
	}
	return text
}

// Remedy says what to do about an entry that was judged and did not fail.
func (x ExpectedFailure) Remedy() string {
	return fmt.Sprintf("%s:%d: %s is listed as an expected failure, and it did not fail: remove the entry", x.File, x.Line,
		x)
}

// Covers says whether the entry is about a kind of the extension.
func (x ExpectedFailure) Covers(name string) bool {
	kind, _, _ := strings.Cut(name, "/")
	return x.Kind == "" || strings.EqualFold(x.Kind, kind) || strings.EqualFold(x.Kind, name)
}

const maxExpected = 1 << 20 // bytes of a file

// APIVersion is that of all files of this project.
const APIVersion = "transplant.dev/v1alpha1"

// ReadExpected reads a file of expected failures of an extension that has these kinds, each with its type, such as
// Network/calico. The error has a line for each mistake.
func ReadExpected(path string, kinds []string) ([]ExpectedFailure, error) {
	content, err := userfile.Read(path, maxExpected)
	if err != nil {
		return nil, fmt.Errorf("read the expected failures: %w", err)
	}
	var file struct {
		APIVersion string            `yaml:"apiVersion"`
		Kind       string            `yaml:"kind"`
		Failures   []ExpectedFailure `yaml:"failures"`
	}
	if err := yaml.Load(content, &file, yaml.WithKnownFields()); err != nil {
		return nil, formError(path, err)
	}
	var errs []error
	mistake := func(line int, field, message string) {
		errs = append(errs, fmt.Errorf("%s:%d: %s: %s", path, line, field, message))
	}
	if file.APIVersion != APIVersion {
		mistake(1, "apiVersion", fmt.Sprintf("must be %s, and not %q", APIVersion, file.APIVersion))
	}
	if file.Kind != ExpectedKind {
		mistake(1, "kind", fmt.Sprintf("must be %s, and not %q", ExpectedKind, file.Kind))
	}
	if len(file.Failures) == 0 {
		mistake(1, "failures",
			"has no entry, such as {clause: B4, reason: known since May}; add one, or leave the flag out")
	}
	seen := map[ExpectedFailure]bool{}
	for i := range file.Failures {
		x := &file.Failures[i]
		x.File = path
		at := fmt.Sprintf("failures[%d]", i)
		wrong := x.check(kinds)
		for _, field := range slices.Sorted(maps.Keys(wrong)) {
			mistake(x.Line, at+"."+field, wrong[field])
		}
		same := ExpectedFailure{Clause: x.Clause, Kind: strings.ToLower(x.Kind), Point: x.Point}
		if seen[same] {
			mistake(x.Line, at, fmt.Sprintf("lists %s again; leave one", x))
		}
		seen[same] = true
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return file.Failures, nil
}

// formError is about what is no such file.
func formError(path string, err error) error {
	var one *yaml.LoadError
	var all *yaml.LoadErrors
	switch {
	case errors.As(err, &all):
	case errors.As(err, &one):
		all = &yaml.LoadErrors{Errors: []*yaml.LoadError{one}}
	default:
		return fmt.Errorf("read the expected failures of %s: %w", path, err)
	}
	var errs []error
	for _, e := range all.Errors {
		what, _, _ := strings.Cut(e.Message, " in type ") // which is one of this program
		errs = append(errs, fmt.Errorf("%s:%d: %s; the file has apiVersion, kind and failures, a list of entries with "+
			"clause, kind, point and reason", path, max(e.Mark.Line, 1), what))
	}
	return errors.Join(errs...)
}

// pointForm is how crash points are named.
var pointForm = regexp.MustCompile(`^(` + strings.Join(CrashSteps, "|") + `) after write \d+$`)

// check says what is wrong, by field, and writes the id as it is.
func (x *ExpectedFailure) check(kinds []string) map[string]string {
	wrong := map[string]string{}
	clause, known := ClauseByID(x.Clause)
	if known {
		x.Clause = clause.ID
	}
	switch {
	case clause.Aside != "":
		wrong["clause"] = fmt.Sprintf("%s counts for no result (%s); leave it out", clause.ID, clause.Aside)
	case !known:
		wrong["clause"] = fmt.Sprintf("there is no clause %q; docs/contract.md has all, such as B4", x.Clause)
	}
	if !slices.ContainsFunc(kinds, x.Covers) {
		wrong["kind"] = fmt.Sprintf("the extension does not reconcile %q: %s", x.Kind, spelling.Suggest(x.Kind, kinds))
	}
	switch {
	case x.Point == "":
	case x.Clause != ByCrashes:
		wrong["point"] = "only " + ByCrashes + " has crash points; leave it out"
	case !pointForm.MatchString(x.Point):
		wrong["point"] = fmt.Sprintf("there is no point %q; one is %q, as in the report", x.Point,
			Crash{Step: Migrate, Writes: 3}.Point())
	}
	if strings.TrimSpace(x.Reason) == "" {
		wrong["reason"] = "is missing; say why it is known to fail, such as the number of an issue"
	}
	return wrong
}

// Expect marks what is known to fail, and finds what is listed and did not fail. An entry that was not judged in this
// run, for all kinds that it is about, is neither.
func (r *Report) Expect(expected []ExpectedFailure) {
	for _, kind := range r.Kinds {
		for id, f := range kind.Findings {
			kind.Findings[id] = f.expect(slices.DeleteFunc(slices.Clone(expected), func(x ExpectedFailure) bool {
				return x.Clause != id || !x.Covers(kind.Name())
			}))
		}
	}
	for _, x := range expected {
		if r.isOutdated(x) {
			r.Outdated = append(r.Outdated, x)
		}
	}
}

// expect marks the finding if entries about it cover all that is broken.
func (f Finding) expect(entries []ExpectedFailure) Finding {
	if f.Outcome != NonConformant {
		return f
	}
	reason := func(point string) string {
		for _, x := range entries {
			if x.Point == "" || x.Point == point {
				return x.Reason
			}
		}
		return ""
	}
	if len(f.Points) == 0 {
		f.Expected = reason("")
		return f
	}
	f.Points = slices.Clone(f.Points)
	var reasons []string
	var unexpected *PointFinding
	for i := range f.Points {
		p := &f.Points[i]
		if p.Outcome != NonConformant {
			continue
		}
		if p.Expected = reason(p.Point); p.Expected == "" && unexpected == nil {
			unexpected = p
		}
		if !slices.Contains(reasons, p.Expected) {
			reasons = append(reasons, p.Expected)
		}
	}
	if unexpected != nil {
		f.Reason = unexpected.Reason
	} else {
		f.Expected = strings.Join(reasons, "; ")
	}
	return f
}

func (r *Report) isOutdated(x ExpectedFailure) bool {
	passed := false
	for _, name := range r.Reconciles {
		if !x.Covers(name) {
			continue
		}
		i := slices.IndexFunc(r.Kinds, func(k KindReport) bool { return k.Name() == name })
		switch {
		case i < 0: // it may fail there
			return false
		case r.Kinds[i].Reason != "": // no run shows it
			continue
		}
		switch outcome := r.Kinds[i].Findings[x.Clause].at(x.Point); outcome {
		case Conformant, NotApplicable:
			passed = true
		default:
			return false
		}
	}
	return passed
}

// at is the outcome at a crash point; that of all without one. A point that was not tried has none.
func (f Finding) at(point string) Outcome {
	if point == "" {
		return f.Outcome
	}
	for _, p := range f.Points {
		if p.Point == point {
			return p.Outcome
		}
	}
	return NotJudged
}
