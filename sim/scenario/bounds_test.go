package scenario_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/transplant-sim/transplant/sim/fault/chaosmesh"
	"github.com/transplant-sim/transplant/sim/mergepatch"
	"github.com/transplant-sim/transplant/sim/scenario"
	"github.com/transplant-sim/transplant/sim/step/manifest"
)

// slowest is how much processor time a file may take, whatever stands in it.
const slowest = time.Second

// processor is the time that this goroutine has had, as long as it stays on its thread.
func processor(t *testing.T) time.Duration {
	t.Helper()
	const thread = 1 // RUSAGE_THREAD
	var used syscall.Rusage
	if err := syscall.Getrusage(thread, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// parsed is a file, and what it took to parse it.
func parsed(t *testing.T, content []byte) (took time.Duration, err error) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	began := processor(t)
	_, err = scenario.Parse("hostile.yaml", content)
	return processor(t) - began, err
}

// hostile are values that nobody means, as they stand in YAML, by the kinds of fields.
var hostile = map[string][]string{
	"duration": {`"-1s"`, `"1ns"`, `"2562047h"`, `"99999999h"`, `.nan`, `1e308`, `"soon"`, `""`},
	"number":   {`-1`, largestNumber, `9223372036854775807`, `99999999999999999999`, `.nan`, `1e308`, `"1"`, `1.5`},
	"quantity": {`"-1"`, `"1e308"`, `"9999999999Ei"`, `.nan`, `"lots"`},
	"text":     {`"../../x"`, `"` + strings.Repeat("x", 100_000) + `"`, `"a\0b"`, `"a\e[31m"`, `.nan`, `{}`},
	"switch":   {`maybe`, `1`, `"true"`},
	"list":     {`[` + strings.Repeat(`x, `, 100_000) + `x]`, `["../../x"]`, `["a\0b"]`, `{}`},
}

// accepted are hostile values that do no harm in whatever field, and why.
var accepted = map[string]string{
	`"1ns"`: "a deadline or a delay: it is over at once, and what is waited for is looked at once",
}

// acceptedNumber are fields that may be as large as numbers are, and why: none allots anything.
var acceptedNumber = map[string]string{
	"Turn.nth":                "requests are counted up to it",
	"Turn.from":               "requests are counted up to it",
	"Turn.every":              "requests are counted up to it",
	"Turn.times":              "requests that the fault hits are compared with it",
	"Calls.from":              "calls to the cloud are counted up to it",
	"Calls.times":             "calls that the fault hits are compared with it",
	"CloudQuota.max":          "what the cloud has is compared with it",
	"CloudThrottle.perSecond": "the limiter computes with it, and keeps one number",
	"CloudThrottle.burst":     "the limiter computes with it, and keeps one number",
	"Settings.restoresAtOnce": "the restores of a seed are compared with it",
	"Select.nodes":            "the nodes that there are, are compared with it",
}

const largestNumber = "2147483647"

// acceptedText are fields of any text, and why.
var acceptedText = map[string]string{
	"Spec.why":            "a sentence for people; pages escape it",
	"Wait.because":        "a sentence for people; pages escape it",
	"Spec.name":           "the name of a fault, for people and its heal; that of a sweep's crash is checked by the sweep",
	"FailRequest.reason":  "a text in the answer, written as JSON",
	"FailRequest.message": "a text in the answer, written as JSON",
	"CloudError.reason":   "a text in the answer, written as JSON",
	"CloudError.message":  "a text in the answer, written as JSON",
	"Patch.refused":       "a text that is looked for in an answer",
	"Process.program":     "is looked for among the programs that run",
}

// moreFaults are kinds of faults that stand in no scenario of the catalogue.
const moreFaults = `{apiVersion: transplant.dev/v1alpha1, kind: Scenario, metadata: {name: more}, spec: {
  why: all fields,
  landscape: {seeds: [{name: a}, {name: b}], shoots: [{name: alpha, seed: a}]},
  steps: [
    {fault: {name: t, cloudThrottle: {actor: extensions-a, perSecond: 1, burst: 1}}},
    {fault: {name: c, crash: {actor: gardenlet-a, target: garden, victim: {shoot: alpha, program: etcd}}}},
    {fault: {name: q, cloudQuota: {kind: machines, max: 3}}},
    {expect: {that: "shoot('alpha').healthy"}}]}}`

// spot is a struct in a file.
type spot struct {
	content []byte
	path    []any // names and indexes
	form    reflect.Type
}

// Whatever stands in a field, the answer is one that names the file, the field and what would be right, and it comes at
// once.
func TestBounds_EveryFieldOfAScenario(t *testing.T) {
	t.Parallel()
	spots := map[reflect.Type]spot{}
	var contents [][]byte
	for _, file := range catalogue(t) {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		contents = append(contents, content)
	}
	slices.SortStableFunc(contents, func(a, b []byte) int { return len(a) - len(b) }) // a short one is parsed soon
	for _, content := range append(contents, []byte(moreFaults)) {
		var root yaml.Node
		if err := yaml.Unmarshal(content, &root); err != nil {
			t.Fatal(err)
		}
		find(spots, content, root.Content[0], reflect.TypeFor[scenario.Scenario](), nil)
	}
	tried := map[string]bool{}
	for _, form := range slices.SortedFunc(maps.Keys(spots), func(a, b reflect.Type) int {
		return strings.Compare(a.String(), b.String())
	}) {
		for _, f := range fieldsOf(form) {
			name := f.owner.Name() + "." + f.name
			kind := kindOf(f.form)
			if tried[name] || kind == "" {
				continue
			}
			tried[name] = true
			for _, value := range hostile[kind] {
				try(t, spots[form], f.name, name, value)
			}
		}
	}
	missing := map[reflect.Type]bool{}
	reach(reflect.TypeFor[scenario.Scenario](), spots, missing)
	for form := range missing {
		t.Errorf("no file has a %s: add one to moreFaults", form)
	}
	for name := range acceptedNumber {
		if !tried[name] {
			t.Errorf("acceptedNumber has %s, which is no field that is tried", name)
		}
	}
	if len(tried) < 100 {
		t.Errorf("only %d fields were tried", len(tried))
	}
}

// remedy is what a message has that says what would be right.
var remedy = regexp.MustCompile(
	`(?i)must|supported values|give|leave|write|must have|takes|did you mean|there (is|are) no|add |begin a line|it ` +
		`stands at`)

func try(t *testing.T, at spot, member, name, value string) {
	t.Helper()
	short := value[:min(len(value), 30)]
	content := with(t, at, member, value)
	took, err := parsed(t, content)
	if took > slowest {
		t.Errorf("%s: %s took %s", name, short, took)
	}
	if err == nil {
		harmless := accepted[value] != "" || acceptedText[name] != "" ||
			value == largestNumber && acceptedNumber[name] != ""
		if !harmless {
			t.Errorf("%s: %s is accepted", name, short)
		}
		return
	}
	if value == largestNumber && acceptedNumber[name] != "" {
		t.Errorf("%s: %s is refused: take the field from acceptedNumber", name, short)
	}
	var mistakes scenario.Mistakes
	if !errors.As(err, &mistakes) {
		t.Fatalf("%s: %s: error %v", name, short, err)
	}
	where := pathOf(at.path)
	named := slices.ContainsFunc(mistakes, func(m scenario.Mistake) bool {
		return m.File == "hostile.yaml" && m.Line > 0 && strings.HasPrefix(m.Field, where) && remedy.MatchString(m.Message)
	})
	if !named || len(err.Error()) > 20_000 {
		t.Errorf("%s: %s: no mistake at %s with a remedy: %.1000v", name, short, where, err)
	}
}

// with is the content with another value of a field.
func with(t *testing.T, at spot, member, value string) []byte {
	t.Helper()
	var root, other yaml.Node
	if err := errors.Join(yaml.Unmarshal(at.content, &root), yaml.Unmarshal([]byte(value), &other)); err != nil {
		t.Fatal(err)
	}
	node := root.Content[0]
	for _, part := range at.path {
		switch part := part.(type) {
		case int:
			node = node.Content[part]
		case string:
			node = node.Content[indexOf(node, part)+1]
		}
	}
	if i := indexOf(node, member); i >= 0 {
		node.Content[i+1] = other.Content[0]
	} else {
		node.Content = append(node.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: member}, other.Content[0])
	}
	content, err := yaml.Marshal(&root)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func indexOf(mapping *yaml.Node, name string) int {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == name {
			return i
		}
	}
	return -1
}

