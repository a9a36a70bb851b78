package scenario_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"

	"github.com/transplant-sim/transplant/clusters/link/requests"
	"github.com/transplant-sim/transplant/clusters/link/wire"
	"github.com/transplant-sim/transplant/sim/fault"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/oracle"
	"github.com/transplant-sim/transplant/sim/scenario"
	"github.com/transplant-sim/transplant/sim/scenario/reference"
	"github.com/transplant-sim/transplant/sim/step"
	"github.com/transplant-sim/transplant/sim/world"
)

const (
	folder = "../../scenarios"
	docs   = "../../docs"
)

func contentOf(t *testing.T, path ...string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// catalogue are the files of the catalogue: each lies in the folder of its purpose.
func catalogue(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	return files
}

func TestTheCatalogueIsFine(t *testing.T) {
	t.Parallel()
	index, guards := contentOf(t, folder, "README.md"), contentOf(t, docs, "guards.md")
	files := map[string]string{} // by name
	for _, file := range catalogue(t) {
		s, err := scenario.ParseFile(file)
		if err != nil {
			t.Error(err)
			continue
		}
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		if s.Metadata.Name != name {
			t.Errorf("%s: the name is %q", file, s.Metadata.Name)
		}
		tier := s.Metadata.Labels["tier"]
		if !slices.Contains([]string{"smoke", "core", "nightly"}, tier) {
			t.Errorf("%s has the tier %q, want smoke, core or nightly (docs/ci.md#tiers)", file, tier)
		}
		if other, taken := files[name]; taken {
			t.Errorf("%s has the name of %s", file, other)
		}
		files[name] = file
		link := filepath.Base(filepath.Dir(file)) + "/" + name + ".yaml"
		if row := fmt.Sprintf("| [%s](%s) | %s | ", name, link, tier); strings.Count(index, row) != 1 {
			t.Errorf("scenarios/README.md has %d rows that begin with %q, want 1", strings.Count(index, row), row)
		}
		if row := fmt.Sprintf("| [%s](../scenarios/%s) | ", name, link); strings.Count(guards, row) != 1 {
			t.Errorf("docs/guards.md has %d rows that begin with %q, want 1", strings.Count(guards, row), row)
		}
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if first, _, _ := strings.Cut(string(content), "\n"); first != forEditors {
			t.Errorf("%s begins with %q, want %q", file, first, forEditors)
		}
		if counted := countedEpoch.Find(content); counted != nil {
			t.Errorf("%s: %q is true only in a landscape without an earlier run: epochs go on where a shoot of "+
				"that name was", file, counted)
		}
	}
}

// forEditors is the first line of each file: where the schema is, which TestTheSchemaIsUpToDate reads there.
const forEditors = "# yaml-language-server: $schema=../scenario.schema.json"

// A file that lies elsewhere is in no tier, and nobody runs it. A folder is a purpose that several scenarios share.
func TestCatalogue_Files_LieInFoldersByPurpose(t *testing.T) {
	t.Parallel()
	all := 0
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(path)) {
			all++
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	purposes := map[string]int{}
	for _, file := range catalogue(t) {
		purposes[filepath.Dir(file)]++
	}
	if listed := len(catalogue(t)); all != listed {
		t.Errorf("%d of %d scenario files lie in %s/PURPOSE/NAME.yaml", listed, all, folder)
	}
	for purpose, files := range purposes {
		if files < 2 {
			t.Errorf("%s holds one scenario: put it where others have its purpose", purpose)
		}
	}
}

// countedEpoch is what compares an epoch with a number; whether there is a claim at all is another question.
var countedEpoch = regexp.MustCompile(
	`epoch *(?:[=!<>]=?|in *\[) *[1-9]|[1-9]\d* *[=!<>]=? *shoot\([^)]*\)\.(?:state\.)?epoch`)

// faultsWithoutScenario are those that no scenario of the catalogue has, and forms of faults, by the field that makes
// each. Only the tests of sim/fault, clusters/link and sim/cloud show what they do.
var faultsWithoutScenario = []string{
	// How often a cloud that throttles refuses depends on how fast it is asked, which no scenario can promise.
	"cloudThrottle", "CloudThrottle.burst", "CloudThrottle.perSecond",
	// What narrows a fault down, and the words in its answers.
	"Calls.from", "Calls.nth", "CloudError.reason",
	"FailRequest.message", "FailRequest.reason", "Objects.group",
	// The other form of each stands in a scenario.
	"Cut.refuse", "DamageBackup.last=Any", "DamageBackup.missing", "DelayRequest.at=Before", "HoldRequest.at=Before",
}

// forms of faults that are chosen by a value.
var forms = map[reflect.Type][]string{
	reflect.TypeFor[wire.Direction]():  {string(wire.Both), string(wire.ToServer), string(wire.ToClient)},
	reflect.TypeFor[requests.Moment](): {string(requests.Before), string(requests.After)},
	reflect.TypeFor[world.Backup]():    {string(world.AnyBackup), string(world.FullBackup), string(world.DeltaBackup)},
}

// A fault that stands in no scenario has never harmed the product.
func TestCatalogue_EveryFormOfEveryFault_IsInAScenario(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	for _, kind := range fault.Kinds() {
		used[kind] = false
	}
	formsOf(reflect.TypeFor[step.Inject](), reflect.Value{}, used)
	for _, file := range catalogue(t) {
		s, err := scenario.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range s.Spec.Steps {
			if one.Fault != nil {
				kind, _ := one.Fault.Spec.Fault()
				used[kind] = true
				formsOf(reflect.TypeFor[step.Inject](), reflect.ValueOf(*one.Fault), used)
			}
		}
	}
	for _, form := range slices.Sorted(maps.Keys(used)) {
		if excused := slices.Contains(faultsWithoutScenario, form); used[form] == excused {
			t.Errorf("%s: in a scenario %t, listed as being in none %t", form, used[form], excused)
		}
	}
	for _, form := range faultsWithoutScenario {
		if _, is := used[form]; !is {
			t.Errorf("%s, listed as being in no scenario, is no form of a fault", form)
		}
	}
}

// formsOf notes the fields of a fault and of the parts that faults share: those that could be set, and whether they
// are.
func formsOf(of reflect.Type, v reflect.Value, used map[string]bool) {
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
		if v.IsValid() {
			v = v.Elem()
		}
	}
	for _, f := range reflect.VisibleFields(of) {
		if len(f.Index) > 1 || !f.IsExported() {
			continue
		}
		var value reflect.Value
		if v.IsValid() {
			value = v.FieldByIndex(f.Index)
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		name = of.Name() + "." + name
		switch chosen := forms[f.Type]; {
		case hasForms(f.Type):
			formsOf(f.Type, value, used)
		case chosen == nil:
			used[name] = used[name] || value.IsValid() && !value.IsZero()
		default: // the first is what is meant when nothing is given
			for i, form := range chosen {
				said := v.IsValid() && (value.String() == form || i == 0 && value.IsZero())
				used[name+"="+form] = used[name+"="+form] || said
			}
		}
	}
}

// hasForms distinguishes a part of a fault from what is written as one value.
func hasForms(of reflect.Type) bool {
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	ours := []string{reflect.TypeFor[fault.Spec]().PkgPath(), reflect.TypeFor[requests.Turn]().PkgPath(),
		reflect.TypeFor[step.When]().PkgPath()}
	return of.Kind() == reflect.Struct && slices.Contains(ours, of.PkgPath())
}

// What plan prints is a scenario that says the same.
func TestPrintedScenariosSayTheSame(t *testing.T) {
	t.Parallel()
	for _, file := range catalogue(t) {
		s, err := scenario.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text, err := scenario.Print(s)
		if err != nil {
			t.Fatal(err)
		}
		again, err := scenario.Parse("printed", text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if diff := cmp.Diff(s, again); diff != "" {
			t.Errorf("%s (-file +printed):\n%s", file, diff)
		}
	}
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	s, err := scenario.ParseFile(filepath.Join(folder, "migration", "planned-migration.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	settings := s.Spec.Landscape.Settings
	got := []time.Duration{settings.OwnerCheckInterval.Duration, settings.OwnerCheckTimeout.Duration,
		settings.DNSTTL.Duration, s.Spec.SettleWithin.Duration}
	want := []time.Duration{time.Second, 5 * time.Second, time.Second, time.Minute}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

const right = `apiVersion: transplant.dev/v1alpha1
kind: Scenario
metadata:
  name: right
spec:
  why: it is
  landscape:
    seeds: [{name: a}, {name: b}]
    shoots:
    - {name: alpha, seed: a, workers: 3}
    - {name: sleepy, seed: a, hibernated: true}
    - {name: later, seed: b}
  steps:
  - load: {shoot: alpha, writesPerSecond: 20}
  - migrate: {shoot: alpha, to: b}
  - fault: {name: cut, cut: {actor: gardenlet-a, target: garden}}
  - expect: {that: "shoot('alpha').seed == 'b'", within: 60s}
  - heal: cut
  - create: {shoot: later}
  always: [SingleWriter]
  measure: {apiDowntime: {max: 20s}, rpo: {max: 2s}}
`

const cutOfRight = "cut: {actor: gardenlet-a, target: garden}"

// printedAgain prints a scenario and reads it again; both must say the same.
func printedAgain(t *testing.T, s *scenario.Scenario) (text []byte) {
	t.Helper()
	text, err := scenario.Print(s)
	if err != nil {
		t.Fatal(err)
	}
	again, err := scenario.Parse("printed", text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if diff := cmp.Diff(s, again); diff != "" {
		t.Errorf("(-file +printed):\n%s", diff)
	}
	return text
}

// A file with every form of fault that has a form of its own is printed as it was read.
func TestPrintedFaultsSayTheSame(t *testing.T) {
	t.Parallel()
	for _, fault := range []string{
		"chaos: {cluster: a, object: {apiVersion: chaos-mesh.org/v1alpha1, kind: PodChaos, metadata: {name: x}, spec: " +
			"{selector: {namespaces: [garden]}, mode: one, action: pod-failure, duration: 5s}}}",
		"when: {request: {actor: gardenlet-a, target: garden, kind: Shoot, nth: 2, at: After}}, loseCluster: {cluster: a}",
		"when: {that: \"shoot('alpha').healthy\"}, crash: {actor: nodes, target: shoots, victim: {shoot: alpha, program: " +
			"etcd}}",
		"growObject: {cluster: a, apiVersion: v1, kind: Secret, namespace: n, name: s, size: 1Mi}",
		"loseObject: {cluster: garden, apiVersion: core.gardener.cloud/v1beta1, kind: ShootState, namespace: n, name: s}",
		"damageBackup: {shoot: alpha, last: Delta, missing: true}",
	} {
		s, err := scenario.Parse("f", []byte(strings.Replace(right, cutOfRight, fault, 1)))
		if err != nil {
			t.Fatal(err)
		}
		printedAgain(t, s)
	}
}

func TestLabels_WhatKubernetesRefuses_IsAMistake(t *testing.T) {
	t.Parallel()
	for labels, want := range map[string]string{
		"[core]":                 "labels: is a list; must be a mapping such as {key: value}",
		"core":                   `labels: is "core"; must be a mapping`,
		"":                       "labels: is empty; must be a mapping",
		"{tier: 1}":              `labels[tier]: is "1"; must be a string`,
		"{tier: }":               "labels[tier]: is empty; must be a string",
		"{tier: a, tier: b}":     "labels[tier]: is given twice; leave one out",
		"{a b: core}":            `labels[a b]: Invalid value: "a b": name part must consist of`,
		"{Example.org/a: core}":  `labels[Example.org/a]: Invalid value: "Example.org/a": prefix part a lowercase`,
		"{example.org/a: co re}": `labels[example.org/a]: Invalid value: "co re": a valid label must be`,
		"{[a]: core}":            "labels: has a key that is a list; must be a string",
		"{tier: &a core}":        "labels[tier]: anchors and aliases are not supported",
	} {
		text := strings.Replace(right, "name: right", "name: right\n  labels: "+labels, 1)
		_, err := scenario.Parse("f", []byte(text))
		if err == nil {
			t.Errorf("%s is accepted", labels)
			continue
		}
		if got := withoutColumns.ReplaceAllString(err.Error(), "$1"); !strings.HasPrefix(got, "f:5: metadata."+want) {
			t.Errorf("%s: got\n%s\nwant\nf:5: metadata.%s", labels, got, want)
		}
	}
}

// So are labels, and each point of a sweep has those of its scenario.
func TestPrintedLabels_SayTheSame(t *testing.T) {
	t.Parallel()
	const labels = "name: right\n  labels: {tier: core, example.org/slow: \"\", \"9\": a_b.c}"
	text := strings.Replace(right, "name: right", labels, 1)
	text = strings.Replace(text, cutOfRight, "crash: {actor: gardenlet-a, target: garden}", 1)
	text += "  sweep: [{fault: cut, upTo: 2}]\n"
	s, err := scenario.Parse("f", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"tier": "core", "example.org/slow": "", "9": "a_b.c"}
	points, err := s.Expand()
	if err != nil || len(points) != 2 {
		t.Fatalf("%d points, %v", len(points), err)
	}
	for _, one := range append(points, s) {
		if diff := cmp.Diff(want, one.Metadata.Labels); diff != "" {
			t.Errorf("%s (-want +got):\n%s", one.Metadata.Name, diff)
		}
		printedAgain(t, one)
	}
}

// So are changes of objects, with whatever is in them.
func TestPrintedPatchesSayTheSame(t *testing.T) {
	t.Parallel()
	steps := "- heal: cut" + `
  - patch: {shoot: alpha, merge: {metadata: {annotations: {a: "1", b: null}}, spec: {purpose: production}},
      refused: "no: \"reason\""}
  - patch: {cloudProfile: transplant, merge: {
      spec: {kubernetes: {versions: [{version: 1.36.3, expirationDate: 2030-01-02T03:04:05Z}]}}}}
  - apply: {shoot: alpha, object: {apiVersion: v1, kind: Service,
      metadata: {name: web, namespace: default, finalizers: null}, spec: {ports: [{port: 80}]}}}
  - remove: {shoot: alpha, object: {apiVersion: v1, kind: Service, metadata: {name: web, namespace: default}}}`
	s, err := scenario.Parse("f", []byte(strings.Replace(right, "- heal: cut", steps, 1)))
	if err != nil {
		t.Fatal(err)
	}
	text := printedAgain(t, s)
	for _, want := range []string{"finalizers: null", "b: null", "2030-01-02T03:04:05Z", "no: \"reason\""} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}

// withoutColumns of a text of mistakes: which column it is has a test of its own.
var withoutColumns = regexp.MustCompile(`(?m)^(f:\d+):\d+`)

func TestMistakesNameTheirColumn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ old, new, want string }{
		"of an unknown field": {"writesPerSecond: 20", "writePerSecond: 20",
			"f:14:26: spec.steps[0].load.writePerSecond: unknown field"},
		"of a wrong value":      {"to: b", "to: c", `f:15:33: spec.steps[1].migrate.to: Unsupported value: "c"`},
		"of what lacks a field": {", to: b}", "}", "f:15:14: spec.steps[1].migrate.to: is missing"},
		"of the second key":     {"kind: Scenario", "kind: Scenario\nkind: Scenario", "f:3:1: kind: is given twice"},
		"of a document":         {"kind: Scenario", "kind: Scenario\n---\nkind: Scenario", "f:3:1: is a second document"},
		"unless it is not YAML": {"why: it is", "why: 'it is", "f:"},
	} {
		_, err := scenario.Parse("f", []byte(strings.Replace(right, c.old, c.new, 1)))
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: got\n%v\nwant\n%s", name, err, c.want)
		}
	}
}

// A zero that would silently become a default, or mean all, is refused, by the schema too; one that means something is
// taken.
func TestZeros(t *testing.T) {
	t.Parallel()
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join(folder, "scenario.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ old, new, want string }{
		{"writesPerSecond: 20", "writesPerSecond: 0",
			`f:14: spec.steps[0].load.writesPerSecond: is "0", which would count as not given; must be above 0, or be left out`},
		{"within: 60s", "within: 0s", `f:17: spec.steps[3].expect.within: is "0s", which would count as not given`},
		{"heal: cut", "heal: cut\n  - select: {shoot: alpha, nodes: 0}", `f:19: spec.steps[5].select.nodes: is "0", which`},
		{"heal: cut", "heal: cut\n  - wait: {until: \"true\", for: 0s}", `f:19: spec.steps[5].wait.for: is "0s", which`},
		{"heal: cut", "heal: cut\n  - reschedule: {shoot: alpha, endsIn: 1h, lasts: 0s}",
			`f:19: spec.steps[5].reschedule.lasts: is "0s", which`},
		{"create: {shoot: later", "create: {shoot: later, within: 0m", `f:19: spec.steps[5].create.within: is "0m", which`},
		{cutOfRight, "failRequest: {actor: gardenlet-a, target: garden, status: 503, nth: 0}",
			`f:16: spec.steps[2].fault.failRequest.nth: is "0", which`},
		{cutOfRight, "closeWatch: {actor: gardenlet-a, target: garden, times: 0}",
			`f:16: spec.steps[2].fault.closeWatch.times: is "0", which`},
		{cutOfRight, "slowCloud: {actor: extensions-a, delay: 1s, from: 0}",
			`f:16: spec.steps[2].fault.slowCloud.from: is "0", which`},
		{"seeds: [", "settings: {dnsTTL: 0s, restoresAtOnce: 0}\n    seeds: [",
			"f:8: spec.landscape.settings.dnsTTL: is \"0s\", which would count as not given; must be above 0, or be left " +
				"out\nf:8: spec.landscape.settings.restoresAtOnce: is \"0\", which"},
		{"always:", "settleWithin: 0s\n  always:", `f:20: spec.settleWithin: is "0s", which`},

		{"workers: 3", "workers: 0, objects: 0", ""},
		{"rpo: {max: 2s}", "rpo: {max: 0s}, lostWrites: {max: 0}", ""},
		{cutOfRight, "latency: {actor: gardenlet-a, target: garden, delay: 1s, jitter: 0s}", ""},
		{cutOfRight, "closeWatch: {actor: gardenlet-a, target: garden, life: 0s}", ""},
		{cutOfRight, "kill: {actor: gardenlet-a, restartDelay: 0s}", ""},
	} {
		text := strings.Replace(right, c.old, c.new, 1)
		_, err := scenario.Parse("f", []byte(text))
		switch {
		case text == right:
			t.Errorf("%s: the text was not changed", c.new)
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.new, err)
		case c.want != "" && (err == nil || !strings.HasPrefix(withoutColumns.ReplaceAllString(err.Error(), "$1"), c.want)):
			t.Errorf("%s: got\n%v\nwant\n%s", c.new, err, c.want)
		}
		if err := schema.Validate(asJSON(t, []byte(text))); (err == nil) != (c.want == "") {
			t.Errorf("%s: the schema says %v", c.new, err)
		}
	}
}

// mistakes are texts of the right scenario with one thing wrong.
var mistakes = map[string]struct{ old, new, want string }{
	"unknown field": {"writesPerSecond: 20", "writePerSecond: 20",
		`f:14: spec.steps[0].load.writePerSecond: unknown field; did you mean "writesPerSecond"? known are shoot, ` +
			`writesPerSecond, keepConnection`},
	"unknown step": {"- migrate:", "- move:",
		`f:15: spec.steps[1].move: unknown field; did you mean "remove"? known are load, migrate, expect`},
	"two steps in one": {"- heal: cut", "- heal: cut\n    wake: {shoot: sleepy}",
		`f:18: spec.steps[4]: Invalid value: "wake, heal": an item of steps is one step: begin a line with "- " for each`},
	"no step in an item": {"- heal: cut", "- {}",
		`f:18: spec.steps[4]: Required value: exactly one step must be given: load, migrate`},
	"wrong type": {"workers: 3", "workers: three",
		`f:10: spec.landscape.shoots[0].workers: is "three"; must be a whole number`},
	"too many workers": {"workers: 3", "workers: 3000000000000",
		`f:10: spec.landscape.shoots[0].workers: Invalid value: 3000000000000: must be from 0 to 100`},
	"more than is counted": {cutOfRight,
		"closeWatch: {actor: gardenlet-a, target: garden, times: 3000000000000}",
		`f:16: spec.steps[2].fault.closeWatch.times: is "3000000000000"; must be from 0 to 2147483647`},
	"more than can be read": {"workers: 3", "workers: 30000000000000000000",
		`f:10: spec.landscape.shoots[0].workers: is "30000000000000000000"; must be from 0 to 2147483647`},
	"a number in quotes": {"writesPerSecond: 20", "writesPerSecond: \"20\"",
		`f:14: spec.steps[0].load.writesPerSecond: is "20"; must be a whole number, without quotes: 20`},
	"a truth in quotes": {"hibernated: true", "hibernated: 'true'",
		`f:11: spec.landscape.shoots[1].hibernated: is "true"; must be true or false, without quotes: true`},
	"a list for a mapping": {"{shoot: alpha, to: b}", "[alpha, b]",
		`f:15: spec.steps[1].migrate: is a list; must be a mapping with shoot, to`},
	"a mapping for a list": {"[SingleWriter]", "{SingleWriter: true}",
		`f:20: spec.always: is a mapping; must be a list`},
	"a bare number as duration": {"within: 60s", "within: 60",
		`f:17: spec.steps[3].expect.within: is "60"; must be a duration such as "30s"; did you mean "60s"?`},
	"a quoted number as duration": {"within: 60s", "within: \"1.5\"",
		`f:17: spec.steps[3].expect.within: is "1.5"; must be a duration such as "30s"; did you mean "1.5s"?`},
	"a word as duration": {"within: 60s", "within: soon",
		`f:17: spec.steps[3].expect.within: is "soon"; must be a duration such as "30s"`},
	"samples of what has none": {"within: 60s", "within: 60s, samples: 3",
		`f:17: spec.steps[3].expect.samples: Invalid value: 3: samples are of answerTimes, which the condition does ` +
			`not ask for: leave it out`},
	"too many samples": {"shoot('alpha').seed == 'b'\", within: 60s", "shoot('alpha').answerTimes == []\", samples: 100",
		`f:17: spec.steps[3].expect.samples: Invalid value: 100: must be from 1 to 25; leave it out to observe until ` +
			`the condition is true`},
	"a negative duration": {"within: 60s", "within: -60s",
		`f:17: spec.steps[3].expect.within: is "-60s"; must be above 0, or be left out`},
	"a negative delay": {cutOfRight,
		"latency: {actor: gardenlet-a, target: garden, delay: 1s, jitter: -1s}",
		`f:16: spec.steps[2].fault.latency.jitter: is "-1s"; must not be negative`},
	"two faults of a name": {"- heal: cut",
		"- fault: {name: cut, wipeEtcd: {shoot: alpha}}\n  - heal: cut",
		`f:18: spec.steps[4].fault.name: Duplicate value: "cut": an earlier fault has this name; give this one another`},
	"a verb of no request": {cutOfRight,
		"crash: {actor: gardenlet-a, target: garden, verbs: [write]}",
		`f:16: spec.steps[2].fault.crash.verbs[0]: Unsupported value: "write": supported values: "create", "update", ` +
			`"patch", "apply", "delete", "deletecollection"`},
	"an unknown verb": {cutOfRight,
		"delayRequest: {actor: gardenlet-a, target: garden, delay: 1s, verbs: [get, read]}",
		`f:16: spec.steps[2].fault.delayRequest.verbs[1]: Unsupported value: "read": supported values: "get", "list", ` +
			`"watch", "create"`},
	"a kind misspelt": {cutOfRight,
		"crash: {actor: extensions-a, target: a, kind: Infrastructur}",
		`f:16: spec.steps[2].fault.crash.kind: Invalid value: "Infrastructur": there is no such kind; did you mean ` +
			`"Infrastructure"? give the group of a kind of your own`},
	"an object's kind misspelt": {cutOfRight,
		"loseObject: {cluster: a, apiVersion: v1, kind: Secrt, name: s}",
		`f:16: spec.steps[2].fault.loseObject.kind: Invalid value: "Secrt": there is no such kind; did you mean "Secret"?`},
	"a type of no operation": {"shoot('alpha').seed == 'b'",
		"shoot('alpha').lastOperation.type == 'Migration'",
		`f:17: spec.steps[3].expect.that: Unsupported value: "Migration": supported values: "Create", "Reconcile", ` +
			`"Delete", "Migrate", "Restore"`},
	"a state of no operation": {"shoot('alpha').seed == 'b'",
		"shoot('alpha').lastOperation.state in ['Succeeded', 'Fine']",
		`f:17: spec.steps[3].expect.that: Unsupported value: "Fine": supported values: "Processing", "Succeeded", "Error",` +
			` "Failed", "Pending", "Aborted"`},
	"a state of no maintenance": {"shoot('alpha').seed == 'b'",
		"shoot('alpha').maintenance.state != 'Done'",
		`f:17: spec.steps[3].expect.that: Unsupported value: "Done": supported values: "Processing", "Succeeded", "Failed"`},
	"a status of no condition": {"shoot('alpha').seed == 'b'",
		"shoot('alpha').conditions['ControlPlaneHealthy'] == 'true'",
		`f:17: spec.steps[3].expect.that: Unsupported value: "true": supported values: "True", "False", "Unknown", ` +
			`"Progressing"`},
	"a condition misspelt": {"shoot('alpha').seed == 'b'",
		"shoot('alpha').conditions['ControlPlaneHealty'] == 'True'",
		`f:17: spec.steps[3].expect.that: Invalid value: "shoot('alpha').conditions['ControlPlaneHealty'] == 'True'": ` +
			`shoot(…).conditions has no "ControlPlaneHealty"; did you mean "ControlPlaneHealthy"? known are APIServerAvailable`},
	"an unknown error code": {"shoot('alpha').seed == 'b'",
		"'ERR_INFRA_UNAUTHENTICATE' in shoot('alpha').errorCodes",
		`f:17: spec.steps[3].expect.that: Unsupported value: "ERR_INFRA_UNAUTHENTICATE": supported values: ` +
			`"ERR_INFRA_UNAUTHENTICATED"`},
	"a kind that nobody can do": {cutOfRight,
		"chaos: {cluster: a, object: {apiVersion: chaos-mesh.org/v1alpha1, kind: DNSChaos, metadata: {name: x}, spec: " +
			"{action: random, mode: one, selector: {}}}}",
		`f:16: spec.steps[2].fault.chaos.object.kind: Invalid value: "DNSChaos": no backend can do it: Chaos Mesh is ` +
			`installed without its DNS server; must be BlockChaos, HTTPChaos, IOChaos, JVMChaos, NetworkChaos, PodChaos, ` +
			`Schedule, StressChaos, TimeChaos or Workflow`},
	"a number as name": {"name: right", "name: 7",
		`f:4: metadata.name: is "7"; must be a string`},
	"nothing for a value": {"name: right", "name:",
		`f:4: metadata.name: is empty; must be a string`},
	"a missing field": {", to: b}", "}",
		`f:15: spec.steps[1].migrate.to: is missing; it must be given`},
	"given twice": {"kind: Scenario", "kind: Scenario\nkind: Scenario",
		`f:3: kind: is given twice; leave one out`},
	"unknown seed": {"to: b", "to: c",
		`f:15: spec.steps[1].migrate.to: Unsupported value: "c": supported values: "b"`},
	"unknown shoot": {"migrate: {shoot: alpha", "migrate: {shoot: alfa",
		`f:15: spec.steps[1].migrate.shoot: Unsupported value: "alfa": supported values: "alpha", "sleepy"`},
	"unknown actor": {"actor: gardenlet-a", "actor: gardenlet-c",
		`f:16: spec.steps[2].fault.cut.actor: Unsupported value: "gardenlet-c": supported values: "control-planes-a"`},
	"the observer": {"actor: gardenlet-a", "actor: observer",
		`f:16: spec.steps[2].fault.cut.actor: Unsupported value: "observer"`},
	"unknown target": {"target: garden", "target: moon",
		`f:16: spec.steps[2].fault.cut.target: Unsupported value: "moon": supported values: "a", "cloud", "garden", ` +
			`"shoot/alpha"`},
	"another seed's actor": {"target: garden", "target: b",
		`f:16: spec.steps[2].fault.cut.target: Unsupported value: "b": supported values: "a", "cloud", "garden"`},
	"a link that nobody uses": {"actor: gardenlet-a", "actor: user",
		`f:16: spec.steps[2].fault.cut.target: Unsupported value: "garden": supported values: "shoot/alpha", "shoot/later"`},
	"an actor misspelt": {"actor: gardenlet-a", "actr: gardenlet-a",
		`f:16: spec.steps[2].fault.cut.actr: unknown field; did you mean "actor"?`},
	"a cluster misspelt": {cutOfRight, "loseCluster: {clustr: a}",
		`f:16: spec.steps[2].fault.loseCluster.clustr: unknown field; did you mean "cluster"? known are cluster, wipe`},
	"no cluster": {cutOfRight, "loseCluster: {wipe: true}",
		`f:16: spec.steps[2].fault.loseCluster.cluster: is missing; it must be given`},
	"an unknown cluster": {cutOfRight, "loseCluster: {cluster: moon}",
		`f:16: spec.steps[2].fault.loseCluster.cluster: Unsupported value: "moon": supported values: "garden", "a", "b"`},
	"an unknown fault": {cutOfRight, "explode: {cluster: a}",
		`f:16: spec.steps[2].fault.explode: unknown field; known are name, loseCluster`},
	"a fault of an unknown shoot": {cutOfRight, "wipeEtcd: {shoot: omega}",
		`f:16: spec.steps[2].fault.wipeEtcd.shoot: Unsupported value: "omega"`},
	"a user that is killed": {cutOfRight, "kill: {actor: user}",
		`f:16: spec.steps[2].fault.kill.actor: Unsupported value: "user": supported values: "extensions-a"`},
	"a garden that is wiped": {cutOfRight, "loseCluster: {cluster: garden, wipe: true}",
		`f:16: spec.steps[2].fault.loseCluster.wipe: Invalid value: true: nothing can bring a wiped garden back`},
	"an impossible status": {cutOfRight,
		"failRequest: {actor: gardenlet-a, target: garden, status: 42}",
		`f:16: spec.steps[2].fault.failRequest: Invalid value: "Fail(42,)": status 42: must be from 400 to 599`},
	"a CEL syntax error": {"shoot('alpha').seed == 'b'", "shoot('alpha').healthy &&",
		`f:17: spec.steps[3].expect.that: Invalid value: "shoot('alpha').healthy &&": column 26: Syntax error`},
	"two faults in one": {"cut: {actor: gardenlet-a, target: garden}",
		"reset: {actor: user, target: shoots}, cut: {actor: user, target: shoots}",
		`f:16: spec.steps[2].fault: Invalid value: "cut, reset": a step begins one fault: give each a step and a name of ` +
			`its own`},
	"no fault in a step": {", " + cutOfRight, "",
		`f:16: spec.steps[2].fault: Required value: exactly one fault must be given: loseCluster, freezeCluster`},
	"impossible direction": {"target: garden}", "target: garden, direction: Up}",
		`unknown direction "Up"`},
	"a wrong field of Chaos Mesh": {cutOfRight,
		"chaos: {cluster: a, object: {apiVersion: chaos-mesh.org/v1alpha1, kind: PodChaos, spec: {modus: one}}}",
		`f:16: spec.steps[2].fault.chaos.object.spec.modus: unknown field; did you mean "mode"? known are selector, mode, ` +
			`value`},
	"a wrong kind of Chaos Mesh": {cutOfRight,
		"chaos: {cluster: a, object: {apiVersion: chaos-mesh.org/v1alpha1, kind: MoodChaos}}",
		`f:16: spec.steps[2].fault.chaos.object.kind: is "MoodChaos"; must be BlockChaos, HTTPChaos, IOChaos, ` +
			`JVMChaos, NetworkChaos, PodChaos, Schedule, StressChaos, TimeChaos or Workflow`},
	"Chaos Mesh with an anchor": {cutOfRight,
		"chaos: {cluster: a, object: {apiVersion: &x chaos-mesh.org/v1alpha1, kind: PodChaos}}",
		`f:16: spec.steps[2].fault.chaos.object: anchors and aliases are not supported`},
	"Chaos Mesh as a list": {cutOfRight, "chaos: {cluster: a, object: []}",
		`f:16: spec.steps[2].fault.chaos.object: is a list; must be a mapping`},
	"an unknown field of Chaos Mesh in its line": {"{name: cut, " + cutOfRight + "}",
		"\n      name: cut\n      chaos:\n        cluster: a\n        object:\n          apiVersion: " +
			"chaos-mesh.org/v1alpha1\n          kind: PodChaos\n          metadata: {name: x}\n          spec:\n            " +
			"mode: one\n            selector:\n              labelSelector:\n                a: b\n            action: pod-kill",
		`f:27: spec.steps[2].fault.chaos.object.spec.selector.labelSelector: unknown field; did you mean ` +
			`"labelSelectors"? known are namespaces, fieldSelectors, labelSelectors`},
	"a wrong type of Chaos Mesh in its line": {"{name: cut, " + cutOfRight + "}",
		"\n      name: cut\n      chaos:\n        cluster: a\n        object:\n          apiVersion: " +
			"chaos-mesh.org/v1alpha1\n          kind: PodChaos\n          metadata: {name: x}\n          spec:\n            " +
			"mode: one\n            selector: {}\n            action: pod-kill\n            gracePeriod: many",
		`f:28: spec.steps[2].fault.chaos.object.spec.gracePeriod: is "many"; must be a whole number`},
	"a text for labels of Chaos Mesh": {"{name: cut, " + cutOfRight + "}",
		"\n      name: cut\n      chaos:\n        cluster: a\n        object:\n          apiVersion: " +
			"chaos-mesh.org/v1alpha1\n          kind: PodChaos\n          metadata: {name: x}\n          spec:\n            " +
			"mode: one\n            selector:\n              labelSelectors: x\n            action: pod-kill",
		`f:27: spec.steps[2].fault.chaos.object.spec.selector.labelSelectors: is "x"; must be a mapping`},
	"a fixed mode without value": {cutOfRight,
		"chaos: {cluster: a, object: {apiVersion: chaos-mesh.org/v1alpha1, kind: PodChaos, metadata: {name: x}, spec: " +
			"{selector: {}, action: pod-kill, mode: fixed}}}",
		`f:16: spec.steps[2].fault.chaos.object.spec.value: Required value: mode fixed needs how many pods, such as "1"`},
	"a percentage of Chaos Mesh": {cutOfRight,
		"chaos: {cluster: a, object: {apiVersion: chaos-mesh.org/v1alpha1, kind: PodChaos, metadata: {name: x}, spec: " +
			"{selector: {}, action: pod-kill, mode: fixed-percent, value: few}}}",
		`f:16: spec.steps[2].fault.chaos.object.spec.value: Invalid value: "few": mode fixed-percent needs a percentage ` +
			`from 1 to 100, such as "50"`},
	"a fixed target without value": {cutOfRight,
		"chaos: {cluster: a, object: {apiVersion: chaos-mesh.org/v1alpha1, kind: NetworkChaos, metadata: {name: x}, spec: " +
			"{selector: {}, action: delay, mode: all, delay: {latency: 1s}, target: {mode: fixed, selector: {}}}}}",
		`f:16: spec.steps[2].fault.chaos.object.spec.target.value: Required value: mode fixed needs how many pods`},
	"no duration of Chaos Mesh": {cutOfRight,
		"chaos: {cluster: a, object: {apiVersion: chaos-mesh.org/v1alpha1, kind: PodChaos, metadata: {name: x}, spec: " +
			"{selector: {}, action: pod-failure, mode: one, duration: 5 minutes}}}",
		`f:16: spec.steps[2].fault.chaos.object.spec.duration: Invalid value: "5 minutes": must be a duration such as "30s"`},
	"no latency of Chaos Mesh": {cutOfRight,
		"chaos: {cluster: a, object: {apiVersion: chaos-mesh.org/v1alpha1, kind: NetworkChaos, metadata: {name: x}, spec: " +
			"{selector: {}, action: delay, mode: one, delay: {latency: fast}}}}",
		`f:16: spec.steps[2].fault.chaos.object.spec.delay.latency: Invalid value: "fast": must be a duration such as "30s"`},
	"a delay without latency": {cutOfRight,
		"chaos: {cluster: a, object: {apiVersion: chaos-mesh.org/v1alpha1, kind: NetworkChaos, metadata: {name: x}, spec: " +
			"{selector: {}, action: delay, mode: one, delay: {}}}}",
		`f:16: spec.steps[2].fault.chaos.object.spec: Invalid value: "delay": delay needs a latency, such as "1s"`},
	"no rate of Chaos Mesh": {cutOfRight,
		"chaos: {cluster: a, object: {apiVersion: chaos-mesh.org/v1alpha1, kind: NetworkChaos, metadata: {name: x}, spec: " +
			"{selector: {}, action: bandwidth, mode: one, bandwidth: {rate: fast, limit: 1, buffer: 1}}}}",
		`f:16: spec.steps[2].fault.chaos.object.spec.bandwidth.rate: Invalid value: "fast": must be a whole number and a ` +
			`unit, such as "1mbps"`},
	"an unknown target for Chaos Mesh": {cutOfRight,
		"chaos: {cluster: a, object: {apiVersion: chaos-mesh.org/v1alpha1, kind: NetworkChaos, metadata: {name: x}, spec: " +
			"{selector: {}, mode: one, action: partition, externalTargets: [moon]}}}",
		`f:16: spec.steps[2].fault.chaos.object.spec.externalTargets[0]: Unsupported value: "moon"`},
	"two triggers": {"{name: cut, cut:", "{name: cut, when: {}, cut:",
		`f:16: spec.steps[2].fault.when: Invalid value: "": must have either that, a condition, or request, an API event`},
	"a trigger's error": {"{name: cut, cut:", "{name: cut, when: {that: \"shoot('omega').healthy\"}, cut:",
		`f:16: spec.steps[2].fault.when.that: Unsupported value: "shoot('omega')"`},
	"a CEL error": {"shoot('alpha').seed == 'b'", "shoot('alpha').sed == 'b'",
		`f:17: spec.steps[3].expect.that: Invalid value: "shoot('alpha').sed == 'b'": column 15: undefined field 'sed'`},
	"a CEL type error": {"shoot('alpha').seed == 'b'", "shoot('alpha').seed",
		`gives string; must give true or false`},
	"unknown shoot in CEL": {"shoot('alpha').seed == 'b'", "shoot('omega').seed == 'b'",
		`Unsupported value: "shoot('omega')": supported values: "alpha", "sleepy", "later"`},
	"unknown destination": {"shoot('alpha').seed == 'b'", "shoot('alpha').seed == 'z'",
		`f:17: spec.steps[3].expect.that: Unsupported value: "z": supported values: "a", "b"`},
	"unknown destinations": {"shoot('alpha').seed == 'b'", "shoot('alpha').specSeed in ['a', 'z']",
		`f:17: spec.steps[3].expect.that: Unsupported value: "z": supported values: "a", "b"`},
	"unknown seed in CEL": {"shoot('alpha').seed == 'b'", "seed('z').shoots == 0",
		`Unsupported value: "seed('z')": supported values: "a", "b"`},
	"already there": {"to: b", "to: a",
		`f:15: spec.steps[1].migrate.to: Invalid value: "a": is the seed that the shoot is bound to at this step`},
	"load on a sleeping shoot": {"load: {shoot: alpha", "load: {shoot: sleepy",
		`f:14: spec.steps[0].load.shoot: Invalid value: "sleepy": is hibernated at this step: wake it before`},
	"not created yet": {"migrate: {shoot: alpha, to: b}", "migrate: {shoot: later, to: a}",
		`f:15: spec.steps[1].migrate.shoot: Invalid value: "later": does not exist at this step`},
	"heal with nothing to heal": {"- fault: {name: cut, " + cutOfRight + "}\n  ", "",
		`f:17: spec.steps[3].heal: Invalid value: "cut": no fault stands before this step`},
	"sweep without a crash": {"always:", "sweep: [{fault: cut, upTo: 1}]\n  always:",
		`f:20: spec.sweep[0].fault: Invalid value: "cut": the scenario has no fault that is a crash or has when.request`},
	"a mistake that Chaos Mesh reports twice": {
		cutOfRight, `chaos: {cluster: a, object: {apiVersion: chaos-mesh.org/v1alpha1, kind: PodChaos, metadata: {name: ` +
			`x}, spec: {action: pod-kill, mode: fixed, value: "0", selector: {}}}}`,
		`f:16: spec.steps[2].fault.chaos.object.spec.value: Invalid value: "0"`,
	},
	"heal without fault": {"- heal: cut", "- heal: cat",
		`f:18: spec.steps[4].heal: Unsupported value: "cat": supported values: "cut"`},
	"unknown oracle": {"[SingleWriter]", "[SingleReader]",
		`f:20: spec.always[0]: Unsupported value: "SingleReader": supported values: "CloudUntouched"`},
	"an oracle twice": {"[SingleWriter]", "[SingleWriter, SingleWriter]",
		`f:20: spec.always[1]: Duplicate value: "SingleWriter": leave one out`},
	"unknown measure": {"apiDowntime:", "downtime:",
		`f:21: spec.measure.downtime: unknown field; did you mean "apiDowntime"?`},
	"two shoots of a name": {"name: sleepy", "name: alpha",
		`f:11: spec.landscape.shoots[1].name: Duplicate value: "alpha": give this one another name`},
	"a bad name": {"name: right", "name: Right!", `f:4: metadata.name: Invalid value: "Right!"`},
	"a seed called garden": {"{name: b}]", "{name: b}, {name: garden}]",
		`f:8: spec.landscape.seeds[2].name: Invalid value: "garden": means something else on a landscape`},
	"a grace without renewal": {"seeds: [", "settings: {seedLossGracePeriod: 500ms}\n    seeds: [",
		`f:8: spec.landscape.settings.seedLossGracePeriod: Invalid value: "500ms": must be at least twice seedLeaseRenew, ` +
			`1s: else a seed that is well would count as lost between two renewals`},
	"a renewal beyond grace": {"seeds: [",
		"settings: {seedLeaseRenew: 5s, seedLossGracePeriod: 9s}\n    seeds: [",
		`f:8: spec.landscape.settings.seedLossGracePeriod: Invalid value: "9s": must be at least twice seedLeaseRenew, 5s`},
	"seven seeds": {"{name: b}]",
		"{name: b}, {name: c}, {name: d}, {name: e}, {name: f}, {name: g}]",
		`f:8: spec.landscape.seeds: Invalid value: 7: must be at most 6: a landscape has no addresses for more`},
	"no reason": {"why: it is", `why: ""`,
		`f:6: spec.why: Required value: a scenario says what it is for`},
	"another version": {"v1alpha1", "v1",
		`f:1: apiVersion: Unsupported value: "transplant.dev/v1": supported values: "transplant.dev/v1alpha1"`},
	"an anchor": {"metadata:", "metadata: &m", `anchors and aliases are not supported`},
	"no YAML":   {"metadata:", "metadata: [", `f:`},
	"two documents": {"kind: Scenario", "kind: Scenario\n---\nkind: Scenario",
		`is a second document; a file holds one scenario`},
	"a wait without reason": {"- heal: cut", "- heal: cut\n  - wait: {for: 1s}",
		`f:19: spec.steps[5].wait.because: Required value`},
	"a patch of no field": {"- heal: cut",
		"- heal: cut\n  - patch:\n      shoot: alpha\n      merge:\n        spec: {kubernetes: {versoin: x}}",
		`f:22: spec.steps[5].patch.merge.spec.kubernetes.versoin: Forbidden: there is no such field; did you mean ` +
			`"version"? known are clusterAutoscaler`},
	"a patch of no part": {"- heal: cut",
		"- heal: cut\n  - patch:\n      shoot: alpha\n      merge:\n        spec:\n          hibernaton:\n            " +
			"enabled: true", `f:23: spec.steps[5].patch.merge.spec.hibernaton: Forbidden: there is no such field; did you ` +
			`mean "hibernation"? known are addons`},
	"an object of no data": {"- heal: cut",
		"- heal: cut\n  - apply:\n      shoot: alpha\n      object:\n        apiVersion: v1\n        kind: ConfigMap\n    " +
			"    metadata: {name: web, namespace: default}\n        dat:\n          a: b",
		`f:25: spec.steps[5].apply.object.dat: Forbidden: there is no such field; did you mean "data"? known are kind, ` +
			`apiVersion, metadata, immutable, data, binaryData`},
	"a list for a mapping in an object": {"- heal: cut",
		"- heal: cut\n  - apply:\n      shoot: alpha\n      object:\n        apiVersion: v1\n        kind: ConfigMap\n    " +
			"    metadata: {name: web, namespace: default}\n        data: [a]",
		`f:25: spec.steps[5].apply.object.data: Invalid value: "a list": must be a mapping`},
	"a patch of a wrong type": {"- heal: cut",
		"- heal: cut\n  - patch:\n      shoot: alpha\n      merge:\n        spec:\n          kubernetes: {version: 1.36}",
		`f:23: spec.steps[5].patch.merge.spec.kubernetes.version: Invalid value: 1.36: must be a string, in quotes`},
	"a patch of the status": {"- heal: cut", "- heal: cut\n  - patch: {shoot: alpha, merge: {status: {}}}",
		`f:19: spec.steps[5].patch.merge.status: Unsupported value: "status": supported values: "metadata", "spec"`},
	"a patch that is a list": {"- heal: cut", "- heal: cut\n  - patch: {shoot: alpha, merge: []}",
		`f:19: spec.steps[5].patch.merge: is a list; must be a mapping`},
	"a patch that migrates": {"- heal: cut",
		"- heal: cut\n  - patch: {shoot: alpha, merge: {spec: {seedName: b}}}",
		`f:19: spec.steps[5].patch.merge.spec.seedName: Invalid value: "b": is changed by the step migrate`},
	"a guard that lapses": {"  steps:",
		"    settings: {ownerCheckInterval: 1s, ownerCheckTimeout: 1500ms}\n  steps:",
		`f:13: spec.landscape.settings.ownerCheckTimeout: Invalid value: "1.5s": must be at least twice ` +
			`ownerCheckInterval, 1s`},
	"a taint of no key": {"seeds: [{name: a}", "seeds: [{name: a, taints: [{key: a b}]}",
		`spec.landscape.seeds[0].taints[0].key: Invalid value: "a b"`},
	"an object of no field": {"- heal: cut",
		"- heal: cut\n  - apply:\n      shoot: alpha\n      object:\n        apiVersion: v1\n        kind: Service\n      " +
			"  metadata: {name: web, namespace: default}\n        spec:\n          tpye: LoadBalancer",
		`f:26: spec.steps[5].apply.object.spec.tpye: Forbidden: there is no such field; did you mean "type"? known are ` +
			`ports, selector`},
	"an object of no kind": {"- heal: cut",
		"- heal: cut\n  - remove: {shoot: alpha, object: {apiVersion: v1, kind: Servcie, metadata: {name: web}}}",
		`f:19: spec.steps[5].remove.object.kind: Invalid value: "Servcie": there is no such kind in v1`},
	"a quota of what is put": {cutOfRight, "cloudQuota: {kind: records, max: 1}",
		`f:16: spec.steps[2].fault.cloudQuota.kind: Unsupported value: "records": supported values: "networks", "subnets"`},
	"a quota of nothing": {cutOfRight, `cloudQuota: {kind: "", max: 1}`,
		`f:16: spec.steps[2].fault.cloudQuota.kind: Unsupported value: "": supported values: "networks"`},
	"calls of no kind": {cutOfRight, `cloudError: {kinds: [""], code: Depleted}`,
		`f:16: spec.steps[2].fault.cloudError.kinds[0]: Unsupported value: "": supported values: "networks"`},
	"calls of no verb": {cutOfRight, `slowCloud: {verbs: [""], delay: 1s}`,
		`f:16: spec.steps[2].fault.slowCloud.verbs[0]: Unsupported value: "": supported values: "create"`},
	"a field of no names": {cutOfRight,
		"growObject: {cluster: a, apiVersion: v1, kind: Secret, name: x, size: 1Mi, field: ..}",
		`f:16: spec.steps[2].fault.growObject.field: Invalid value: "..": must be names with a dot between each two, such ` +
			`as data.growth`},
	"Chaos Mesh of no name": {cutOfRight,
		"chaos: {cluster: a, object: {apiVersion: chaos-mesh.org/v1alpha1, kind: PodChaos, spec: {action: pod-kill, mode: " +
			"one, selector: {}}}}",
		`f:16: spec.steps[2].fault.chaos.object.metadata.name: Required value: an object of Chaos Mesh has a name`},
	"a condition about nothing": {"shoot('alpha').seed == 'b'", "1 == 1",
		`f:17: spec.steps[3].expect.that: Invalid value: "1 == 1": asks for nothing on the landscape, and is always the ` +
			`same; ask for a shoot, a seed or the cloud, such as shoot('alpha').healthy`},
	"a condition that is true": {"shoot('alpha').seed == 'b'", "true",
		`f:17: spec.steps[3].expect.that: Invalid value: "true": asks for nothing`},
	"a condition never evaluated": {"shoot('alpha').seed == 'b'", "[1, 2].exists(n, 1 / 0 == n)",
		`f:17: spec.steps[3].expect.that: Invalid value: "[1, 2].exists(n, 1 / 0 == n)": asks for nothing`},
	"a wait for nothing": {"- heal: cut", "- heal: cut\n  - wait: {until: \"2 > 1\"}",
		`f:19: spec.steps[5].wait.until: Invalid value: "2 > 1": asks for nothing`},
	"an RTO without a fault": {
		"- fault: {name: cut, " + cutOfRight +
			"}\n  - expect: {that: \"shoot('alpha').seed == 'b'\", within: 60s}\n  - heal: cut\n  - create: {shoot: later}\n " +
			" always: [SingleWriter]\n  measure: {",
		"always: [SingleWriter]\n  measure: {rto: {max: 30s}, ",
		`f:17: spec.measure.rto: Invalid value: "rto": cannot be measured without a fault`,
	},
	"a goal without load": {"- load: {shoot: alpha, writesPerSecond: 20}\n  ", "",
		`f:20: spec.measure.rpo: Invalid value: "rpo": cannot be measured without a load step`},
}

func TestMistakes(t *testing.T) {
	t.Parallel()
	if _, err := scenario.Parse("f", []byte(right)); err != nil {
		t.Fatal(err)
	}
	for name, c := range mistakes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := strings.Replace(right, c.old, c.new, 1)
			if text == right {
				t.Fatal("the text was not changed")
			}
			_, err := scenario.Parse("f", []byte(text))
			found := scenario.Mistakes{}
			if !errors.As(err, &found) {
				t.Fatalf("error %v, want mistakes", err)
			}
			if !strings.Contains(withoutColumns.ReplaceAllString(found.Error(), "$1"), c.want) ||
				strings.Contains(found[0].Error(), "\n") {
				t.Errorf("got\n%v\nwant one line with\n%s", err, c.want)
			}
			if len(found) != 1 && name != "no YAML" && name != "not created yet" {
				t.Errorf("%d mistakes, want one:\n%v", len(found), err)
			}
		})
	}
}

