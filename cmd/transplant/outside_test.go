package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/transplant-sim/transplant/clusters/embedded/binary"
	"github.com/transplant-sim/transplant/clusters/embedded/rundir"
)

// outside is an empty folder of a user who has nothing yet.
func outside(t *testing.T) {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv(rundir.HomeVariable, filepath.Join(t.TempDir(), "none"))
	t.Setenv(binary.SourceVariable, "")
	t.Chdir(t.TempDir())
}

// say runs a command in this process, and gives what it prints.
func say(t *testing.T, args ...string) (string, error) {
	t.Helper()
	root := newCommand()
	var out bytes.Buffer
	root.SetArgs(args)
	root.SetOut(&out)
	root.SetErr(&out)
	err := root.ExecuteContext(t.Context())
	return out.String(), err
}

// What starts nothing works with the binary alone.
func TestOutside_CommandsThatStartNothing_NeedNoCheckout(t *testing.T) {
	outside(t)
	for _, c := range []struct{ command, want string }{
		{"--help", "Landscapes that stay:"},
		{"version", "Kubernetes v1."},
		{"scenarios list", "seed-loss "},
		{"scenarios list -l tier=smoke -o wide", "loss/seed-loss.yaml"},
		{"scenarios list seed-loss -o yaml", "purpose: loss"},
		{"scenarios list --fault loseCluster --oracle SingleWriter", "seed-loss "},
		{"scenarios show seed-loss", "loseCluster: {cluster: a}"},
		{"schema scenario", `"$ref": "#/$defs/Scenario"`},
		{"schema extension", `"$ref": "#/$defs/ExtensionDeployment"`},
		{"validate seed-loss", "scenario seed-loss is fine"},
		{"validate -l tier=smoke", "scenario planned-migration is fine"},
		{"plan seed-loss", "settleWithin: "},
		{"dashboards boards", "docker compose -f boards/live.yml up"},
		{"init mine", "transplant run ./mine.yaml"},
		{"validate ./mine.yaml", "scenario mine is fine"},
		{"init other --folder scenarios", "scenarios/other.yaml is there"},
		{"scenarios list", "other  mine  scenarios  If a seed dies"}, // of the folder, now that there is one
		{"validate other seed-loss", "scenario seed-loss is fine"},
		{"list", "There is no landscape"},
		{"list -o json", "[]"},
		{"down", "is not up"},
		{"explain webhooks --help", "transplant explain webhooks"},
		{"completion bash", "bash completion"},
	} {
		if out, err := say(t, strings.Fields(c.command)...); err != nil || !strings.Contains(out, c.want) {
			t.Errorf("transplant %s: %v, want %q in\n%s", c.command, err, c.want, out)
		}
	}
	for command, want := range map[string]string{
		"scenarios list --fault loseClusters":                               `did you mean "loseCluster"?`,
		"scenarios list ./mine.yaml --fault loseCluster --oracle NoOrphans": "none of them has loseCluster and NoOrphans",
		"dashboards boards": "give a new folder",
		"init mine":         "it is there already",
		"init My_Scenario":  "is a DNS label",
		"run sed-loss":      `did you mean "seed-loss"?`,
		"schema extensions": `did you mean "extension"?`,
		"status":            "start it with",
		"logs":              "start it with",
		"trend none.jsonl":  "no such file",
		"judge none":        "find a run in",
	} {
		if out, err := say(t, strings.Fields(command)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("transplant %s: %v, want %q\n%s", command, err, want, out)
		}
	}
	if entries, err := os.ReadDir("."); err != nil || len(entries) != 4 {
		t.Errorf("want boards, mine.yaml, its schema and scenarios alone, got %v, %v", entries, err)
	}
	mine, err := os.ReadFile("mine.yaml")
	_, schema, _ := strings.Cut(strings.SplitN(string(mine), "\n", 2)[0], "# yaml-language-server: $schema=")
	written, unread := os.ReadFile(schema)
	if printed, unprinted := say(t, "schema", "scenario"); errors.Join(err, unread, unprinted) != nil ||
		string(written) != printed {
		t.Errorf("mine.yaml names the schema %q: %v", schema, errors.Join(err, unread, unprinted))
	}
	if found, err := filepath.Glob("boards/grafana/*.json"); err != nil || len(found) < 4 {
		t.Errorf("the dashboards are %v, %v", found, err)
	}
}

