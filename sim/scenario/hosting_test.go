package scenario_test

import (
	"strings"
	"testing"

	"github.com/transplant-sim/transplant/sim/scenario"
)

// ringOf is a scenario on seeds and shoots.
func ringOf(seeds, shoots string) string {
	return `apiVersion: transplant.dev/v1alpha1
kind: Scenario
metadata: {name: ring, labels: {tier: nightly}}
spec:
  why: A ring.
  landscape:
    seeds: [` + seeds + `]
    settings: {secondSign: true}
    shoots: [` + shoots + `]
  steps:
  - expect: {that: "seed('a').ready", within: 5s}
  always: [SingleWriter]
`
}

func TestCheck_HostedSeeds(t *testing.T) {
	t.Parallel()
	const ring = "{name: first}, {name: a, hostedBy: c}, {name: b, hostedBy: a}, {name: c, hostedBy: b}"
	for name, c := range map[string]struct {
		seeds, shoots string
		want          string // a part of the only mistake; empty for none
	}{
		"a ring":                  {ring, "{name: alpha, seed: c}", ""},
		"a ring with its shoots":  {ring, "{name: a, seed: c, purpose: infrastructure, objects: 3}", ""},
		"a chain":                 {"{name: a}, {name: b, hostedBy: a}, {name: c, hostedBy: b}", "", ""},
		"two on an unhosted seed": {"{name: a}, {name: b, hostedBy: a}, {name: c, hostedBy: a}", "", ""},
		"a host that is not there": {"{name: a}, {name: b, hostedBy: z}", "",
			`seeds[1].hostedBy: Unsupported value: "z": supported values: "a"`},
		"itself": {"{name: a}, {name: b, hostedBy: b}", "",
			`seeds[1].hostedBy: Unsupported value: "b": supported values: "a"`},
		"nobody outside": {"{name: a, hostedBy: c}, {name: b, hostedBy: a}, {name: c, hostedBy: b}", "",
			"add a seed without hostedBy"},
		"a third on a member": {ring + ", {name: d, hostedBy: b}", "",
			`seeds[4].hostedBy: Invalid value: "b": hosts the seed "c" already`},
		"a shoot elsewhere": {ring, "{name: a, seed: b, purpose: infrastructure}",
			"shoots[0].seed: Invalid value: \"b\": must be the hostedBy of the seed"},
		"a shoot of no purpose": {ring, "{name: a, seed: c}",
			"shoots[0].purpose: Invalid value: \"\": must be infrastructure"},
		"a shoot with workers": {ring, "{name: a, seed: c, purpose: infrastructure, workers: 1}",
			"shoots[0].workers: Invalid value: 1: must be left out, or the nodes be real"},
		"six slices of addresses": {ring + ", {name: x}",
			"{name: a, seed: c, purpose: infrastructure, workers: 1, nodes: real}, " +
				"{name: alpha, seed: x, workers: 1, nodes: real}", ""},
		"a shoot that sleeps": {ring, "{name: a, seed: c, purpose: infrastructure, hibernated: true}",
			"shoots[0].hibernated: Invalid value: true: must be left out"},
		"a seed named like what is no seed": {"{name: outside}, {name: a, hostedBy: outside}", "",
			"seeds[0].name: Invalid value: \"outside\": means something else"},
		"a shoot named like a seed": {ring, "{name: first, seed: a}",
			"shoots[0].name: Invalid value: \"first\": is the name of a seed"},
	} {
		_, err := scenario.Parse("ring.yaml", []byte(ringOf(c.seeds, c.shoots)))
		checkAlone(t, name, err, c.want)
	}
}

// Without a second sign the shoots of a seed are evacuated while its own control plane moves.
func TestCheck_HostedWithoutSecondSign_IsRefused(t *testing.T) {
	t.Parallel()
	file := strings.Replace(ringOf("{name: a}, {name: b, hostedBy: a}", ""), "secondSign: true", "", 1)
	_, err := scenario.Parse("ring.yaml", []byte(file))
	if err == nil || !strings.Contains(err.Error(), "settings.secondSign: Invalid value: false: must be true") {
		t.Errorf("%v", err)
	}
}

// Two seeds that host each other are named at both.
func TestCheck_CircleOfTwo_IsRefused(t *testing.T) {
	t.Parallel()
	_, err := scenario.Parse("ring.yaml", []byte(ringOf("{name: first}, {name: a, hostedBy: b}, {name: b, hostedBy: a}",
		"")))
	if err == nil || strings.Count(err.Error(), "would host each other") != 2 ||
		!strings.Contains(err.Error(), "a ring has three seeds or more") {
		t.Errorf("%v", err)
	}
}