// Mistakes in several parts of a file are reported together. What may be the consequence of another is not.
func TestMistakes_InSeveralParts_AreReportedTogether(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		replace []string // old, new, …
		want    []string // beginnings
	}{
		"fields of all parts": {
			[]string{"name: right", "name: Right", "why: it is", "whi: it is", "hibernated", "hibernatd", "to: b", "to: c",
				"writesPer", "writePer", "[SingleWriter]", "[SingleReader]", "rpo:", "rto: {max: soon}, rpo:"},
			[]string{`f:4: metadata.name: Invalid value: "Right"`, `f:6: spec.whi: unknown field; did you mean "why"?`,
				`f:11: spec.landscape.shoots[1].hibernatd: unknown field; did you mean "hibernated"?`,
				"f:14: spec.steps[0].load.writePerSecond: unknown field",
				`f:15: spec.steps[1].migrate.to: Unsupported value: "c": supported values: "a", "b"`,
				`f:20: spec.always[0]: Unsupported value: "SingleReader": `,
				`f:21: spec.measure.rto.max: is "soon"; must be a duration`},
		},
		"a fault that cannot be read, and its heal": {
			[]string{"target: garden", "targt: garden", "within: 60s", "within: 60"},
			[]string{"f:16: spec.steps[2].fault.cut.targt: unknown field", `f:17: spec.steps[3].expect.within: is "60"`},
		},
		"a create that cannot be read": {
			[]string{"create: {shoot", "create: {shot", "heal: cut", "load: {shoot: later, writesPerSecond: 1}"},
			[]string{"f:19: spec.steps[5].create.shot: unknown field"},
		},
		"names of seeds": {
			[]string{"{name: b}]", "{nam: b}]", "SingleWriter", "SingleWritter", "kind: Scenario", "kind: Scenarios"},
			[]string{`f:2: kind: Unsupported value: "Scenarios": supported values: "Scenario"; did you mean "Scenario"?`,
				`f:8: spec.landscape.seeds[1].nam: unknown field`, `f:20: spec.always[0]: Unsupported value: "SingleWritter"`},
		},
		"the list of shoots": {
			[]string{"shoots:", "shots:", "rpo: {max: 2s}", "lostWrites: {max: 100001}"},
			[]string{"f:9: spec.landscape.shots: unknown field", "f:21: spec.measure.lostWrites.max: Invalid value: 100001"},
		},
		"the landscape as a whole": {
			[]string{"landscape:", "landscap:"},
			[]string{`f:7: spec.landscap: unknown field; did you mean "landscape"?`},
		},
		"the metadata": {
			[]string{"metadata:", "metadat:"},
			[]string{`f:3: metadat: unknown field; did you mean "metadata"?`},
		},
		"all": {
			[]string{"spec:", "spek:"},
			[]string{`f:5: spek: unknown field; did you mean "spec"?`},
		},
		"the landscape and the steps": {
			[]string{"shoots:", "settings: {dnsTTL: 1500ms}\n    shoots:", "migrate: {shoot: alpha", "migrate: {shoot: alfa",
				"workers: 3", "workers: 101"},
			[]string{`f:9: spec.landscape.settings.dnsTTL: Invalid value`, `f:11: spec.landscape.shoots[0].workers: Invalid`,
				`f:16: spec.steps[1].migrate.shoot: Unsupported value: "alfa": supported values: "alpha", "sleepy", "later"; ` +
					`did you mean "alpha"?`},
		},
		"the steps as a whole, and their sweep": {
			[]string{"steps:", "step:", "measure:", "sweep: [{fault: cut, upTo: 1}]\n  measur:"},
			[]string{`f:13: spec.step: unknown field; did you mean "steps"?`, "f:22: spec.measur: unknown"},
		},
		"a step of two verbs, and what follows": {
			[]string{"- fault: {name: cut,", "- heal: x\n    fault: {name: cut,"},
			[]string{`f:16: spec.steps[2]: Invalid value: "fault, heal"`},
		},
		"a condition": {
			[]string{"shoot('alpha').seed", "shoot('alpa').seed"},
			[]string{`f:17: spec.steps[3].expect.that: Unsupported value: "shoot('alpa')": supported values: "alpha", ` +
				`"sleepy", "later"; did you mean "alpha"?`},
		},
		"a kind of Chaos Mesh": {
			[]string{cutOfRight, chaosOf("PodChoas", "")},
			[]string{`f:16: spec.steps[2].fault.chaos.object.kind: is "PodChoas"; must be BlockChaos, HTTPChaos, ` +
				`IOChaos, JVMChaos, NetworkChaos, PodChaos, Schedule, StressChaos, TimeChaos or Workflow; did you mean ` +
				`"PodChaos"?`},
		},
	} {
		_, err := scenario.Parse("f", []byte(strings.NewReplacer(c.replace...).Replace(right)))
		if err == nil {
			t.Errorf("%s: is accepted", name)
			continue
		}
		got := strings.Split(withoutColumns.ReplaceAllString(err.Error(), "$1"), "\n")
		if !slices.EqualFunc(got, c.want, strings.HasPrefix) {
			t.Errorf("%s: got\n%v\nwant\n%s", name, err, strings.Join(c.want, "\n"))
		}
	}
}

