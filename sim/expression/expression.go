package expression

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
)

// maxLength of an expression, in bytes. Nobody writes longer ones, and it bounds the work of the compiler.
const maxLength = 4096

// costLimit bounds the work of one evaluation: some hundredths of a second. Conditions of the catalogue cost a few
// hundred.
const costLimit = 100_000

// longestList is how many times are shown to people.
const longestList = 40

// Expression is a compiled condition.
type Expression struct {
	text    string
	program cel.Program
	facts   []fact
	shoots  []string
	seeds   []string
	wanted  []string
	fields  []string
	asks    bool
	cloud   bool
	garden  bool // is needed

	impossible []Impossible
	demands    map[string]Demand

	mu      sync.Mutex // guards present, which the functions read during an evaluation
	present Snapshot
}

// fact is a part of an expression that reads the snapshot and nothing else.
type fact struct {
	text    string
	program cel.Program
}

// Compile checks an expression: its syntax, its types, and that it is true or false. The error is one line and says
// what would be right.
func Compile(text string) (*Expression, error) {
	e := &Expression{text: strings.TrimSpace(text)}
	switch {
	case e.text == "":
		return nil, errors.New("the expression is empty; write a CEL condition such as shoot('alpha').healthy")
	case len(e.text) > maxLength:
		return nil, fmt.Errorf("the expression is longer than %d bytes", maxLength)
	}
	env, err := e.environment()
	if err != nil {
		return nil, fmt.Errorf("set up CEL: %w", err)
	}
	ast, issues := env.Compile(e.text)
	if issues.Err() != nil {
		return nil, explain(issues, e.text)
	}
	if out := ast.OutputType(); !out.IsExactType(cel.BoolType) {
		return nil, fmt.Errorf("gives %s; must give true or false", cel.FormatCELType(out))
	}
	if err := e.inspect(ast); err != nil {
		return nil, err
	}
	if e.program, err = env.Program(ast, cel.CostLimit(costLimit)); err != nil {
		return nil, fmt.Errorf("prepare the expression: %w", err)
	}
	return e, e.prepareFacts(env)
}

func (e *Expression) environment() (*cel.Env, error) {
	registry, err := types.NewRegistry()
	if err != nil {
		return nil, err
	}
	p := provider{registry}
	one := func(find func(Snapshot, string) any) cel.OverloadOpt {
		return cel.UnaryBinding(func(name ref.Val) ref.Val {
			return object{reflect.ValueOf(find(e.present, string(name.(types.String))))}
		})
	}
	return cel.NewEnv(
		cel.CustomTypeProvider(p), cel.CustomTypeAdapter(p), cel.ASTValidators(cel.ValidateDurationLiterals()),
		cel.Function("shoot", cel.Overload("shoot_string", []*cel.Type{cel.StringType}, cel.ObjectType("Shoot"),
			one(func(s Snapshot, name string) any { return s.Shoots[name] }))),
		cel.Function("seed", cel.Overload("seed_string", []*cel.Type{cel.StringType}, cel.ObjectType("Seed"),
			one(func(s Snapshot, name string) any { return s.Seeds[name] }))),
		cel.Variable("cloud", cel.ObjectType("Cloud")),
	)
}

// String is the expression as it was written.
func (e *Expression) String() string { return e.text }

// Shoots are the names of the shoots it asks for, sorted.
func (e *Expression) Shoots() []string { return e.shoots }

// Seeds are the names of the seeds it asks for, sorted.
func (e *Expression) Seeds() []string { return e.seeds }

// SeedsWanted are the names that it compares with the seed of a shoot, sorted.
func (e *Expression) SeedsWanted() []string { return e.wanted }

// NeedsGarden says whether it cannot become true while the garden does not answer, whatever the seeds and the cloud
// say.
func (e *Expression) NeedsGarden() bool { return e.garden }

// Impossible is a value that an expression asks a field for which never has it.
type Impossible struct {
	Value string
	Known []string // what the field may have
}

// Impossible are the values that it asks for in vain, sorted by field and value.
func (e *Expression) Impossible() []Impossible { return e.impossible }

// Asks says whether it asks for anything; else it is the same of every landscape.
func (e *Expression) Asks() bool { return e.asks }

