package expression

import (
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
)

// Demand is what an expression asks of one shoot in every case: it is false while the shoot is not like that. What
// stands on one side of an "or" only, or below a "not", is no demand.
type Demand struct {
	// Seed and SpecSeed are the names of the seeds that hold it, and that shall; empty where any will do.
	Seed, SpecSeed string
	// Healthy is whether it must be.
	Healthy bool
}

// Demands on shoots, by their names; none for those of which nothing is demanded.
func (e *Expression) Demands() map[string]Demand { return e.demands }

// demandsOf are the parts of a node that are joined by "and", as far as they are demands.
func demandsOf(node ast.Expr, all map[string]Demand) {
	if node.Kind() == ast.CallKind && node.AsCall().FunctionName() == operators.LogicalAnd {
		for _, part := range node.AsCall().Args() {
			demandsOf(part, all)
		}
		return
	}
	if isMember(node, "shoot", "healthy") {
		name := shootOf(node)
		d := all[name]
		d.Healthy = true
		all[name] = d
		return
	}
	if node.Kind() != ast.CallKind || node.AsCall().FunctionName() != operators.Equals {
		return
	}
	sides := node.AsCall().Args()
	for i, side := range sides {
		seed := quoted(sides[1-i])
		if !isSeedOfShoot(side) || len(seed) != 1 {
			continue
		}
		name := shootOf(side)
		d := all[name]
		if isMember(side, "shoot", "seed") {
			d.Seed = seed[0]
		} else {
			d.SpecSeed = seed[0]
		}
		all[name] = d
	}
}

// shootOf a field such as shoot('alpha').seed is the name in it.
func shootOf(field ast.Expr) string {
	name, _ := literalArgument(field.AsSelect().Operand())
	return name
}