// A fault needs what it is to harm. It may wait for its moment, or hit once the cluster is back.
func TestCheck_FaultsWhileAClusterIsDown(t *testing.T) {
	t.Parallel()
	const (
		lost   = "fault: {name: fire, loseCluster: {cluster: a}}"
		frozen = "fault: {name: fire, freezeCluster: {cluster: a}}"
		gone   = "fault: {name: fire, loseCluster: {cluster: garden}}"
		cut    = "fault: {name: cut, cut: {actor: gardenlet-a, target: garden}}"
		killed = "fault: {name: x, kill: {actor: gardenlet-a, restartDelay: 1h}}"
		isLost = `cluster "a" is lost by the fault "fire" at this step: heal it before`
		silent = `f:17:37: spec.steps[3].fault.cut.actor: Invalid value: "gardenlet-a": has no traffic that it ` +
			`could hit: cluster "a" is lost by the fault "fire" at this step, and not healed before this fault is; ` +
			`heal "fire" before`
	)
	for name, c := range map[string]struct {
		steps []string
		want  string
	}{
		"lost-twice": {[]string{lost, "fault: {name: x, loseCluster: {cluster: a, wipe: true}}"},
			"f:17:45: spec.steps[3].fault.loseCluster.cluster: Forbidden: " + isLost},
		"lost-and-frozen": {[]string{lost, "fault: {name: x, freezeCluster: {cluster: a}}"},
			"freezeCluster.cluster: Forbidden: " + isLost},
		"a-dead-actor": {[]string{lost, "fault: {name: x, kill: {actor: gardenlet-a}}"}, "kill.actor: Forbidden: " +
			isLost},
		"a-dead-program": {[]string{lost, "fault: {name: x, freeze: {cluster: a, program: etcd}}"},
			"freeze.cluster: Forbidden: " + isLost},
		"a-dead-garden": {[]string{gone, "fault: {name: x, kill: {actor: garden-controller-manager}}", "heal: fire"},
			`kill.actor: Forbidden: cluster "garden" is lost by the fault "fire"`},
		"a-lost-object": {[]string{lost,
			"fault: {name: x, loseObject: {cluster: a, apiVersion: v1, kind: Secret, name: s}}"},
			"loseObject.cluster: Forbidden: " + isLost},
		"a-frozen-object": {[]string{frozen,
			"fault: {name: x, loseObject: {cluster: a, apiVersion: v1, kind: Secret, name: s}}"},
			`cluster "a" is frozen by the fault "fire" at this step`},
		"frozen-twice": {[]string{frozen, "fault: {name: x, freezeCluster: {cluster: a}}"},
			`cluster "a" is frozen by the fault "fire"`},
		"frozen-and-lost": {[]string{frozen, "fault: {name: y, loseCluster: {cluster: a}}", "heal: fire",
			"fault: {name: x, kill: {actor: gardenlet-a}}"}, `cluster "a" is lost by the fault "y"`},
		"silent-actor":    {[]string{lost, cut}, silent},
		"healed-too-late": {[]string{lost, cut, "heal: cut", "heal: fire"}, silent},
		"silent-caller": {[]string{lost, "fault: {name: x, cloudError: {actor: extensions-a, code: Depleted}}"},
			`cloudError.actor: Invalid value: "extensions-a": has no traffic`},
		"silent-crash": {[]string{lost, "fault: {name: x, crash: {actor: gardenlet-a, target: garden}}"},
			`crash.actor: Invalid value: "gardenlet-a": has no traffic`},

		"killed-then-lost": {[]string{killed, lost, "heal: x"},
			`f:18:11: spec.steps[4].heal: Forbidden: cluster "a" is lost by the fault "fire" at this step, and what "x" has ` +
				`killed there cannot run again: heal "fire" before`},
		"killed-and-frozen": {[]string{frozen, killed, "heal: x"},
			`spec.steps[4].heal: Forbidden: cluster "a" is frozen by the fault "fire" at this step, and`},
		"frozen-to-the-end": {[]string{frozen, killed},
			`spec.steps[3].fault.kill: Forbidden: cluster "a" is frozen by the fault "fire" at this step, and`},
		"crashed-then-lost": {[]string{"fault: {name: x, crash: {actor: gardenlet-a, target: garden}}", lost, "heal: x"},
			`spec.steps[4].heal: Forbidden: cluster "a" is lost`},
		"a-frozen-program": {[]string{"fault: {name: x, kill: {cluster: a, program: etcd}}", frozen, "heal: x"},
			`spec.steps[4].heal: Forbidden: cluster "a" is frozen`},
		"a-lost-victim": {[]string{lost,
			"fault: {name: x, crash: {actor: gardenlet-b, target: garden, victim: {cluster: a, program: etcd}}}"},
			"spec.steps[3].fault.crash.victim: Forbidden: " + isLost},
		"a-lost-gardenlet": {[]string{lost,
			"fault: {name: x, crash: {actor: gardenlet-b, target: garden, victim: {actor: gardenlet-a}}}"},
			"spec.steps[3].fault.crash.victim: Forbidden: " + isLost},
		"a-silent-caller": {[]string{lost,
			"fault: {name: x, crash: {actor: gardenlet-a, target: garden, victim: {actor: gardenlet-b}}}"},
			`crash.actor: Invalid value: "gardenlet-a": has no traffic`},

		"killed-and-back":    {[]string{killed, lost, "heal: fire", "heal: x"}, ""},
		"killed-for-ever":    {[]string{killed, lost}, ""},
		"a-program-lost-too": {[]string{"fault: {name: x, kill: {cluster: a, program: etcd}}", lost, "heal: x"}, ""},
		"a-pod-lost-too":     {[]string{"fault: {name: x, kill: {shoot: alpha, program: etcd}}", lost, "heal: x"}, ""},
		"a-kill-that-waits": {[]string{"fault: {name: x, kill: {actor: gardenlet-a}, when: {that: \"seed('a').ready\"}}",
			lost, "heal: x"}, ""},
		"a-victim-elsewhere": {[]string{lost,
			"fault: {name: x, crash: {actor: gardenlet-b, target: garden, victim: {shoot: alpha, program: etcd}}}"}, ""},
		"a-frozen-victim": {[]string{frozen,
			"fault: {name: x, crash: {actor: gardenlet-b, target: garden, victim: {actor: gardenlet-a}}}", "heal: fire"}, ""},
		"after-the-heal": {[]string{lost, "heal: fire", "fault: {name: x, kill: {actor: gardenlet-a}}",
			"fault: {name: y, loseCluster: {cluster: a}}"}, ""},
		"another-seed": {[]string{lost, "fault: {name: x, kill: {actor: gardenlet-b}}",
			"fault: {name: y, loseCluster: {cluster: b}}"}, ""},
		"one-that-waits": {[]string{lost,
			"fault: {name: x, kill: {actor: gardenlet-a}, when: {that: \"seed('a').ready\"}}", "heal: fire"}, ""},
		"a-loss-that-waits": {[]string{"fault: {name: fire, loseCluster: {cluster: a}, when: {that: \"!seed('a').ready\"}}",
			"fault: {name: x, kill: {actor: gardenlet-a}}"}, ""},
		"hits-on-its-return":  {[]string{lost, cut, "heal: fire", "heal: cut"}, ""},
		"killed-while-frozen": {[]string{frozen, "fault: {name: x, kill: {actor: gardenlet-a}}", "heal: fire"}, ""},
		"a-lost-target":       {[]string{gone, cut, "heal: fire"}, ""},
		"callers-of-no-seed": {[]string{lost, "fault: {name: x, cloudError: {actor: nodes, code: Depleted}}",
			"fault: {name: y, cloudUnreachable: {}}"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := strings.Replace(right, "- fault: {name: cut, "+cutOfRight+"}", "- "+strings.Join(c.steps, "\n  - "), 1)
			text = text[:strings.LastIndex(text, "  - expect:")] + text[strings.Index(text, "  - create:"):]
			_, err := scenario.Parse("f", []byte(text))
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) ||
				strings.Contains(err.Error(), "\n")) {
				t.Errorf("got\n%v\nwant\n%s", err, c.want)
			}
		})
	}
}

