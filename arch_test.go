// Package transplant_test holds the source tree to the floor plan: who may import whom (see ARCHITECTURE.md).
package transplant_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
)

const module = "github.com/transplant-sim/transplant/"

// allowed lists, for each folder, the folders of ours it may import beside itself and what lies below it. The
// longest matching folder decides.
var allowed = map[string][]string{
	"api": {},
	"controllers": {"api", "controllers/flow", "controllers/controlplane", "controllers/ownership",
		"controllers/etcd", "controllers/placement", "controllers/patch", "controllers/errorcodes", "controllers/rollout",
		"controllers/rotation", "controllers/nodecritical", "controllers/metricsserver", "controllers/connection",
		"controllers/validation", "controllers/cachefirst",
		"controllers/maintenance/version", "controllers/maintenance/versionrules", "controllers/maintenance/image",
		"controllers/maintenance/window"},
	"controllers/flow":       {},
	"controllers/cachefirst": {},
	"controllers/patch":      {}, // knows no type of ours, so that each duty can use it
	"controllers/etcd":       {"api", "controllers/ownership"},
	// Programs that tests start.
	"controllers/etcd/etcdtest": {"controllers/etcd", "clusters/integrationtest", "clusters/tied"},
	"dashboards/prometheustest": {"clusters/integrationtest", "clusters/tied"},
	// The shared ground lies below the duties, and may not look up to them.
	"controllers/ownership":          {"api"},
	"controllers/ownership/model":    {},
	"controllers/ownership/validity": {"controllers/ownership"},
	// The parts of the reference provider know each other only as far as one builds on the other.
	"controllers/extension": {"api", "controllers/patch", "controllers/ownership", "controllers/metricsserver",
		"controllers/connection"},
	"controllers/extension/contract":  {"api", "controllers/patch"},
	"controllers/extension/reference": {"api", "controllers/patch"},
	"controllers/extension/fence": {"api", "controllers/extension/contract", "controllers/ownership", "controllers/etcd",
		"controllers/errorcodes"},
	"controllers/extension/infrastructure": {"api", "controllers/extension/contract", "controllers/extension/fence",
		"controllers/extension/reference"},
	"controllers/extension/dnsrecord": {"api", "controllers/extension/contract", "controllers/extension/fence",
		"controllers/extension/reference"},
	"controllers/extension/backup": {"api", "controllers/patch",
		"controllers/extension/contract", "controllers/extension/fence",
		"controllers/extension/reference"},
	"controllers/extension/worker": {"api", "controllers/patch",
		"controllers/extension/contract", "controllers/extension/fence",
		"controllers/extension/reference", "controllers/extension/infrastructure", "controllers/errorcodes",
		"controllers/rollout"},
	"controllers/extension/managed": {"api", "controllers/patch",
		"controllers/extension/contract", "controllers/extension/reference",
		"controllers/extension/infrastructure", "controllers/nodecritical"},
	"controllers/extension/operatingsystem": {"api", "controllers/extension/contract", "controllers/extension/reference"},
	"controllers/migration/savedstate": {"api", "controllers/controlplane/shootstate", "controllers/patch",
		"controllers/cachefirst"},
	"controllers/migration/secondsign": {"api", "controllers/controlplane/lifecycle", "controllers/controlplane/scope",
		"controllers/controlplane/shootaccess"},
	"controllers/placement":  {"api"},
	"controllers/errorcodes": {"api"},
	"controllers/controlplane": {"api", "controllers/flow", "controllers/ownership", "controllers/etcd",
		"controllers/patch", "controllers/errorcodes", "controllers/rollout", "controllers/rotation",
		"controllers/nodecritical"},
	// The ground of a control plane's components lies below them.
	"controllers/controlplane/objects":   {"controllers/patch"},
	"controllers/controlplane/lifecycle": {"api", "controllers/rollout", "controllers/rotation"},
	"controllers/controlplane/scope": {"api", "controllers/controlplane/lifecycle", "controllers/controlplane/shootstate",
		"controllers/ownership"},
	"controllers/controlplane/run": {"api", "controllers/flow", "controllers/controlplane/lifecycle",
		"controllers/controlplane/objects", "controllers/controlplane/scope", "controllers/patch",
		"controllers/errorcodes", "controllers/rollout", "controllers/rotation"},
	"controllers/rollout":       {"api"},
	"controllers/rotation":      {"api"},
	"controllers/nodecritical":  {"api"},
	"controllers/metricsserver": {},
	"controllers/connection":    {},
	"controllers/validation": {"api", "controllers/rollout", "controllers/rotation", "controllers/maintenance/window",
		"controllers/maintenance/sidechange"},
	// What is decided about versions; the duty above it, controllers/maintenance, is a duty like the others.
	"controllers/maintenance/window":       {"api"},
	"controllers/maintenance/version":      {"api"},
	"controllers/maintenance/image":        {"api"},
	"controllers/maintenance/sidechange":   {"api"},
	"controllers/maintenance/versionrules": {"api", "controllers/maintenance/version", "controllers/maintenance/image"},
	"clusters":                             {"api/pki", "api/unpacked", "api/output", "api/spelling"},
	"sim":                                  {"clusters", "api"},
	"sim/durable":                          {},
	"sim/state":                            {"sim/timeline", "sim/expression"}, // run and judge fold alike
	"sim/timeline":                         {"api/userfile", "sim/durable"},
	"cmd":                                  {"api", "controllers", "clusters", "sim", "scenarios", "dashboards"},
	"e2e": {"api", "controllers", "clusters", "sim", "scenarios",
		"dashboards", "cmd"},
	"scenarios":  {},
	"dashboards": {},
}

