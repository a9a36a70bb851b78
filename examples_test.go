package transplant_test

import (
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
		if err := os.WriteFile(program, []byte("#!/bin/sh\nprintf '%s\\n' \"$@\"\n"), 0o755); err != nil {
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
