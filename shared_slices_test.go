package transplant_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"testing"
)

// If a slice of a package has room, two appends to it at the same time write to the same place.
func TestAppend_ToAVariableOfAPackage_IsStoredThere(t *testing.T) {
	t.Parallel()
	for _, found := range tracked(t).sharedAppends(t) {
		t.Errorf("%s: the result of append is stored elsewhere; use slices.Concat", found)
	}
}

func TestSharedAppends_OfEachShape_AreFound(t *testing.T) {
	t.Parallel()
	tree := repository{
		"a/a.go": "package a\n\nvar shared = []int{1}\n\nfunc own() { shared = append(shared, 2) }\n",
		"a/b.go": "package a\n\nfunc bad() []int {\n\tfor range append(shared, 2) {\n\t}\n\treturn append(shared, 3)\n}\n",
		"a/c.go": "package a\n\nfunc good(shared []int) []int { return append(shared, 2) }\n",
		"a/d.go": "package a\n\nfunc alike() []int {\n\tvar shared []int\n\treturn append(shared, 1)\n}\n",
		"b/b.go": "package b\n\nfunc elsewhere(shared []int) []int { return append(shared, 2) }\n",
	}
	if got := tree.sharedAppends(t); !slices.Equal(got, []string{"a/b.go:4:12: shared", "a/b.go:6:9: shared"}) {
		t.Errorf("%v", got)
	}
}

// sharedAppends are the calls of append to a variable of the package whose result is stored elsewhere.
func (r repository) sharedAppends(t *testing.T) []string {
	t.Helper()
	places := token.NewFileSet()
	declared := map[string]map[string]bool{} // variables by package
	functions := map[string][]*ast.FuncDecl{}
	for name, content := range r.written() {
		file, err := parser.ParseFile(places, name, content, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		folder := path.Dir(name)
		if declared[folder] == nil {
			declared[folder] = map[string]bool{}
		}
		for _, declaration := range file.Decls {
			switch declaration := declaration.(type) {
			case *ast.FuncDecl:
				functions[folder] = append(functions[folder], declaration)
			case *ast.GenDecl:
				for _, name := range names(declaration) {
					declared[folder][name] = declaration.Tok == token.VAR
				}
			}
		}
	}
	var found []string
	for folder, declarations := range functions {
		for _, function := range declarations {
			local := names(function)
			stored := map[ast.Expr]bool{}
			ast.Inspect(function, func(node ast.Node) bool {
				switch node := node.(type) {
				case *ast.AssignStmt:
					to, is := node.Lhs[0].(*ast.Ident)
					stored[node.Rhs[0]] = is && appended(node.Rhs[0]) == to.Name
				case *ast.CallExpr:
					name := appended(node)
					if declared[folder][name] && !stored[node] && !slices.Contains(local, name) {
						found = append(found, places.Position(node.Pos()).String()+": "+name)
					}
				}
				return true
			})
		}
	}
	slices.Sort(found)
	return found
}

// names are those that are declared in it.
func names(in ast.Node) []string {
	var found []string
	add := func(expressions ...ast.Expr) {
		for _, expression := range expressions {
			if name, is := expression.(*ast.Ident); is {
				found = append(found, name.Name)
			}
		}
	}
	ast.Inspect(in, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.AssignStmt:
			if node.Tok == token.DEFINE {
				add(node.Lhs...)
			}
		case *ast.RangeStmt:
			add(node.Key, node.Value)
		case *ast.ValueSpec:
			for _, name := range node.Names {
				add(name)
			}
		case *ast.Field:
			for _, name := range node.Names {
				add(name)
			}
		}
		return true
	})
	return found
}

// appended is the name of what the expression appends to, if it is an append to a variable.
func appended(value ast.Expr) string {
	if call, is := value.(*ast.CallExpr); is && len(call.Args) > 0 {
		function, _ := call.Fun.(*ast.Ident)
		to, _ := call.Args[0].(*ast.Ident)
		if function != nil && to != nil && function.Name == "append" {
			return to.Name
		}
	}
	return ""
}
