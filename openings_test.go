package transplant_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// openers are names, by import path, without which no Go code of ours lets others connect to it.
var openers = map[string][]string{
	"net": {"Listen", "ListenConfig", "ListenPacket", "ListenTCP", "ListenUDP", "ListenIP", "ListenUnix",
		"ListenUnixgram", "ListenMulticastUDP", "FileListener", "FilePacketConn"},
	"crypto/tls":             {"Listen"},
	"net/http":               {"Server", "ListenAndServe", "ListenAndServeTLS", "Serve", "ServeTLS"},
	"net/http/httptest":      {"NewServer", "NewTLSServer", "NewUnstartedServer"},
	"github.com/miekg/dns":   {"Server", "ListenAndServe", "ListenAndServeTLS", "ActivateAndServe"},
	"google.golang.org/grpc": {"NewServer"},
	// A manager serves its metrics, at port 8080 of every address if nobody says otherwise.
	"sigs.k8s.io/controller-runtime":                    {"NewManager"},
	"sigs.k8s.io/controller-runtime/pkg/manager":        {"New"},
	"sigs.k8s.io/controller-runtime/pkg/webhook":        {"NewServer"},
	"sigs.k8s.io/controller-runtime/pkg/metrics/server": {"NewServer", "Options"},
}

// unopened are packages that use openers and have no row, and why.
var unopened = map[string]string{
	"clusters/clustertest/testpod": "runs in the pods of tests only",
}

// TestSecurity_WhateverListens_HasARow holds the table in SECURITY.md to the code: who reads it sees all that a
// landscape opens.
func TestSecurity_WhateverListens_HasARow(t *testing.T) {
	t.Parallel()
	tree := tracked(t)
	opened := tree.openings(t)
	for _, problem := range unlisted(opened, rowsOf(tree["SECURITY.md"]), unopened) {
		t.Error(problem)
	}
	t.Logf("packages that open something: %d", len(opened))
	if len(opened) < 15 {
		t.Errorf("only %v were found", slices.Sorted(maps.Keys(opened)))
	}
}

func TestSecurity_ListenerWithoutARow_IsFound(t *testing.T) {
	t.Parallel()
	tree := repository{
		"cmd/a/main.go": "package main\n\nimport (\n\"" + strings.Join([]string{module + "b", module + "c", module + "d",
			module + "e"}, "\"\n\"") + "\"\n)\n",
		"b/b.go":        "package b\n\nimport \"net\"\n\nfunc f() { net.Listen(\"tcp\", \"\") }\n",
		"c/c.go":        "package c\n\nimport n \"net\"\n\nvar _ n.ListenConfig\n",
		"d/d.go":        "package d\n\nimport \"net/http\"\n\nvar s = &http.Server{}\n",
		"e/e.go":        "package e\n\nimport \"net\"\n\nvar l net.Listener\n", // is given one
		"e/e_test.go":   "package e\n\nimport \"net\"\n\nfunc g() { net.Listen(\"tcp\", \"\") }\n",
		"unused/kit.go": "package unused\n\nimport \"net\"\n\nfunc f() { net.Listen(\"tcp\", \"\") }\n",
		"SECURITY.md": "# S\n\n`b`\n\n" + openingsTitle + "\n\n| what | opened by |\n|---|---|\n| `x` | `c`, `e` |\n\n" +
			"## T\n\n| `d` |\n",
		"e2e/x/main.go":  "package main\n\nimport \"net\"\n\nfunc f() { net.Listen(\"tcp\", \"\") }\n",
		"other/other.go": "package other\n",
	}
	want := []string{
		"b uses net.Listen, and no row of SECURITY.md names it: add what it opens, where, and who is let in",
		"SECURITY.md names e, which opens nothing",
		"the exception for other is of no use: it opens nothing, or has a row",
		"the exception for c is of no use: it opens nothing, or has a row",
	}
	got := unlisted(tree.openings(t), rowsOf(tree["SECURITY.md"]), map[string]string{"d": "", "other": "", "c": ""})
	slices.Sort(want)
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}

const openingsTitle = "## What the harness opens on the machine"

// openings are the packages of the product that use openers, and which.
func (r repository) openings(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	for name, content := range r.product(t) {
		file, err := parser.ParseFile(token.NewFileSet(), name, content, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		imports := map[string]string{} // paths by the names that the file has for them
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			as := path.Base(imported)
			if spec.Name != nil {
				as = spec.Name.Name
			}
			imports[as] = imported
		}
		ast.Inspect(file, func(node ast.Node) bool {
			selected, is := node.(*ast.SelectorExpr)
			if !is {
				return true
			}
			of, is := selected.X.(*ast.Ident)
			if is && slices.Contains(openers[imports[of.Name]], selected.Sel.Name) {
				use, folder := of.Name+"."+selected.Sel.Name, path.Dir(name)
				if !slices.Contains(found[folder], use) {
					found[folder] = append(found[folder], use)
				}
			}
			return true
		})
	}
	return found
}

var quoted = regexp.MustCompile("`([^`]+)`")

// rowsOf the table are the packages in its last column.
func rowsOf(security string) map[string]bool {
	_, section, _ := strings.Cut(security, openingsTitle)
	section, _, _ = strings.Cut(section, "\n## ")
	named := map[string]bool{}
	for line := range strings.Lines(section) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if !strings.HasPrefix(line, "|") {
			continue
		}
		for _, m := range quoted.FindAllStringSubmatch(cells[len(cells)-1], -1) {
			named[m[1]] = true
		}
	}
	return named
}

// unlisted says in what way table and exceptions differ from what is opened.
func unlisted(opened map[string][]string, named map[string]bool, exceptions map[string]string) []string {
	var problems []string
	for _, folder := range slices.Sorted(maps.Keys(opened)) {
		if _, excepted := exceptions[folder]; !named[folder] && !excepted {
			slices.Sort(opened[folder])
			problems = append(problems, fmt.Sprintf(
				"%s uses %s, and no row of SECURITY.md names it: add what it opens, where, and who is let in", folder,
				strings.Join(opened[folder], ", ")))
		}
	}
	for _, folder := range slices.Sorted(maps.Keys(named)) {
		if opened[folder] == nil {
			problems = append(problems, fmt.Sprintf("SECURITY.md names %s, which opens nothing", folder))
		}
	}
	for _, folder := range slices.Sorted(maps.Keys(exceptions)) {
		if opened[folder] == nil || named[folder] {
			problems = append(problems,
				fmt.Sprintf("the exception for %s is of no use: it opens nothing, or has a row", folder))
		}
	}
	return problems
}
