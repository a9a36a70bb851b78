package expression_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/transplant-sim/transplant/sim/expression"
)

func TestDemands(t *testing.T) {
	t.Parallel()
	type demands = map[string]expression.Demand
	for text, want := range map[string]demands{
		"shoot('x').seed == 'b'":                        {"x": {Seed: "b"}},
		"'b' == shoot('x').seed":                        {"x": {Seed: "b"}},
		"shoot('x').specSeed == 'b' && seed('a').ready": {"x": {SpecSeed: "b"}},
		"shoot('x').seed == 'b' && shoot('x').healthy && shoot('y').healthy": {"x": {Seed: "b", Healthy: true},
			"y": {Healthy: true}},
		"(shoot('x').healthy && true) && shoot('y').seed == 'a'":          {"x": {Healthy: true}, "y": {Seed: "a"}},
		"shoot('x').seed == 'b' || shoot('x').healthy":                    {},
		"!(shoot('x').seed == 'b' && shoot('x').healthy)":                 {},
		"!shoot('x').healthy":                                             {},
		"shoot('x').seed != 'b'":                                          {},
		"shoot('x').seed in ['b']":                                        {},
		"shoot('x').seed == shoot('y').seed":                              {},
		"seed('a').shoots == 0 && cloud.machines > 0":                     {},
		"shoot('x').exists ? shoot('x').healthy : shoot('x').seed == 'b'": {},
	} {
		e, err := expression.Compile(text)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, e.Demands()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}