func TestVersion_JSON_NamesAllVersions(t *testing.T) {
	t.Parallel()
	out, err := say(t, "version", "-o", "json")
	var got map[string]any
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"transplant", "commit", "go", "platform", "kubernetes", "etcd"} {
		if text, is := got[key].(string); !is || text == "" {
			t.Errorf("%s is %v", key, got[key])
		}
	}
	if err != nil || !strings.HasPrefix(got["etcd"].(string), "v3.") {
		t.Errorf("%v: %s", err, out)
	}
}

// A build by "go install" has no checkout to ask: its version names the commit.
func TestVersion_Commit_OfEachWayToBuild(t *testing.T) {
	t.Parallel()
	checkout := []debug.BuildSetting{{Key: "vcs.revision", Value: "fbf0609a1b2c44"}, {Key: "vcs.modified", Value: "true"}}
	const pseudo = "v0.0.0-20261129174848-fbf0609a1b2c"
	for name, c := range map[string]struct {
		built debug.BuildInfo
		want  string
	}{
		"go install of a branch": {debug.BuildInfo{Main: debug.Module{Version: pseudo}},
			"transplant v0.1.0 (commit fbf0609a1b2c)"},
		"go install of a branch after a tag": {debug.BuildInfo{Main: debug.Module{
			Version: "v0.1.1-0.20261129174848-fbf0609a1b2c"}}, "transplant v0.1.0 (commit fbf0609a1b2c)"},
		"go install of a tag": {debug.BuildInfo{Main: debug.Module{Version: "v0.1.0"}}, "transplant v0.1.0"},
		"a checkout with changes": {debug.BuildInfo{Main: debug.Module{Version: pseudo + "+dirty"}, Settings: checkout},
			"transplant v0.1.0 (commit fbf0609a1b2c44, with changes)"},
		"a checkout": {debug.BuildInfo{Main: debug.Module{Version: pseudo}, Settings: checkout[:1]},
			"transplant v0.1.0 (commit fbf0609a1b2c44)"},
		"a build without any": {debug.BuildInfo{Main: debug.Module{Version: "(devel)"}},
			"transplant v0.1.0 (commit unknown)"},
	} {
		if got := named("v0.1.0", &c.built); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// People see their own commands; programs are for those who ask.
func TestHelp_Programs_OnlyWithAll(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args  []string
		shown bool
	}{{[]string{"--help"}, false}, {[]string{"--help", "--all"}, true}, {[]string{"--all", "-h"}, true}, {nil, false}} {
		out, err := say(t, c.args...)
		if err != nil || strings.Contains(out, "\n  gardenlet ") != c.shown || !strings.Contains(out, "\n  run ") {
			t.Errorf("%v: %v, programs shown: want %t\n%s", c.args, err, c.shown, out)
		}
		if strings.Contains(out, "supervise ") {
			t.Errorf("%v shows a command that is for nobody:\n%s", c.args, out)
		}
	}
}

// Every command for people has a page, and programs have none.
func TestMan_EveryCommandForPeople_HasAPage(t *testing.T) {
	outside(t)
	if out, err := say(t, "man", "pages"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	looked := 0
	var walk func(command *cobra.Command)
	walk = func(command *cobra.Command) {
		page, err := os.ReadFile("pages/" + strings.ReplaceAll(command.CommandPath(), " ", "-") + ".1")
		if command.Hidden != errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is hidden: %t; its page: %v", command.CommandPath(), command.Hidden, err)
		}
		if looked++; command.Name() == "run" && !regexp.MustCompile(`\ntimeline\.jsonl {2,}everything`).Match(page) {
			t.Errorf("the page of run has no table:\n%s", page)
		}
		for _, child := range command.Commands() {
			if !command.Hidden {
				walk(child)
			}
		}
	}
	walk(newCommand())
	if looked < 40 {
		t.Errorf("%d commands were looked at", looked)
	}
}

// What prints data prints it for programs, too: the commands that the changelog names, and no others.
func TestOutput_CommandsThatPrintData_HaveTheFlag(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("../../CHANGELOG.md")
	_, text, _ := strings.Cut(string(content), "`-o json|yaml` on ")
	text, _, _ = strings.Cut(text, ";")
	var want, got []string
	for _, found := range regexp.MustCompile("`([a-z ]+)`").FindAllStringSubmatch(text, -1) {
		want = append(want, "transplant "+found[1])
	}
	var walk func(command *cobra.Command)
	walk = func(command *cobra.Command) {
		for _, child := range command.Commands() {
			walk(child)
		}
		if flag := command.Flags().Lookup("output"); flag != nil && flag.Value.Type() == "FORM" {
			if name := command.CommandPath(); !strings.HasPrefix(name, "transplant explain ") {
				got = append(got, name)
			} else if !slices.Contains(got, "transplant explain") {
				got = append(got, "transplant explain") // all of its topics
			}
		}
	}
	walk(newCommand())
	slices.Sort(want)
	slices.Sort(got)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v: commands with -o are %v, want %v", err, got, want)
	}
}

