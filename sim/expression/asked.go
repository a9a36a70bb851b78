package expression

import (
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
)

// isMember says whether a node is a field of a shoot or a seed, or a field of such a field, such as lastOperation.type.
func isMember(node ast.Expr, of, path string) bool {
	for _, name := range slices.Backward(strings.Split(path, ".")) {
		if node.Kind() != ast.SelectKind || node.AsSelect().FieldName() != name {
			return false
		}
		node = node.AsSelect().Operand()
	}
	return node.Kind() == ast.CallKind && node.AsCall().FunctionName() == of
}

// isSeedOfShoot says whether a node is shoot(…).seed or shoot(…).specSeed.
func isSeedOfShoot(node ast.Expr) bool {
	return isMember(node, "shoot", "seed") || isMember(node, "shoot", "specSeed")
}

// isElement says whether a node takes one out of a list or a map that is such.
func isElement(node ast.Expr, is func(ast.Expr) bool) bool {
	switch node.Kind() {
	case ast.CallKind:
		return node.AsCall().FunctionName() == operators.Index && is(node.AsCall().Args()[0])
	case ast.SelectKind:
		return is(node.AsSelect().Operand())
	}
	return false
}

// keyOf a map that is such, which a node takes out of it; empty when it is not written out.
func keyOf(node ast.Expr, is func(ast.Expr) bool) string {
	switch {
	case !isElement(node, is):
		return ""
	case node.Kind() == ast.SelectKind:
		return node.AsSelect().FieldName()
	}
	return strings.Join(quoted(node.AsCall().Args()[1]), "")
}

// comparedWith are the texts in quotes that a node compares with one that is such, or looks for in it, but for the
// empty one: that is no name. Those that it compares with each in turn, as in c.all(…), are among them.
func comparedWith(node ast.Expr, is func(ast.Expr) bool) []string {
	if node.Kind() == ast.ComprehensionKind && is(node.AsComprehension().IterRange()) {
		return comparedInTurn(node.AsComprehension())
	}
	if node.Kind() != ast.CallKind || len(node.AsCall().Args()) != 2 {
		return nil
	}
	left, right := node.AsCall().Args()[0], node.AsCall().Args()[1]
	if !slices.Contains([]string{operators.In, operators.Equals, operators.NotEquals}, node.AsCall().FunctionName()) {
		return nil
	}
	switch {
	case is(left):
		return quoted(right)
	case is(right):
		return quoted(left)
	}
	return nil
}

func comparedInTurn(c ast.ComprehensionExpr) []string {
	var names []string
	isEach := func(node ast.Expr) bool { return node.Kind() == ast.IdentKind && node.AsIdent() == c.IterVar() }
	ast.PostOrderVisit(c.LoopStep(), ast.NewExprVisitor(func(node ast.Expr) {
		names = append(names, comparedWith(node, isEach)...)
	}))
	return names
}

// quoted are the texts in a node that is one, or a list of them.
func quoted(node ast.Expr) []string {
	parts := []ast.Expr{node}
	if node.Kind() == ast.ListKind {
		parts = node.AsList().Elements()
	}
	var texts []string
	for _, part := range parts {
		if part.Kind() != ast.LiteralKind {
			continue
		}
		if text, is := part.AsLiteral().(types.String); is && text != "" {
			texts = append(texts, string(text))
		}
	}
	return texts
}
