package scenario_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/transplant-sim/transplant/clusters/link/requests"
	"github.com/transplant-sim/transplant/sim/scenario"
)

const swept = `
apiVersion: transplant.dev/v1alpha1
kind: Scenario
metadata: {name: swept}
spec:
  why: a crash only delays
  landscape: {seeds: [{name: a}, {name: b}], shoots: [{name: alpha, seed: a}]}
  steps:
  - fault: {name: one, crash: {actor: gardenlet-a, target: a, at: After}}
  - fault: {name: two, crash: {actor: gardenlet-b, target: b}}
  - fault: {name: cut, cut: {actor: user, target: shoots}}
  - heal: one
  - heal: two
  sweep: [{fault: one, upTo: 2}, {fault: two, upTo: 1}]
`

func TestASweepExpandsIntoClosedScenarios(t *testing.T) {
	t.Parallel()
	s, err := scenario.Parse("f", []byte(swept))
	if err != nil {
		t.Fatal(err)
	}
	points, err := s.Expand()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, point := range points {
		text, err := scenario.Print(point)
		if err != nil {
			t.Fatal(err)
		}
		again, err := scenario.Parse("f", text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if alone, err := again.Expand(); err != nil || len(alone) != 1 || alone[0] != again {
			t.Errorf("%s is not closed: %v", point.Metadata.Name, err)
		}
		line := point.Metadata.Name + ":"
		for i := range again.Spec.Steps {
			_, one := again.Spec.Steps[i].Step()
			line += " " + strings.Fields(one.String())[0] + " " + one.Subject()
			if f := again.Spec.Steps[i].Fault; f != nil && f.Crash != nil && f.Crash.Nth == 2 && f.Crash.At == requests.After {
				line += " at 2"
			}
		}
		got = append(got, line)
	}
	want := []string{
		"swept-one-1: fault one fault cut heal one", "swept-one-2: fault one at 2 fault cut heal one",
		"swept-two-1: fault two fault cut heal two",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if s.Spec.Steps[0].Fault.Crash.Nth != 0 {
		t.Error("the scenario itself has changed")
	}
}

func TestExpand_FaultWithARequest_BeginsAtEachOfThem(t *testing.T) {
	t.Parallel()
	text := strings.Replace(swept, "{name: cut, cut: {actor: user, target: shoots}}",
		"{name: lost, when: {request: {actor: gardenlet-b, target: b, at: After}}, loseCluster: {cluster: b}}", 1)
	text = strings.Replace(text, "[{fault: one, upTo: 2}, {fault: two, upTo: 1}]", "[{fault: lost, upTo: 3}]", 1)
	s, err := scenario.Parse("f", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	points, err := s.Expand()
	if err != nil {
		t.Fatal(err)
	}
	for n, point := range points {
		if name := fmt.Sprintf("swept-lost-%d", n+1); point.Metadata.Name != name {
			t.Errorf("point %d is called %q, want %q", n+1, point.Metadata.Name, name)
		}
		if got := point.Spec.Steps[2].Fault.When.Request; got.Nth != n+1 || got.At != requests.After {
			t.Errorf("in point %d the fault begins %s", n+1, got)
		}
	}
	if len(points) != 3 || s.Spec.Steps[2].Fault.When.Request.Nth != 0 {
		t.Errorf("%d points; the scenario's own fault begins %s", len(points), s.Spec.Steps[2].Fault.When.Request)
	}
}

func TestImpossibleSweeps(t *testing.T) {
	t.Parallel()
	for sweep, want := range map[string]string{
		"[{fault: none, upTo: 1}]": `spec.sweep[0].fault: Unsupported value: "none": ` +
			`supported values: "one", "two"`,
		"[{fault: cut, upTo: 1}]":                           `spec.sweep[0].fault: Unsupported value: "cut"`,
		"[{fault: one, upTo: 1}, {fault: one, upTo: 2}]":    `spec.sweep[1].fault: Duplicate value: "one"`,
		"[{fault: one}]":                                    "spec.sweep[0].upTo: is missing; it must be given",
		"[{fault: one, upTo: 1001}]":                        "spec.sweep[0].upTo: Invalid value: 1001",
		"[{fault: one, upTo: 1}] # at: After, nth: 3":       "",
		"[{fault: one, upTo: 1}, {fault: two, upTo: 1000}]": "",
	} {
		_, err := scenario.Parse("f", []byte(strings.Replace(swept, "[{fault: one, upTo: 2}, {fault: two, upTo: 1}]", sweep,
			1)))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", sweep, err, want)
		}
	}
	own := strings.Replace(swept, "at: After}", "at: After, nth: 3}", 1)
	if _, err := scenario.Parse("f", []byte(own)); err == nil || !strings.Contains(err.Error(),
		"says by itself at which request it begins") {
		t.Errorf("a crash with a turn of its own: %v", err)
	}
	for name, right := range map[string]string{
		"../../../../tmp/esc": "tmp-esc", "Gardenlet_Dies": "gardenlet-dies", "a.b": "a-b", "one--2 ": "one-2", "/": "fault",
	} {
		named := strings.NewReplacer("name: one", fmt.Sprintf("name: %q", name), "fault: one", fmt.Sprintf("fault: %q", name),
			"heal: one", fmt.Sprintf("heal: %q", name)).Replace(swept)
		_, err := scenario.Parse("f", []byte(named))
		want := fmt.Sprintf("f:14:19: spec.sweep[0].fault: Invalid value: %q", name)
		if err == nil || !strings.HasPrefix(err.Error(), want) || !strings.HasSuffix(err.Error(),
			fmt.Sprintf("such as %q", right)) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want %s … such as %q", name, err, want, right)
		}
	}
	long := strings.ReplaceAll(swept, "name: swept", "name: "+strings.Repeat("s", 60))
	if _, err := scenario.Parse("f", []byte(long)); err == nil || !strings.Contains(err.Error(),
		"which is longer than 63") {
		t.Errorf("a long name: %v", err)
	}
}