// What is no scenario at all is refused in one line too.
func TestFilesThatAreNoScenario(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                          "f:1: is empty; must be a Scenario",
		"# nothing but a comment\n": "f:1: is empty; must be a Scenario",
		"null":                      "f:1:1: is empty; must be a mapping with apiVersion, kind, metadata, spec",
		"just text":                 `f:1:1: is "just text"; must be a mapping with apiVersion, kind, metadata, spec`,
		"[a]":                       "f:1:1: is a list; must be a mapping with apiVersion, kind, metadata, spec",
		"a: [\n":                    "f:1:4: not YAML: did not find expected node content; a bracket is left open: close it",
		"a: b\n\tc: d\n": "f:2:1: not YAML: found a tab character that violates indentation; indent with " +
			"spaces: line 2 has a tab",
		right + "---\n" + right:                        "f:22:1: is a second document; a file holds one scenario",
		"a: b\n" + strings.Repeat("# long\n", 200_000): "f:1: is larger than 1048576 bytes; a scenario is a page",
	} {
		if _, err := scenario.Parse("f", []byte(text)); err == nil || err.Error() != want {
			t.Errorf("%.40q: got\n%v\nwant\n%s", text, err, want)
		}
	}
}

// A mistake that shows only when a scenario is to be run is put where the field stands.
func TestMistakeIn(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "f.yaml")
	if err := os.WriteFile(file, []byte(right), 0o600); err != nil {
		t.Fatal(err)
	}
	got := scenario.MistakeIn(file, "spec.steps[2].fault.cut", "cannot be done").Error()
	if want := file + ":16:29: spec.steps[2].fault.cut: cannot be done"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestTheSchemaIsUpToDate(t *testing.T) {
	want, err := reference.Schema()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(folder, "scenario.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("run go generate ./sim/scenario (-generated +file):\n%s", diff)
	}
}