func pathOf(path []any) string {
	text := ""
	for _, part := range path {
		if i, is := part.(int); is {
			text += fmt.Sprintf("[%d]", i)
		} else {
			text += "." + fmt.Sprint(part)
		}
	}
	return strings.TrimPrefix(text, ".")
}

// member is a field as files have it, and the type that declares it.
type member struct {
	name        string
	owner, form reflect.Type
}

func fieldsOf(form reflect.Type) []member {
	var all []member
	for i := range form.NumField() {
		f := form.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous:
			all = append(all, fieldsOf(f.Type)...)
		case name != "" && name != "-":
			all = append(all, member{name, form, f.Type})
		}
	}
	return all
}

var opaque = []reflect.Type{reflect.TypeFor[chaosmesh.Experiment](), reflect.TypeFor[mergepatch.Merge](),
	reflect.TypeFor[mergepatch.Part](),
	reflect.TypeFor[manifest.Object]()}

// kindOf a field; empty for structs, whose fields are tried by themselves.
func kindOf(form reflect.Type) string {
	for form.Kind() == reflect.Pointer {
		form = form.Elem()
	}
	switch {
	case form == reflect.TypeFor[metav1.Duration]():
		return "duration"
	case form == reflect.TypeFor[resource.Quantity]():
		return "quantity"
	case slices.Contains(opaque, form):
		return ""
	}
	return map[reflect.Kind]string{reflect.String: "text", reflect.Bool: "switch", reflect.Int: "number",
		reflect.Slice: "list"}[form.Kind()]
}

