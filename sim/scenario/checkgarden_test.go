package scenario_test

import (
	"strings"
	"testing"

	"github.com/transplant-sim/transplant/sim/scenario"
)

// What a scenario says about the garden must be possible, and so must what its faults do to it.
func TestCheck_Garden(t *testing.T) {
	t.Parallel()
	const wipe, kill = "{name: f, loseCluster: {cluster: garden, wipe: true}}",
		"{name: f, kill: {cluster: garden, program: etcd}}"
	for name, c := range map[string]struct {
		garden, fault string
		want          string // a part of a mistake; empty for none
	}{
		"three members":             {"{members: [a, b, c]}", "", ""},
		"a backup":                  {"{backup: true}", wipe, ""},
		"a backup is cut off":       {"{backup: true}", "{name: f, cut: {actor: garden-backup, target: cloud}}", ""},
		"no backup to cut off":      {"{}", "{name: f, cut: {actor: garden-backup, target: cloud}}", "garden-backup"},
		"no backup, no way back":    {"{}", wipe, "nothing can bring a wiped garden back"},
		"two members":               {"{members: [a, b]}", "", "garden.members: Invalid value: 2"},
		"one twice":                 {"{members: [a, b, a]}", "", `garden.members[2]: Duplicate value: "a": name`},
		"no seed":                   {"{members: [a, b, z]}", "", `garden.members[2]: Unsupported value: "z"`},
		"both":                      {"{members: [a, b, c], backup: true}", "", "garden.backup: Invalid value: true"},
		"its own etcd":              {"{}", kill, ""},
		"an etcd that is elsewhere": {"{members: [a, b, c]}", kill, `program: Unsupported value: "etcd"`},
		"the disks of its members":  {"{members: [a, b, c]}", wipe, "give the landscape garden: {backup: true} instead"},
		"no quorum": {"{members: [a, b, c]}", "{name: g, freezeCluster: {cluster: a}}\n  - fault: {name: f, loseCluster: " +
			"{cluster: b}}\n  - migrate: {shoot: alpha, to: c}", "the garden has no quorum at this step: of its members " +
			"a, b, c, these are lost or frozen: a, b; heal one before"},
		"back without a quorum": {"{members: [a, b, c]}", "{name: g, freezeCluster: {cluster: a}}\n  - fault: {name: h, " +
			"loseCluster: {cluster: b}}\n  - fault: {name: f, loseCluster: {cluster: garden}}",
			".heal: Forbidden: the garden has no quorum at this step"},
		"a quorum": {"{members: [a, b, c]}", "{name: f, loseCluster: {cluster: b}}\n  - migrate: {shoot: alpha, to: c}", ""},
		"what is seen without a quorum": {"{members: [a, b, c]}", "{name: g, freezeCluster: {cluster: a}}\n  - fault: " +
			"{name: f, loseCluster: {cluster: b}}\n  - expect: {that: \"shoot('alpha').answers\"}", ""},
		"a shoot is used without a quorum": {"{members: [a, b, c]}", "{name: g, freezeCluster: {cluster: a}}\n  - fault: " +
			"{name: f, loseCluster: {cluster: b}}\n  - apply: {shoot: alpha, object: {apiVersion: v1, kind: ConfigMap, " +
			"metadata: {name: x, namespace: default}}}", ""},
		"the disk of a member": {"{members: [a, b, c]}", "{name: f, loseCluster: {cluster: a, wipe: true}}",
			"the member of the garden's etcd on seed \"a\" would be wiped, too"},
	} {
		file := strings.Replace(ringOf("{name: a}, {name: b}, {name: c}", "{name: alpha, seed: a}"), "    seeds:",
			"    garden: "+c.garden+"\n    seeds:", 1)
		if c.fault != "" {
			file = strings.Replace(file, "  - expect:", "  - fault: "+c.fault+"\n  - heal: f\n  - expect:", 1)
		}
		_, err := scenario.Parse("garden.yaml", []byte(file))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
