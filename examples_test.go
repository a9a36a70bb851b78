package transplant_test

import (
	"errors"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/mod/modfile"
	"sigs.k8s.io/yaml"

	"github.com/transplant-sim/transplant/clusters/executable/executabletest"
)

// goNamed is a version of Go in a file for a CI.
var goNamed = regexp.MustCompile(`(?:golang:|GO_VERSION: )(\d+\.\d+\.\d+)`)

var (
	// actionUsed is one that a step uses, but for those of this repository.
	actionUsed = regexp.MustCompile(`(?m)\buses: ([^./].*?)$`)
	pinned     = regexp.MustCompile(`^\S+@[0-9a-f]{40} # v\d+\.\d+\.\d+$|^transplant-sim/transplant/`)
	listItem   = regexp.MustCompile(`(?m)^ +- `)
)

// Files for CIs can be read, keep what a failed run leaves, name the Go that go.mod names, and use other people's
// actions at a commit: a tag can be moved.
func TestExamples_FilesForCI_AreReadAndNameTheToolchain(t *testing.T) {
	t.Parallel()
	tree := tracked(t)
	module, err := modfile.Parse("go.mod", []byte(tree["go.mod"]), nil)
	if err != nil {
		t.Fatal(err)
	}
	files, named, used := 0, 0, 0
	for name, content := range tree {
		folder, suffix := path.Dir(name), path.Ext(name)
		if !strings.HasPrefix(folder, ".github") && folder != "docs/examples" && name != "action.yml" ||
			suffix != ".yml" && suffix != ".yaml" {
			continue
		}
		files++
		var read map[string]any
		if err := yaml.UnmarshalStrict([]byte(content), &read); err != nil || len(read) == 0 {
			t.Errorf("%s: %v", name, err)
		}
		for _, found := range goNamed.FindAllStringSubmatch(content, -1) {
			if named++; "go"+found[1] != module.Toolchain.Name {
				t.Errorf("%s names Go %s, want %s as in go.mod", name, found[1], module.Toolchain.Name)
			}
		}
		if strings.Count(content, "cache/save@") != strings.Count(content, "cache/restore@") ||
			strings.Contains(content, "actions/cache@") {
			t.Errorf("%s: a cache is restored and saved apart, else a failed run keeps nothing", name)
		}
		for _, found := range actionUsed.FindAllStringSubmatch(content, -1) {
			if used++; !pinned.MatchString(found[1]) {
				t.Errorf("%s uses %s, want a commit, and its version as a comment", name, found[1])
			}
		}
		for _, step := range listItem.Split(content, -1) {
			if strings.Contains(step, "cache/save@") && !strings.Contains(step, "if: always()") {
				t.Errorf("%s: a failed run keeps nothing:\n%s", name, step)
			}
		}
	}
	if files < 10 || named < 3 || used < 20 {
		t.Errorf("%d files with %d versions of Go and %d actions were looked at", files, named, used)
	}
}