// asJSON reads YAML the way a schema validator wants it.
func asJSON(t *testing.T, text []byte) any {
	t.Helper()
	var document any
	if err := yaml.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	content, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// The page about writing scenarios begins with a whole one, which is in the catalogue as it is there.
func TestWritingAScenario_Example_IsThatOfTheCatalogue(t *testing.T) {
	t.Parallel()
	example := regexp.MustCompile("(?s)\\]\\(\\.\\./scenarios/([^)]+)\\):\n\n```yaml\n(.*?)```")
	m := example.FindStringSubmatch(contentOf(t, docs, "scenarios.md"))
	if m == nil {
		t.Fatal("docs/scenarios.md does not begin with a link to a scenario and its content")
	}
	if diff := cmp.Diff(contentOf(t, folder, m[1]), m[2]); diff != "" {
		t.Errorf("docs/scenarios.md shows %s otherwise (-file +page):\n%s", m[1], diff)
	}
}

// bare is a word of which the page says nothing.
var bare = regexp.MustCompile("(?m)^ *- `[^`]*`\\*?:? *$")

// The page for people has every word, and a line about each.
func TestTheReferenceIsUpToDate(t *testing.T) {
	want, err := reference.Page()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), contentOf(t, docs, "steps.md")); diff != "" {
		t.Errorf("run go generate ./sim/scenario (-generated +file):\n%s", diff)
	}
	for line := range strings.Lines(string(want)) {
		if columns := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); columns > 120 {
			t.Errorf("%d columns, want at most 120: %s", columns, line)
		}
	}
	for _, word := range bare.FindAllString(string(want), -1) {
		t.Errorf("nothing is said of %s: its Go field needs a comment", word)
	}
	for _, word := range slices.Concat(step.Verbs(), fault.Kinds(), oracle.Names(),
		[]string{"shoot('…')", "errorCodes", "dnsTTL", "nth", "apiDowntime"}) {
		if !strings.Contains(string(want), "- `"+word+"`") {
			t.Errorf("%s is not there", word)
		}
	}
	_, programs, _ := strings.Cut(string(want), "### Process\n")
	programs, _, _ = strings.Cut(programs, "###")
	for _, program := range slices.Concat(landscape.ClusterPrograms(), landscape.ControlPlanePrograms()) {
		if !strings.Contains(programs, program) {
			t.Errorf("%s is not among the programs", program)
		}
	}
}