// Every command for people has an example.
func TestHelp_EveryCommandForPeople_HasAnExample(t *testing.T) {
	t.Parallel()
	looked := 0
	var walk func(command *cobra.Command)
	walk = func(command *cobra.Command) {
		if command.Hidden || command.Name() == "completion" || command.Name() == "help" {
			return
		}
		for _, child := range command.Commands() {
			walk(child)
		}
		if command.HasSubCommands() {
			return
		}
		looked++
		if !strings.Contains(command.Example, "transplant "+strings.TrimPrefix(command.CommandPath(), "transplant ")) {
			t.Errorf("%s has no example of itself: %q", command.CommandPath(), command.Example)
		}
	}
	walk(newCommand())
	if looked < 20 {
		t.Errorf("%d commands were looked at", looked)
	}
}

// A shell completes values.
func TestCompletion_Values(t *testing.T) {
	outside(t)
	if err := os.MkdirAll("out/seed-loss", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("out/seed-loss/timeline.jsonl", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(os.Getenv(rundir.HomeVariable), "kept"), 0o700); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"run ":                           "seed-loss\t",
		"run seed-loss ":                 "planned-migration\t",
		"validate --backend ":            "kind\n",
		"scenarios show ":                "seed-loss\t",
		"scenarios list --fault ":        "loseCluster\n",
		"scenarios list --oracle ":       "SingleWriter\n",
		"judge ":                         "out/seed-loss\n",
		"status -o ":                     "json\n",
		"up --backend ":                  "embedded\n",
		"up --from ":                     ":16\n", // folders
		"run --from ":                    ":16\n",
		"run --landscape ":               "kept\tended\n",
		"run -l ":                        "tier=smoke\n",
		"checkpoint make ":               ":16\n",
		"checkpoint make kept ":          "seed-loss\t",
		"checkpoint save ":               ":16\n",
		"dashboards up ":                 "out/seed-loss\n",
		"contract explain ":              "B4\t",
		"contract x.yaml --clause ":      "B4\n",
		"contract x.yaml --clause A1,":   "A1,B4\n",
		"contract x.yaml --kind ":        "Network\n",
		"contract init --kinds Network,": "Network,Infrastructure\n",
		"explain status --output ":       "yaml\n",
		"validate --output ":             "yaml\n",
		"schema ":                        "scenario\n",
	} {
		fields := append([]string{"__complete"}, strings.Split(line, " ")...)
		out, err := say(t, fields...)
		if err != nil || !strings.Contains("\n"+out, "\n"+want) {
			t.Errorf("transplant %s<TAB>: %v, want %q in\n%s", line, err, want, out)
		}
	}
}

// A gardenlet of a seed with such a name would run control planes that run elsewhere.
func TestUp_SeedWhoseNameMeansSomethingElse_StartsNothing(t *testing.T) {
	outside(t)
	for _, name := range []string{"outside", "cloud", "shoots"} {
		if _, err := say(t, "up", "--seeds=a,"+name); err == nil || !strings.Contains(err.Error(),
			`name the seed "`+name+`": it means something else`) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := os.Stat(os.Getenv(rundir.HomeVariable)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("something was made: %v", err)
	}
}