// The action passes arguments on with their quotes resolved. It fails where quotes do not match, or nothing is given.
func TestAction_Run_PassesArgumentsOnOrFails(t *testing.T) {
	t.Parallel()
	var action struct {
		Runs struct {
			Steps []struct{ Name, Run string }
		}
	}
	if err := yaml.Unmarshal([]byte(tracked(t)["action.yml"]), &action); err != nil {
		t.Fatal(err)
	}
	script := ""
	for _, step := range action.Runs.Steps {
		if step.Name == "Run" {
			script = step.Run
		}
	}
	for arguments, want := range map[string]string{
		`seed-loss  -l 'tier in (smoke,core)'`: "run\nseed-loss\n-l\ntier in (smoke,core)\n--out\no\n--summary\ns\n",
		"-l\n$HOME *":                          "run\n-l\n$HOME\n*\n--out\no\n--summary\ns\n",
		`seed-loss -l tier='smoke`:             "", // fails
		"":                                     "",
		" \n":                                  "",
	} {
		program := filepath.Join(t.TempDir(), "program")
		if err := executabletest.Write(program, []byte("#!/bin/sh\nprintf '%s\\n' \"$@\"\n")); err != nil {
			t.Fatal(err)
		}
		command := exec.CommandContext(t.Context(), "bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script)
		command.Env = append(os.Environ(), "RUNNER_TEMP="+t.TempDir(), "PROGRAM="+program, "ARGUMENTS="+arguments, "OUT=o",
			"GITHUB_STEP_SUMMARY=s")
		out, err := command.Output()
		if (err == nil) != (want != "") || err == nil && string(out) != want {
			t.Errorf("with %q it runs the program with %q, %v; want %q", arguments, out, err, want)
		}
	}
}

// startsPods are commands in a workflow that start simulated pods.
var startsPods = regexp.MustCompile(`transplant run|docker run|^\.ci/run|make (.* )?(unit|test|scenario|catalogue)\b`)

// Simulated pods need user namespaces. Ubuntu on GitHub's machines and default profiles of containers forbid them.
func TestExamples_WhateverRunsScenarios_MayMakeUserNamespaces(t *testing.T) {
	t.Parallel()
	type steps []struct{ Run string }
	tree, looked := tracked(t), 0
	ask := func(name string, all steps) {
		allowed := false
		for _, step := range all {
			allowed = allowed || strings.Contains(step.Run, "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0") ||
				strings.Contains(step.Run, "kernel/apparmor_restrict_unprivileged_userns") &&
					strings.Contains(step.Run, `echo 0 >"$file"`)
			if startsPods.MatchString(step.Run) || strings.Contains(step.Run, `"$PROGRAM" run`) {
				if looked++; !allowed {
					t.Errorf("%s: no step before this one allows user namespaces:\n%s", name, step.Run)
				}
			}
		}
	}
	for name, content := range tree {
		if path.Ext(name) != ".yml" && path.Ext(name) != ".yaml" && path.Ext(name) != ".md" {
			continue
		}
		for _, command := range strings.Split(content, "docker run")[1:] {
			command, _, _ = strings.Cut(strings.ReplaceAll(command, "\\\n", ""), "\n")
			if looked++; !strings.Contains(command, "seccomp=unconfined") || !strings.Contains(command, "apparmor=unconfined") {
				t.Errorf("%s: docker run%s: want profiles that allow user namespaces", name, command)
			}
		}
		var workflow struct {
			Jobs map[string]struct{ Steps steps }
			Runs struct{ Steps steps }
		}
		if yaml.Unmarshal([]byte(content), &workflow) != nil {
			continue // of another form, such as several documents
		}
		for job, has := range workflow.Jobs {
			ask(name+": "+job, has.Steps)
		}
		ask(name, workflow.Runs.Steps)
	}
	for name, want := range map[string][]string{
		"docs/examples/kubernetes-job.yaml": {"\n        seccompProfile: {type: Unconfined}\n",
			"\n        appArmorProfile: {type: Unconfined} ", "pod-security.kubernetes.io/enforce=privileged"},
		"docs/examples/tekton.yaml": {"\n        seccompProfile: {type: Unconfined}\n",
			"\n        appArmorProfile: {type: Unconfined} "},
		"docs/examples/gitlab-ci.yml": {`security_opt = ["seccomp=unconfined", "apparmor=unconfined"]`},
	} {
		for _, line := range want {
			if looked++; !strings.Contains(tree[name], line) {
				t.Errorf("%s has no %q", name, line)
			}
		}
	}
	if looked < 13 {
		t.Errorf("%d places were looked at", looked)
	}
}

// Getting started has the shoot of the examples, to be pasted.
func TestGettingStarted_Shoot_IsThatOfTheExamples(t *testing.T) {
	t.Parallel()
	tree := tracked(t)
	_, pasted, _ := strings.Cut(tree["docs/getting-started.md"], "<<'SHOOT'\n")
	pasted, _, found := strings.Cut(pasted, "\nSHOOT\n")
	var got, want map[string]any
	if err := errors.Join(yaml.Unmarshal([]byte(pasted), &got),
		yaml.Unmarshal([]byte(tree["docs/examples/shoot.yaml"]), &want)); err != nil || !found {
		t.Fatal(err, found)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("docs/examples/shoot.yaml and what is pasted (-want +got):\n%s", diff)
	}
}

// setup-go looks for files below the caller's checkout, and those of an action are elsewhere. So the action has caches
// of its own, with keys of its own files.
func TestAction_Caches_HaveKeysOfItsOwnFiles(t *testing.T) {
	t.Parallel()
	var action struct {
		Runs struct {
			Steps []struct {
				ID, Uses, Run string
				With          map[string]any
			}
		}
	}
	if err := yaml.Unmarshal([]byte(tracked(t)["action.yml"]), &action); err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{} // outputs of the step "key"
	kept, setUp := "", false
	for _, step := range action.Runs.Steps {
		if step.ID == "key" {
			for _, found := range regexp.MustCompile(`echo "(\w+)=`).FindAllStringSubmatch(step.Run, -1) {
				known[found[1]] = true
			}
		}
		setUp = setUp || strings.HasPrefix(step.Uses, "actions/setup-go@") && step.With["cache"] == false
		if strings.HasPrefix(step.Uses, "actions/cache/restore@") {
			text := step.With["key"].(string) + step.With["path"].(string)
			for _, found := range regexp.MustCompile(`steps\.key\.outputs\.(\w+)`).FindAllStringSubmatch(text, -1) {
				if kept += " " + found[1]; !known[found[1]] {
					t.Errorf("%s: no step before it says %s", text, found[1])
				}
			}
		}
	}
	if !setUp || kept != " sources modules" ||
		!strings.Contains(tracked(t)["action.yml"], `GOMODCACHE="$HOME/.cache/transplant-action/`) {
		t.Errorf("setup-go without its cache: %t; kept are by%s", setUp, kept)
	}
}

// The notes of a release are what the changelog says about its version.
func TestNotes_OfAVersion_AreItsPartOfTheChangelog(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "CHANGELOG.md")
	text := "# Changelog\n\n[a](b.md)\n\n## [Unreleased]\n\n- soon\n\n## [0.2.0] - 2026-12-02\n\n### Added\n\n" +
		"- [more](docs/ci.md#releases), [less](https://x.y/z)\n\n## [0.1.0] - 2026-12-01\n\n- all\n\n[0.1.0]: https://x.y\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for tag, want := range map[string]string{
		"v0.1.0": "- all",
		"v0.2.0": "### Added\n\n- [more](https://github.com/transplant-sim/transplant/blob/v0.2.0/docs/ci.md#releases), " +
			"[less](https://x.y/z)",
		"v0.3.0-rc.1": "- soon",
		"v0.3.0":      "", // fails
	} {
		out, err := exec.CommandContext(t.Context(), ".ci/notes", tag, file).Output()
		if (err == nil) != (want != "") || strings.TrimSpace(string(out)) != want {
			t.Errorf("%s: %v, %q; want %q", tag, err, out, want)
		}
	}
	tree := tracked(t)
	if workflow := tree[".github/workflows/release.yml"]; !strings.Contains(workflow, "run: .ci/notes ") ||
		!strings.Contains(workflow, "--release-notes ") || strings.Contains(tree[".goreleaser.yaml"], "\nchangelog:") {
		t.Error("a release does not take these notes; a changelog that is disabled would leave them out, too")
	}
}