// inner is the struct of a field, or of each item of it; nil if it has none.
func inner(form reflect.Type) reflect.Type {
	for form.Kind() == reflect.Pointer || form.Kind() == reflect.Slice {
		form = form.Elem()
	}
	if form.Kind() != reflect.Struct || kindOf(form) != "" || slices.Contains(opaque, form) {
		return nil
	}
	return form
}

// find a place of each struct.
func find(spots map[reflect.Type]spot, content []byte, node *yaml.Node, form reflect.Type, path []any) {
	if _, known := spots[form]; !known {
		spots[form] = spot{content, slices.Clone(path), form}
	}
	for _, f := range fieldsOf(form) {
		i, of := indexOf(node, f.name), inner(f.form)
		if i < 0 || of == nil {
			continue
		}
		value, at := node.Content[i+1], append(slices.Clone(path), f.name)
		if value.Kind == yaml.SequenceNode {
			for j, item := range value.Content {
				find(spots, content, item, of, append(slices.Clone(at), j))
			}
			continue
		}
		find(spots, content, value, of, at)
	}
}

// reach every struct of the format.
func reach(form reflect.Type, spots map[reflect.Type]spot, missing map[reflect.Type]bool) {
	if _, found := spots[form]; !found {
		missing[form] = true
	}
	for _, f := range fieldsOf(form) {
		if of := inner(f.form); of != nil && !missing[of] {
			reach(of, spots, missing)
		}
	}
}

// Files that are large, deep or many in one are refused at once, too.
func TestBounds_WholeFiles(t *testing.T) {
	t.Parallel()
	steps := strings.Repeat("  - {wait: {for: 1ms, because: x}}\n", 20_000)
	head := "apiVersion: transplant.dev/v1alpha1\nkind: Scenario\nmetadata: {name: x}\nspec:\n  why: x\n  landscape: " +
		"{seeds: [{name: a}]}\n  steps:\n"
	for name, content := range map[string]string{
		"many steps":    head + steps,
		"deep":          strings.Repeat("[", 500_000),
		"deep mappings": strings.Repeat("{a: ", 200_000),
		"aliases":       "a: &a [x,x,x,x]\nb: &b [*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b]\nd: [*c,*c,*c]",
		"long number":   "apiVersion: " + strings.Repeat("9", 900_000),
		"too large":     strings.Repeat("#", 2<<20),
		"zeros":         strings.Repeat("\x00", 1<<20),
	} {
		took, err := parsed(t, []byte(content))
		if took > slowest {
			t.Errorf("%s: took %s", name, took)
		}
		if err == nil || !strings.Contains(err.Error(), "hostile.yaml:") || len(err.Error()) > 20_000 {
			t.Errorf("%s: %.300v", name, err)
		}
	}
}
