package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/go/packages"

	"github.com/transplant-sim/transplant/clusters/integrationtest"
)

// A mutant that does not compile is no bug. Only the packages that it changes are type-checked again, so it may change
// nothing that other packages see of them.
func TestEveryMutantCompiles(t *testing.T) {
	t.Parallel()
	integrationtest.Mark(t, "reads what the compiler knows of most of the tree")
	mutants := listed(t)
	unchanged := compiled(t, mutants)
	for _, m := range mutants {
		changed, err := m.changed(root)
		if err != nil {
			t.Fatalf("%s: %v", m.Name, err)
		}
		folders := map[string]bool{}
		for file := range changed {
			folders[filepath.Dir(file)] = true
		}
		for folder := range folders {
			pack := unchanged[folder]
			checked, err := typeCheck(pack, changed)
			if err != nil {
				t.Errorf("%s does not compile: %v", m.Name, err)
				continue
			}
			if diff := cmp.Diff(exported(pack.Types), exported(checked)); diff != "" {
				t.Errorf("%s changes what other packages see of %s (-before +after):\n%s", m.Name, folder, diff)
			}
		}
	}
}

// compiled are the packages that the mutants change, by their folders from the root.
func compiled(t *testing.T, mutants []mutant) map[string]*packages.Package {
	t.Helper()
	var patterns []string
	for _, m := range mutants {
		for _, e := range m.edits() {
			patterns = append(patterns, "./"+filepath.ToSlash(e.In))
		}
	}
	slices.Sort(patterns)
	top, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	config := &packages.Config{Mode: packages.LoadSyntax | packages.NeedModule, Dir: top, Context: t.Context()}
	loaded, err := packages.Load(config, slices.Compact(patterns)...)
	if err != nil {
		t.Fatal(err)
	}
	packs := map[string]*packages.Package{}
	for _, pack := range loaded {
		for _, err := range pack.Errors {
			t.Fatal(err)
		}
		folder, err := filepath.Rel(top, pack.Dir)
		if err != nil {
			t.Fatal(err)
		}
		packs[folder] = pack
	}
	return packs
}

// typeCheck a package with changed files, which are named from the root of the repository.
func typeCheck(pack *packages.Package, changed map[string][]byte) (*types.Package, error) {
	var files []*ast.File
	compiled := 0
	for i, path := range pack.CompiledGoFiles {
		file := pack.Syntax[i]
		for name, content := range changed {
			if !strings.HasSuffix(path, "/"+name) {
				continue
			}
			var err error
			if file, err = parser.ParseFile(pack.Fset, name, content, parser.SkipObjectResolution); err != nil {
				return nil, err
			}
			compiled++
		}
		files = append(files, file)
	}
	if compiled == 0 {
		return nil, fmt.Errorf("no file that it changes is compiled in %s", pack.PkgPath)
	}
	config := types.Config{
		Importer: importer(pack.Types.Imports()), Sizes: pack.TypesSizes, GoVersion: "go" + pack.Module.GoVersion,
	}
	return config.Check(pack.PkgPath, pack.Fset, files, nil)
}

// importer knows what a package imports.
type importer []*types.Package

func (i importer) Import(path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	at := slices.IndexFunc(i, func(pack *types.Package) bool { return pack.Path() == path })
	if at < 0 {
		return nil, fmt.Errorf("%s is not imported without the bug", path)
	}
	return i[at], nil
}

// exported are the declarations that other packages see, with the fields and methods of types.
func exported(pack *types.Package) []string {
	var all []string
	add := func(of string, object types.Object) {
		if object.Exported() {
			all = append(all, of+object.String())
		}
	}
	for _, name := range pack.Scope().Names() {
		object := pack.Scope().Lookup(name)
		structure, isStruct := object.Type().Underlying().(*types.Struct)
		if _, isType := object.(*types.TypeName); !isType || !object.Exported() {
			add("", object)
			continue
		}
		if isStruct {
			for field := range structure.Fields() {
				add(name+": ", field)
			}
		} else {
			add("", object)
		}
		for method := range types.NewMethodSet(types.NewPointer(object.Type())).Methods() {
			add(name+": ", method.Obj())
		}
	}
	return all
}