// unit is the part of the tree that a folder belongs to: for a duty its own folder, else the top-level one.
func unit(folder string) string {
	if _, own := allowed[folder]; own {
		return folder
	}
	parts := strings.Split(folder, "/")
	if len(parts) > 1 && (parts[0] == "controllers" || folder == "sim/timeline" || strings.HasPrefix(folder,
		"sim/timeline/")) {
		return parts[0] + "/" + parts[1]
	}
	return parts[0]
}

func rule(unit string) (folders []string, found bool) {
	for candidate := unit; candidate != "."; candidate = filepath.Dir(candidate) {
		if folders, found = allowed[candidate]; found {
			return folders, true
		}
	}
	return nil, false
}

// violation says why from may not import to, or returns "".
func violation(from, to string) string {
	self := unit(from)
	if to == self || strings.HasPrefix(to, self+"/") {
		return ""
	}
	folders, found := rule(self)
	if !found {
		return from + " is not on the floor plan"
	}
	if slices.ContainsFunc(folders, func(f string) bool { return to == f || strings.HasPrefix(to, f+"/") }) {
		return ""
	}
	return from + " must not import " + to
}

func TestImportsFollowTheFloorPlan(t *testing.T) {
	t.Parallel()
	files := 0
	for name, content := range tracked(t) {
		// Tests may start real API servers with clusters/apiservertest; the plan does not bind them. A folder that begins
		// with a dot is none of the product, and the control plane is a module of its own.
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, ".") ||
			strings.HasPrefix(name, "clusters/controlplane/") {
			continue
		}
		files++
		file, err := parser.ParseFile(token.NewFileSet(), name, content, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if to, ours := strings.CutPrefix(imported, module); ours {
				if why := violation(path.Dir(name), to); why != "" {
					t.Errorf("%s: %s", name, why)
				}
			}
		}
	}
	if files == 0 {
		t.Error("no file was looked at")
	}
}

// TestGoModules_NameOneToolchain wants each Go module to be built by the Go release that the root module names.
// Where the go line asks for that release, the go command leaves the toolchain line out.
func TestGoModules_NameOneToolchain(t *testing.T) {
	t.Parallel()
	release := func(path string, content []byte) string {
		file, err := modfile.Parse(path, content, nil)
		switch {
		case err != nil:
			t.Fatal(err)
		case file.Toolchain != nil:
			return strings.TrimPrefix(file.Toolchain.Name, "go")
		case file.Go != nil:
			return file.Go.Version
		}
		return ""
	}
	root, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	want := release("go.mod", root)
	if want == "" {
		t.Fatal("go.mod names no release of Go")
	}
	modules := 0
	err = filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains([]string{".git", ".cache", "bin", "out"}, path):
			return filepath.SkipDir
		case entry.Name() != "go.mod":
			return nil
		}
		modules++
		content, err := os.ReadFile(path)
		if got := release(path, content); got != want {
			t.Errorf("%s: Go %s, want %s, as in go.mod", path, got, want)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if modules < 2 {
		t.Errorf("%d Go modules were looked at, want that of .ci/lint at least", modules)
	}
}