// What a release is made of is in the tree, or is a bill of materials that "make sbom" writes.
func TestRelease_WhatItNames_IsThere(t *testing.T) {
	t.Parallel()
	tree := tracked(t)
	var release struct {
		Builds []struct{ ID, Main, Dir string }
		// Archives' files are names, or have a source.
		Archives []struct{ Files []any }
		Checksum struct {
			Extra []any `json:"extra_files"`
		}
		Release struct {
			Extra []any `json:"extra_files"`
		}
		Images []struct {
			IDs        []string `json:"ids"`
			Dockerfile string   `json:"dockerfile"`
			Extra      []string `json:"extra_files"`
		} `json:"dockers_v2"`
	}
	if err := yaml.Unmarshal([]byte(tree[".goreleaser.yaml"]), &release); err != nil {
		t.Fatal(err)
	}
	var names, ids []string
	for _, build := range release.Builds {
		ids = append(ids, build.ID)
		names = append(names, path.Join(build.Dir, build.Main, "main.go"))
	}
	for _, archive := range release.Archives {
		for _, file := range archive.Files {
			switch file := file.(type) {
			case string:
				names = append(names, file)
			case map[string]any:
				bill, is := strings.CutPrefix(file["src"].(string), "out/bill/")
				bill, _ = strings.CutSuffix(bill, ".cdx.json")
				if !is || !strings.Contains(tree[".ci/bill/bill.yaml"], "name: "+bill+",") {
					t.Errorf("the archive has %s, which nothing writes", file["src"])
				}
			}
		}
	}
	for _, image := range release.Images {
		names = append(append(names, image.Dockerfile), image.Extra...)
		for _, id := range image.IDs {
			if !slices.Contains(ids, id) {
				t.Errorf("the image has %s, which is not built", id)
			}
		}
	}
	for _, name := range names {
		if _, there := tree[name]; !there {
			t.Errorf("a release needs %s, which is not there", name)
		}
	}
	if diff := cmp.Diff(release.Release.Extra, release.Checksum.Extra); diff != "" || len(release.Release.Extra) == 0 {
		t.Errorf("files beside the archives, and those with a checksum, which is what is signed (-want +got):\n%s", diff)
	}
	if len(ids) != 2 || len(names) < 8 {
		t.Errorf("only %v were looked at", names)
	}
}