// checkAlone wants this one mistake; empty for none.
func checkAlone(t *testing.T, name string, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("%s: %v", name, err)
	case want != "" && (err == nil || !strings.Contains(err.Error(), want) ||
		strings.Count(err.Error(), "ring.yaml:") != 1):
		t.Errorf("%s: %v, want %q alone", name, err, want)
	}
}

// What the garden would refuse for sure, or what would wait for nothing, is a mistake of the file.
func TestCheck_StepsOnARing(t *testing.T) {
	t.Parallel()
	const lost = "fault: {name: f, loseCluster: {cluster: a}}"
	for name, c := range map[string]struct{ steps, want string }{
		"a seed sleeps":         {"hibernate: {shoot: a}", `hibernate.shoot: Invalid value: "a": is a seed of the landscape`},
		"a seed goes":           {"delete: {shoot: a}", `delete.shoot: Invalid value: "a": is a seed of the landscape`},
		"a seed stays":          {"delete: {shoot: a, refused: true}", ""},
		"a seed is made":        {"create: {shoot: a}", `create.shoot: Invalid value: "a": is a seed of the landscape`},
		"on itself":             {"migrate: {shoot: a, to: a}", `migrate.to: Invalid value: "a": cannot host itself`},
		"on itself, refused":    {"migrate: {shoot: a, to: a, refused: true}", ""},
		"on an occupied member": {"migrate: {shoot: c, to: a}", `migrate.to: Invalid value: "a": hosts the seed "b" at this`},
		"on its guest":          {"migrate: {shoot: c, to: first}\n  - migrate: {shoot: a, to: b}", `"b": is hosted by "a"`},
		"back":                  {"migrate: {shoot: c, to: first}\n  - migrate: {shoot: c, to: b}", ""},
		"where a fault was":     {lost + "\n  - migrate: {shoot: c, to: a}", ""},
		"a shoot of others":     {"migrate: {shoot: alpha, to: a}", ""},
		"handed over from a seed": {"handOver: {shoot: a, to: first}",
			`handOver.shoot: Invalid value: "a": does not run outside any seed at this step`},
		"handed over to itself": {lost + "\n  - restoreOutside: {shoot: a}\n  - handOver: {shoot: a, to: a}",
			`handOver.to: Invalid value: "a": cannot host itself`},
		"restored twice": {lost + "\n  - restoreOutside: {shoot: a}\n  - restoreOutside: {shoot: a}",
			`restoreOutside.shoot: Invalid value: "a": runs outside any seed already`},
		"restored again": {lost + "\n  - restoreOutside: {shoot: a}\n  - handOver: {shoot: a, to: c}\n  - " +
			"handOver: {shoot: a, to: first}\n  - restoreOutside: {shoot: a}", ""},
		"evacuated from where it was moved": {lost + "\n  - migrate: {shoot: c, to: first}\n  - " +
			"migrate: {shoot: b, to: c}\n  - heal: f\n  - migrate: {shoot: a, to: c}", ""},
		"taken by force": {lost + "\n  - restoreOutside: {shoot: a}\n  - patch: {shoot: a, merge: {metadata: {annotations: " +
			"{shoot.gardener.cloud/force-restore: \"true\"}}}}\n  - restoreOutside: {shoot: a}", ""},
		"handed over after a move": {lost + "\n  - restoreOutside: {shoot: a}\n  - migrate: {shoot: a, to: first}\n  - " +
			"handOver: {shoot: a, to: c}", `handOver.shoot: Invalid value: "a": does not run outside any seed at this step`},
		"restored asleep": {"hibernate: {shoot: alpha}\n  - restoreOutside: {shoot: alpha}",
			`restoreOutside.shoot: Invalid value: "alpha": is hibernated at this step`},
		"a program of a seed": {"fault: {name: f, kill: {cluster: a, program: etcd}}",
			`kill.cluster: Invalid value: "a": is a shoot, whose programs are on another seed`},
	} {
		_, err := scenario.Parse("ring.yaml", []byte(strings.Replace(ringOf("{name: first}, {name: a, hostedBy: c}, "+
			"{name: b, hostedBy: a}, {name: c, hostedBy: b}", "{name: alpha, seed: c}"),
			"- expect", "- "+c.steps+"\n  - expect", 1)))
		checkAlone(t, name, err, c.want)
	}
}
