package expression

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/parser"
)

// inspect finds the shoots and seeds that the expression names, and its facts.
func (e *Expression) inspect(compiled *cel.Ast) error {
	native := compiled.NativeRep()
	named, wanted, impossible := map[string]map[string]bool{"shoot": {}, "seed": {}}, map[string]bool{},
		map[string]Impossible{}
	fields := map[string]bool{}
	var failure error
	ast.PostOrderVisit(ast.NavigateAST(native), ast.NewExprVisitor(func(node ast.Expr) {
		e.asks, e.cloud = e.asks || isAsked(node), e.cloud || node.AsIdent() == "cloud"
		if node.Kind() == ast.SelectKind && isNamed(native.GetType(node.AsSelect().Operand().ID())) {
			fields[node.AsSelect().FieldName()] = true
		}
		for _, seed := range comparedWith(node, isSeedOfShoot) {
			wanted[seed] = true
		}
		for _, set := range closed {
			for _, value := range set.foreign(node) {
				impossible[set.name+" "+value] = Impossible{value, set.values}
			}
		}
		if failure == nil {
			failure = errors.Join(checkKeys(node), checkPattern(node))
		}
		if node.Kind() != ast.CallKind || named[node.AsCall().FunctionName()] == nil {
			return
		}
		function := node.AsCall().FunctionName()
		name, literal := literalArgument(node)
		if !literal && failure == nil {
			failure = fmt.Errorf("%s(…) takes a name in quotes, so that it can be checked before the run", function)
		}
		named[function][name] = true
	}))
	if failure != nil {
		return failure
	}
	for _, key := range slices.Sorted(maps.Keys(impossible)) {
		e.impossible = append(e.impossible, impossible[key])
	}
	e.shoots, e.seeds, e.wanted = sorted(named["shoot"]), sorted(named["seed"]), sorted(wanted)
	e.fields = sorted(fields)
	e.garden = needsGarden(native.Expr(), true)
	e.demands = map[string]Demand{}
	demandsOf(native.Expr(), e.demands)
	return e.findFacts(native)
}

// isNamed says whether a type is that of the objects which expressions find by their names.
func isNamed(of *types.Type) bool { return of.TypeName() == "Shoot" || of.TypeName() == "Seed" }

// maxPattern of a regular expression, in bytes. It bounds what is made of it: Go limits repetitions by themselves.
const maxPattern = 256

// checkPattern finds a regular expression that cannot be one, or costs too much.
func checkPattern(node ast.Expr) error {
	if node.Kind() != ast.CallKind || node.AsCall().FunctionName() != overloads.Matches {
		return nil
	}
	arguments := node.AsCall().Args()
	pattern := arguments[len(arguments)-1]
	var text types.String
	literal := false
	if pattern.Kind() == ast.LiteralKind {
		text, literal = pattern.AsLiteral().(types.String)
	}
	switch _, err := regexp.Compile(string(text)); {
	case !literal:
		return errors.New("matches(…) takes a pattern in quotes, so that it can be checked before the run")
	case len(text) > maxPattern:
		return fmt.Errorf("the pattern of matches(…) has %d bytes; must have at most %d", len(text), maxPattern)
	case err != nil:
		return fmt.Errorf("the pattern of matches(…) is wrong; must be a regular expression of RE2: %w", err)
	}
	return nil
}

// isAsked says whether a node looks at the landscape.
func isAsked(node ast.Expr) bool {
	name := node.AsCall().FunctionName() // empty if it is no call
	return name == "shoot" || name == "seed" || node.AsIdent() == "cloud"
}

// needsGarden says whether a node cannot be found to be true, or false, as it shall, without the garden. One side of an
// "or" is enough for true, and one of an "and" for false, although the other is unknown.
func needsGarden(node ast.Expr, shall bool) bool {
	if node.Kind() != ast.CallKind {
		return asksGarden(node)
	}
	arguments := node.AsCall().Args()
	switch function := node.AsCall().FunctionName(); function {
	case operators.LogicalNot:
		return needsGarden(arguments[0], !shall)
	case operators.LogicalAnd, operators.LogicalOr:
		left, right := needsGarden(arguments[0], shall), needsGarden(arguments[1], shall)
		if both := (function == operators.LogicalAnd) == shall; both {
			return left || right
		}
		return left && right
	case operators.Conditional:
		return asksGarden(arguments[0]) || needsGarden(arguments[1], shall) && needsGarden(arguments[2], shall)
	}
	return asksGarden(node)
}

// asksGarden says whether anything in a node is the garden's to say: all of shoots, and of seeds what their own
// clusters do not say.
func asksGarden(node ast.Expr) bool {
	asked := 0
	ast.PostOrderVisit(node, ast.NewExprVisitor(func(node ast.Expr) {
		switch {
		case node.Kind() == ast.CallKind && isAsked(node):
			asked++
		case node.Kind() == ast.SelectKind && node.AsSelect().FieldName() == "shoots" && isAsked(node.AsSelect().Operand()):
			asked--
		}
	}))
	return asked > 0
}

func literalArgument(call ast.Expr) (string, bool) {
	if arguments := call.AsCall().Args(); len(arguments) == 1 && arguments[0].Kind() == ast.LiteralKind {
		name, is := arguments[0].AsLiteral().(types.String)
		return string(name), is
	}
	return "", false
}

// findFacts finds the longest chains that begin at shoot(…), seed(…) or cloud.
func (e *Expression) findFacts(native *ast.AST) error {
	seen := map[string]bool{}
	for _, node := range ast.MatchDescendants(ast.NavigateAST(native), isFact) {
		if parent, has := node.Parent(); has && isFact(parent) {
			continue
		}
		text, err := parser.Unparse(node, native.SourceInfo())
		if err != nil {
			return fmt.Errorf("print a part of the expression: %w", err)
		}
		if !seen[text] {
			seen[text] = true
			e.facts = append(e.facts, fact{text: text})
		}
	}
	return nil
}

func isFact(node ast.NavigableExpr) bool {
	switch node.Kind() {
	case ast.SelectKind:
		if node.AsSelect().IsTestOnly() {
			return false
		}
		return isAsked(node.Children()[0]) || isFact(node.Children()[0])
	case ast.CallKind:
		call := node.AsCall()
		return call.FunctionName() == operators.Index && isFact(node.Children()[0]) &&
			call.Args()[1].Kind() == ast.LiteralKind
	}
	return false
}

// prepareFacts compiles each fact by itself, so that its value can be reported when the whole is not true.
func (e *Expression) prepareFacts(env *cel.Env) error {
	for i := range e.facts {
		compiled, issues := env.Compile(e.facts[i].text)
		if issues.Err() != nil {
			return fmt.Errorf("compile the part %q of the expression: %w", e.facts[i].text, issues.Err())
		}
		program, err := env.Program(compiled, cel.CostLimit(costLimit))
		if err != nil {
			return fmt.Errorf("prepare the part %q of the expression: %w", e.facts[i].text, err)
		}
		e.facts[i].program = program
	}
	return nil
}
