package expression

import (
	"fmt"
	"maps"
	"slices"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/parser"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// inspect finds the shoots and seeds that the expression names, and its facts.
func (e *Expression) inspect(compiled *cel.Ast) error {
	native := compiled.NativeRep()
	named, wanted, impossible := map[string]map[string]bool{"shoot": {}, "seed": {}}, map[string]bool{}, map[string]Impossible{}
	var failure error
	ast.PostOrderVisit(ast.NavigateAST(native), ast.NewExprVisitor(func(node ast.Expr) {
		e.asks = e.asks || isAsked(node)
		for _, seed := range comparedWith(node, isSeedOfShoot) {
			wanted[seed] = true
		}
		for name, values := range closed {
			for _, value := range comparedWith(node, func(of ast.Expr) bool { return isMember(of, name) }) {
				if !slices.Contains(values, value) {
					impossible[name+" "+value] = Impossible{value, values}
				}
			}
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
	e.garden = needsGarden(native.Expr(), true)
	return e.findFacts(native)
}

// isAsked tells what looks at the landscape.
func isAsked(node ast.Expr) bool {
	switch node.Kind() {
	case ast.CallKind:
		name := node.AsCall().FunctionName()
		return name == "shoot" || name == "seed"
	case ast.IdentKind:
		return node.AsIdent() == "cloud"
	}
	return false
}

// closed are the fields that have one of a closed set of values, or none.
var closed = map[string][]string{
	"lastOperation.type": texts(gardencorev1beta1.LastOperationTypeCreate, gardencorev1beta1.LastOperationTypeReconcile, gardencorev1beta1.LastOperationTypeDelete,
		gardencorev1beta1.LastOperationTypeMigrate, gardencorev1beta1.LastOperationTypeRestore),
	"lastOperation.state": texts(gardencorev1beta1.LastOperationStateProcessing, gardencorev1beta1.LastOperationStateSucceeded, gardencorev1beta1.LastOperationStateError,
		gardencorev1beta1.LastOperationStateFailed, gardencorev1beta1.LastOperationStatePending, gardencorev1beta1.LastOperationStateAborted),
	"maintenance.state": texts(gardencorev1beta1.LastOperationStateProcessing, gardencorev1beta1.LastOperationStateSucceeded, gardencorev1beta1.LastOperationStateFailed),
}

func texts[T ~string](values ...T) []string {
	var list []string
	for _, value := range values {
		list = append(list, string(value))
	}
	return list
}

// isMember says whether a node is the field of a field of a shoot, such as lastOperation.type.
func isMember(node ast.Expr, name string) bool {
	if node.Kind() != ast.SelectKind || node.AsSelect().Operand().Kind() != ast.SelectKind {
		return false
	}
	of := node.AsSelect().Operand().AsSelect()
	return of.FieldName()+"."+node.AsSelect().FieldName() == name && of.Operand().Kind() == ast.CallKind && of.Operand().AsCall().FunctionName() == "shoot"
}

// comparedWith are the texts in quotes that a node compares with one that is such, but for the empty one: that is no name.
func comparedWith(node ast.Expr, is func(ast.Expr) bool) []string {
	if node.Kind() != ast.CallKind || len(node.AsCall().Args()) != 2 {
		return nil
	}
	left, right := node.AsCall().Args()[0], node.AsCall().Args()[1]
	var others []ast.Expr
	switch function := node.AsCall().FunctionName(); {
	case function == operators.In && is(left) && right.Kind() == ast.ListKind:
		others = right.AsList().Elements()
	case function != operators.Equals && function != operators.NotEquals:
	case is(left):
		others = []ast.Expr{right}
	case is(right):
		others = []ast.Expr{left}
	}
	var names []string
	for _, other := range others {
		if other.Kind() != ast.LiteralKind {
			continue
		}
		if name, text := other.AsLiteral().(types.String); text && name != "" {
			names = append(names, string(name))
		}
	}
	return names
}

// isSeedOfShoot says whether a node is shoot(…).seed or shoot(…).specSeed.
func isSeedOfShoot(node ast.Expr) bool {
	if node.Kind() != ast.SelectKind {
		return false
	}
	of := node.AsSelect().Operand()
	field := node.AsSelect().FieldName()
	return of.Kind() == ast.CallKind && of.AsCall().FunctionName() == "shoot" && (field == "seed" || field == "specSeed")
}

// needsGarden says whether a node cannot be found to be true, or false, as it shall, without the garden. One side of an "or" is enough for
// true, and one of an "and" for false, although the other cannot be told.
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

// asksGarden says whether anything in a node is the garden's to say: all of shoots, and of seeds what their own clusters do not tell.
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
		return call.FunctionName() == operators.Index && isFact(node.Children()[0]) && call.Args()[1].Kind() == ast.LiteralKind
	}
	return false
}

// prepareFacts compiles each fact by itself, so that it can be told when the whole is not true.
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