func TestViolation(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from, to string
		bad      bool
	}{
		{"controllers/shoot", "controllers/migration", true},
		{"controllers/shoot", "controllers/operation", true},
		{"controllers/operation", "controllers/migration", true},
		{"controllers/operation", "controllers/controlplane", false},
		{"controllers/shoot", "controllers/controlplane", false},
		{"controllers/shoot", "controllers/controlplane/shootstate", false},
		{"controllers/controlplane", "controllers/shoot", true},
		{"controllers/controlplane/shootstate", "controllers/controlplane", false},
		{"controllers/controlplane/etcd", "controllers/controlplane/scope", false},
		{"controllers/controlplane/scope", "controllers/controlplane/etcd", true},
		{"controllers/controlplane/run", "controllers/controlplane", true},
		{"controllers/etcd", "controllers/controlplane", true},
		{"controllers/extension", "controllers/extension/worker", false},
		{"controllers/extension/worker", "controllers/extension/infrastructure", false},
		{"controllers/extension/infrastructure", "controllers/extension/worker", true},
		{"controllers/extension/managed", "controllers/extension/fence", true},
		{"controllers/shoot", "controllers/extension/fence", true},
		{"controllers/migration/secondsign", "controllers/migration", true},
		{"controllers/migration/savedstate", "controllers/migration", true},
		{"controllers/ownership/model", "controllers/ownership", true},
		{"controllers/ownership/validity", "controllers/ownership", false},
		{"controllers/ownership/validity", "api/cloud", true},
		{"controllers/care", "sim/cloud", true},
		{"controllers/admission", "controllers/maintenance/versionrules", false},
		{"controllers/admission", "controllers/maintenance", true},
		{"controllers/maintenance", "controllers/maintenance/sidechange", false},
		{"controllers/maintenance/version", "controllers/controlplane", true},
		{"controllers/rollout", "controllers/machine", true},
		{"controllers/flow", "api/core/v1beta1", true},
		{"api/cloud", "sim/cloud", true},
		{"clusters/embedded", "sim/run", true},
		{"clusters/embedded", "clusters/link", false},
		{"sim/run", "clusters", false},
		{"sim/run", "controllers/etcd", true},
		{"sim/timeline", "api/core/v1beta1", true},
		{"sim/state", "sim/timeline", false},
		{"sim/state", "sim/world", true},
		{"cmd/transplant", "sim/run", false},
		{"nowhere", "api/cloud", true},
	} {
		if got := violation(c.from, c.to); (got != "") != c.bad {
			t.Errorf("violation(%q, %q) = %q, want one: %t", c.from, c.to, got, c.bad)
		}
	}
}

// TestKnownAnswersAreAskedByMakeOracle: what the field's own implementation wrote is read by tests that "make oracle"
// runs.
func TestKnownAnswersAreAskedByMakeOracle(t *testing.T) {
	t.Parallel()
	known := regexp.MustCompile(`^".*(testdata/.*\.jsonl\.gz|shootstate(-machine-state)?\.json)"$`)
	found := 0
	for _, folder := range []string{"api", "controllers", filepath.Join("cmd", "transplant", "explain")} {
		err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			for _, declaration := range file.Decls {
				test, isFunc := declaration.(*ast.FuncDecl)
				if !isFunc || !strings.HasPrefix(test.Name.Name, "Test") {
					continue
				}
				ast.Inspect(test, func(node ast.Node) bool {
					if literal, is := node.(*ast.BasicLit); is && known.MatchString(literal.Value) {
						found++
						if !strings.Contains(test.Name.Name, "Oracle") {
							t.Errorf("%s: %s reads %s: call it TestOracle…", path, test.Name.Name, literal.Value)
						}
					}
					return true
				})
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if found == 0 {
		t.Error("no test reads known answers")
	}
}