// Evaluate says whether the expression is true of the snapshot, and by which values. The error says that
// this is unknown for the snapshot, and what could not be read: the expression is not true then, and not false
// either. What was read and is not there, as a condition that a shoot does not have, is no such thing: whatever depends
// on it is not met.
func (e *Expression) Evaluate(s Snapshot) (met bool, why string, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.present = s
	result, err := e.run(e.program)
	met = err == nil && result.Value() == true
	var parts []string
	var unknown error
	if isUnknown(err) {
		unknown = err
	}
	if cancelled := (interpreter.EvalCancelledError{}); errors.As(err, &cancelled) {
		unknown = fmt.Errorf("it takes more steps than an evaluation may: write a shorter condition: %w", err)
		parts = append(parts, unknown.Error())
	}
	for _, f := range e.facts {
		value, missing := e.run(f.program)
		switch {
		case isUnknown(missing):
			parts = append(parts, fmt.Sprintf("%s cannot be read (%v)", f.text, missing))
			if err != nil && unknown == nil { // CEL gives the error of one side
				unknown = missing
			}
		case missing != nil:
			parts = append(parts, fmt.Sprintf("%s is not there (%v)", f.text, missing))
		default:
			parts = append(parts, fmt.Sprintf("%s is %s", f.text, show(value)))
		}
	}
	if len(parts) == 0 && err != nil {
		parts = append(parts, err.Error())
	}
	if met {
		return true, strings.Join(parts, "; "), nil
	}
	return false, strings.Join(append(parts, e.doings(s)...), "; "), unknown
}

// Values of what it names by full paths, such as shoot('alpha').lastOperation.type; nil for each that is unknown.
func (e *Expression) Values(s Snapshot) []any {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.present = s
	values := make([]any, len(e.facts))
	for i, f := range e.facts {
		value, err := e.run(f.program)
		switch {
		case err == nil:
			values[i] = value.Value()
		case !isUnknown(err):
			values[i] = err.Error() // it is not there
		}
	}
	return values
}

func (e *Expression) run(program cel.Program) (ref.Val, error) {
	cloud := e.present.Cloud
	if cloud == nil {
		cloud = &Cloud{Unknown: Unknown{"*": NotAsked}}
	}
	value, _, err := program.Eval(map[string]any{"cloud": object{reflect.ValueOf(*cloud)}})
	return value, err
}

// doings says what the shoots of the expression are busy with, and what is wrong with them.
func (e *Expression) doings(s Snapshot) []string {
	var parts []string
	for _, name := range e.shoots {
		shoot := s.Shoots[name]
		if shoot.LastOperation.Type == "" {
			continue
		}
		doing := name + ": " + shoot.Doing()
		for _, kind := range slices.Sorted(maps.Keys(shoot.Constraints)) {
			if shoot.Constraints[kind] == "False" {
				doing += fmt.Sprintf(", %s is False (%s)", kind, shoot.Reasons[kind])
			}
		}
		parts = append(parts, doing)
	}
	return parts
}

// Doing is what the shoot is busy with, and what keeps it from being healthy.
func (s Shoot) Doing() string {
	text := fmt.Sprintf("%s %s %d%%", s.LastOperation.Type, s.LastOperation.State, s.LastOperation.Progress)
	if s.LastOperation.Description != "" {
		text += " (" + s.LastOperation.Description + ")"
	}
	for _, problem := range s.LastErrors {
		text += ", error: " + problem
	}
	return strings.Join(append([]string{text}, s.Problems...), ", ")
}

func show(value ref.Val) string {
	if text, is := value.(types.String); is {
		return fmt.Sprintf("%q", string(text))
	}
	native := value.Value()
	if list, is := native.(Durations); is && len(list) > longestList {
		return fmt.Sprintf("%v and %d more", list[:longestList], len(list)-longestList)
	}
	if value.Type() == types.MapType || value.Type() == types.ListType {
		if converted, err := value.ConvertToNative(reflect.TypeFor[map[string]string]()); err == nil {
			native = converted
		}
	}
	return fmt.Sprint(native)
}

func sorted(names map[string]bool) []string { return slices.Sorted(maps.Keys(names)) }

// Fields of shoots and seeds that it asks for, such as warnings, also by a variable that stands for one, sorted.
func (e *Expression) Fields() []string { return e.fields }

// AsksCloud says whether it asks for the cloud.
func (e *Expression) AsksCloud() bool { return e.cloud }