func TestSchema_RightAndWrongFiles_AreDistinguished(t *testing.T) {
	t.Parallel()
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join(folder, "scenario.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range catalogue(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(asJSON(t, text)); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
	for _, wrong := range [][2]string{
		{"writesPerSecond: 20", "writePerSecond: 20"}, {"within: 60s", "within: 60"}, {"[SingleWriter]", "[SingleReader]"},
		{"name: right", "name: right\n  labels: {a b: core}"}, {"name: right", "name: right\n  labels: {tier: co re}"},
		{"name: right", "name: right\n  labels: {tier: 1}"},
		{"- heal: cut", "- heal: cut\n    wake: {shoot: sleepy}"}, {"v1alpha1", "v1"}, {"workers: 3", "workers: three"},
		{", to: b}", "}"},
	} {
		text := strings.Replace(right, wrong[0], wrong[1], 1)
		if err := schema.Validate(asJSON(t, []byte(text))); err == nil {
			t.Errorf("%q is accepted", wrong[1])
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(right))
	f.Add([]byte(strings.Replace(right, cutOfRight,
		"chaos: {cluster: a, object: {apiVersion: chaos-mesh.org/v1alpha1, kind: NetworkChaos, spec: {mode: one, action: "+
			"delay, delay: {latency: 1s}}}}", 1)))
	f.Add([]byte(strings.Replace(right, cutOfRight,
		"when: {request: {actor: user, target: a}}, failRequest: {actor: user, target: a, status: 500, every: 2}", 1)))
	for _, file := range catalogue(f) {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	for _, text := range []string{"", "{}", "[]", "a: &a [*a]", "spec: {steps: [{}]}", "? {a: b}\n: c", "!!binary aGk=",
		"\xff", "%YAML 9.9\n---\n", "kind: !!int x"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		s, err := scenario.Parse("f", content)
		if err != nil {
			mistakes := scenario.Mistakes{}
			if !errors.As(err, &mistakes) || len(mistakes) == 0 {
				t.Fatalf("error %v, want mistakes", err)
			}
			for _, m := range mistakes {
				if m.Line < 1 || strings.Contains(m.Error(), "\n") {
					t.Fatalf("mistake %q has line %d", m.Error(), m.Line)
				}
			}
			return
		}
		text, err := scenario.Print(s)
		if err != nil {
			t.Fatal(err)
		}
		again, err := scenario.Parse("printed", text)
		if err != nil {
			t.Fatalf("what was printed is refused: %v\n%s", err, text)
		}
		if diff := cmp.Diff(s, again); diff != "" {
			t.Fatalf("what was printed says something else:\n%s", diff)
		}
	})
}
