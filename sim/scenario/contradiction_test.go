package scenario

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/transplant-sim/transplant/sim/fault"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/oracle"
	"github.com/transplant-sim/transplant/sim/scenario/fields"
	"github.com/transplant-sim/transplant/sim/step"
)

// row is a promise, or a goal, with steps of which each needs nothing more.
type row struct{ name, text, needs string }

const (
	loaded    = "- load: {shoot: alpha}\n"
	evacuated = loaded + "- fault: {name: fire, loseCluster: {cluster: a}}\n- expect: {that: \"shoot('alpha').seed " +
		"== 'b' && shoot('alpha').healthy\", within: 120s}\n- heal: fire\n"
	moved   = "- migrate: {shoot: gamma, to: b}\n"
	deleted = "- delete: {shoot: gamma}\n"
)

var rows = []row{
	{"CloudEmptied", "always: [CloudEmptied]", deleted},
	{"CloudUntouched", "always: [CloudUntouched]", ""},
	{"Linearizable", "always: [Linearizable]", loaded},
	{"MigrationEnds", "always: [MigrationEnds]", moved},
	{"NoCircle", "always: [NoCircle]", ""},
	{"NoFalseAlarm", "always: [NoFalseAlarm]", ""},
	{"NoLostMachine", "always: [NoLostMachine]", ""},
	{"NoLostWrite", "always: [NoLostWrite]", loaded},
	{"NoNeedlessMove", "always: [NoNeedlessMove]", ""},
	{"NoOrphans", "always: [NoOrphans]", ""},
	{"NodesPreserved", "always: [NodesPreserved]", ""},
	{"Revisions", "always: [Revisions]", ""},
	{"ShootUntouched", "always: [ShootUntouched]", moved},
	{"SingleWriter", "always: [SingleWriter]", ""},
	{"apiDowntime", "measure: {apiDowntime: {max: 20s}}", evacuated},
	{"apiDowntime 0s", "measure: {apiDowntime: {max: 0s}}", ""},
	{"bystanderDowntime", "measure: {bystanderDowntime: {max: 3s}}", moved},
	{"lostWrites", "measure: {lostWrites: {max: 100}}", evacuated},
	{"lostWrites 0", "measure: {lostWrites: {max: 0}}", loaded},
	{"restoresAtOnce", "measure: {restoresAtOnce: {max: 2}}", moved},
	{"rpo", "measure: {rpo: {max: 2s}}", evacuated},
	{"rpo 0s", "measure: {rpo: {max: 0s}}", loaded},
	{"rto", "measure: {rto: {max: 20s}}", evacuated},
}

// columns are steps of every verb, with faults of every kind, and settings; a second one of a kind has a word behind
// its name. What stands in a column can follow on what any row needs.
var columns = map[string]string{
	"apply": "- apply: {shoot: alpha, object: {apiVersion: v1, kind: ConfigMap, metadata: {name: x, " +
		"namespace: default}}}",
	"apply a balancer": "- apply: {shoot: alpha, object: {apiVersion: v1, kind: Service, metadata: {name: x, " +
		"namespace: default}, spec: {type: LoadBalancer, ports: [{port: 80}]}}}",
	"apply a workerless": "- apply: {shoot: beta, object: {apiVersion: v1, kind: Service, metadata: {name: x, " +
		"namespace: default}, spec: {type: LoadBalancer, ports: [{port: 80}]}}}",
	"create":            "- create: {shoot: later}",
	"delete":            "- delete: {shoot: alpha}",
	"delete refused":    "- delete: {shoot: alpha, refused: true}",
	"expect":            "- expect: {that: \"shoot('alpha').healthy\"}",
	"heal":              "- fault: {name: x, cut: {actor: user, target: shoots}}\n- heal: x",
	"hibernate":         "- hibernate: {shoot: alpha}",
	"load":              "- load: {shoot: beta}",
	"migrate":           "- migrate: {shoot: beta, to: b}",
	"migrate refused":   "- migrate: {shoot: beta, to: b, refused: true}",
	"migrate a sleeper": "- migrate: {shoot: sleepy, to: b}",
	"patch":             "- patch: {shoot: alpha, merge: {metadata: {labels: {x: y}}}}",
	"patch by force": "- patch: {shoot: alpha, merge: {metadata: {annotations: " +
		"{shoot.gardener.cloud/force-restore: \"true\"}}}}",
	"remove": "- remove: {shoot: alpha, object: {apiVersion: v1, kind: ConfigMap, metadata: {name: x, " +
		"namespace: default}}}",
	"reschedule":         "- reschedule: {shoot: alpha, endsIn: 1h}",
	"restoreOutside":     "- restoreOutside: {shoot: alpha}",
	"handOver":           "- restoreOutside: {shoot: alpha}\n- handOver: {shoot: alpha, to: b}",
	"select":             "- select: {shoot: alpha}",
	"wait":               "- wait: {for: 1s, because: it is tested}",
	"wake":               "- wake: {shoot: sleepy}",
	"hibernate and wake": "- hibernate: {shoot: alpha}\n- wake: {shoot: alpha}",

	"loseCluster":           harms("loseCluster: {cluster: a}"),
	"loseCluster evacuated": harms("loseCluster: {cluster: a}") + "\n- wait: {until: \"shoot('alpha').seed == 'b'\"}",
	"loseCluster wiped":     harms("loseCluster: {cluster: a, wipe: true}"),
	"loseCluster empty":     harms("loseCluster: {cluster: c}"),
	"loseCluster later":     harms("when: {that: \"seed('a').ready\"}, loseCluster: {cluster: a, wipe: true}"),
	"loseCluster garden":    harms("loseCluster: {cluster: garden}"),
	"freezeCluster":         harms("freezeCluster: {cluster: a}"),
	"freezeCluster evacuated": harms("freezeCluster: {cluster: a}") + "\n- expect: {that: \"shoot('alpha').seed == " +
		"'b'\"}",
	"freezeCluster healed": harms("freezeCluster: {cluster: a}") + "\n- heal: x\n- expect: {that: " +
		"\"shoot('alpha').seed == 'b'\"}",
	"wipeEtcd":            harms("wipeEtcd: {shoot: alpha}"),
	"wipeEtcd of another": harms("wipeEtcd: {shoot: beta}"),

	"cut":          harms("cut: {actor: gardenlet-a, target: garden}"),
	"cut users":    harms("cut: {actor: user, target: shoots}"),
	"latency":      harms("latency: {actor: nodes, target: shoots, delay: 1s}"),
	"bandwidth":    harms("bandwidth: {actor: gateway-a, target: a, bytesPerSecond: 1Ki}"),
	"reset":        harms("reset: {actor: extensions-a, target: cloud}"),
	"failRequest":  harms("failRequest: {actor: gardenlet-a, target: garden, status: 503}"),
	"delayRequest": harms("delayRequest: {actor: user, target: shoots, delay: 1s}"),
	"dropAnswer":   harms("dropAnswer: {actor: extensions-a, target: a}"),
	"holdRequest":  harms("holdRequest: {actor: gardenlet-a, target: garden}"),
	"requestLimit": harms("requestLimit: {actor: gardenlet-a, target: garden, max: 1Mi}"),
	"crash":        harms("crash: {actor: gardenlet-a, target: garden}"),
	"growObject": harms("growObject: {cluster: a, apiVersion: v1, kind: Secret, namespace: n, name: s, size: " +
		"1Mi}"),
	"loseObject":        harms("loseObject: {cluster: a, apiVersion: v1, kind: Secret, namespace: n, name: s}"),
	"staleList":         harms("staleList: {actor: gardenlet-a, target: garden}"),
	"frozenWatch":       harms("frozenWatch: {actor: gardenlet-a, target: garden}"),
	"closeWatch":        harms("closeWatch: {actor: gateway-a, target: a}"),
	"goneWatch":         harms("goneWatch: {actor: gateway-a, target: a}"),
	"bucketUnreachable": harms("bucketUnreachable: {}"),
	"slowBucket":        harms("slowBucket: {bytesPerSecond: 64Ki}"),
	"damageBackup":      harms("damageBackup: {shoot: alpha}"),
	"cloudError":        harms("cloudError: {code: QuotaExceeded}"),
	"cloudQuota":        harms("cloudQuota: {kind: machines, max: 1}"),
	"cloudThrottle":     harms("cloudThrottle: {perSecond: 1, burst: 1}"),
	"cloudUnreachable":  harms("cloudUnreachable: {}"),
	"slowCloud":         harms("slowCloud: {delay: 1s}"),
	"chaos": harms("chaos: {cluster: a, object: {apiVersion: chaos-mesh.org/v1alpha1, kind: PodChaos, " +
		"metadata: {name: x}, spec: {selector: {namespaces: [garden]}, mode: one, action: pod-failure, duration: " +
		"5s}}}"),
	"kill":             harms("kill: {shoot: alpha, program: kube-apiserver}"),
	"kill etcd":        harms("kill: {shoot: alpha, program: etcd}"),
	"freeze":           harms("freeze: {actor: gardenlet-a}"),
	"freeze a gateway": harms("freeze: {actor: gateway-a}"),

	"ownerCheckInterval":         "settings: {ownerCheckInterval: 8s, ownerCheckTimeout: 16s}",
	"ownerCheckTimeout":          "settings: {ownerCheckTimeout: 60s}",
	"deltaInterval":              "settings: {deltaInterval: 10s}",
	"fullSnapshotInterval":       "settings: {fullSnapshotInterval: 1h}",
	"dnsTTL":                     "settings: {dnsTTL: 60s}",
	"seedLeaseRenew":             "settings: {seedLeaseRenew: 5s}",
	"seedLossGracePeriod":        "settings: {seedLossGracePeriod: 60s}",
	"waitInterval":               "settings: {waitInterval: 60s}",
	"syncPeriod":                 "settings: {syncPeriod: 1m}",
	"reconcileInMaintenanceOnly": "settings: {reconcileInMaintenanceOnly: true}",
	"retryDuration":              "settings: {retryDuration: 1m}",
	"throttledRetryPeriod":       "settings: {throttledRetryPeriod: 1m}",
	"careSyncPeriod":             "settings: {careSyncPeriod: 1h}",
	"careThreshold":              "settings: {careThreshold: 1h}",
	"remediateWebhooks":          "settings: {remediateWebhooks: true}",
	"cleanupTimeout":             "settings: {cleanupTimeout: 1s}",
	"restoresAtOnce":             "settings: {restoresAtOnce: 1}",
	"secondSign":                 "settings: {secondSign: true}",
}

func harms(text string) string { return "- fault: {name: x, " + text + "}" }

// cell is a scenario with a row, what it may need, and a column.
func cell(r row, needs, column string) string {
	settings, steps, host := "settings: {}", column, ""
	if strings.HasPrefix(column, "settings:") {
		settings, steps = column, ""
	}
	if r.name == "NoNeedlessMove" || r.name == "NoCircle" { // which need more of a landscape than steps can give
		settings = strings.TrimSuffix(strings.Replace(settings, "secondSign: true", "", 1), "}") + ", secondSign: true}"
		settings = strings.Replace(settings, "{, ", "{", 1)
	}
	if r.name == "NoCircle" {
		host = ", hostedBy: b"
	}
	end := "- wait: {for: 2s, because: it is tested}"
	text := strings.ReplaceAll(strings.TrimSpace(needs+steps+"\n"+end), "\n", "\n  ")
	return fmt.Sprintf(`apiVersion: transplant.dev/v1alpha1
kind: Scenario
metadata: {name: cell}
spec:
  why: it is tested
  landscape:
    %s
    seeds: [{name: a}, {name: b}, {name: c%s}]
    shoots:
    - {name: alpha, seed: a, workers: 1}
    - {name: beta, seed: a}
    - {name: gamma, seed: a, workers: 1}
    - {name: sleepy, seed: a, workers: 1, hibernated: true}
    - {name: later, seed: b}
  steps:
  %s
  %s
`, settings, host, text, r.text)
}

// found in a scenario: fine, or the words for what follows from the contradiction in it.
func found(t *testing.T, text string) (outcome, message string) {
	t.Helper()
	s, err := Parse("f", []byte(text))
	if err != nil {
		// What was found must be about the row: else the cell is no scenario at all.
		if got := err.Error(); strings.Contains(got, "\n") || !strings.Contains(got, "spec.always[0]") &&
			!strings.Contains(got, "spec.measure.") {
			t.Fatalf("%v in\n%s", err, text)
		}
		return gradeWords[never], err.Error()
	}
	doubts, err := s.Doubts(1)
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case len(doubts) == 0:
		return "fine", ""
	case doubts[0].Late:
		return gradeWords[late], doubts[0].Error.Error()
	}
	return gradeWords[idle], doubts[0].Error.Error()
}

// mayRecover are the columns by which a shoot may get another owner that was not handed over, or its etcd its data from
// backups.
var mayRecover = []string{
	"chaos", "crash", "cut", "failRequest", "freeze", "freezeCluster", "freezeCluster evacuated", "freezeCluster " +
		"healed", "frozenWatch", "growObject", "handOver", "holdRequest", "kill etcd",
	"loseCluster", "loseCluster evacuated", "loseCluster garden", "loseCluster later", "loseCluster " +
		"wiped", "loseObject", "patch by force",
	"requestLimit", "restoreOutside", "staleList", "wipeEtcd", "wipeEtcd of another",
}

// cells of one row that are not fine: columns by outcome.
type cells map[string][]string

// contradicted are all cells that are not fine although the row has what it needs.
var contradicted = map[string]cells{
	"CloudUntouched": {"refused": {"apply a balancer"}},
	"Linearizable":   {"refused": gone},
	"NoLostWrite":    {"refused": gone},
	"lostWrites 0":   {"refused": gone},
	"rpo 0s":         {"refused": gone},
	"rpo":            {"refused": {"delete", "deltaInterval", "hibernate"}},
	"lostWrites":     {"refused": {"delete", "deltaInterval", "hibernate"}},
	"rto":            {"out of reach": {"ownerCheckInterval", "ownerCheckTimeout", "seedLossGracePeriod"}},
	"apiDowntime":    {"out of reach": {"ownerCheckInterval", "ownerCheckTimeout", "seedLossGracePeriod"}},
	"apiDowntime 0s": {"out of reach": {"freezeCluster evacuated", "handOver", "loseCluster evacuated", "migrate"}},
}

// gone are the columns after which writes to alpha are not there, or cannot be read.
var gone = []string{"delete", "freezeCluster evacuated", "hibernate", "loseCluster evacuated", "loseCluster wiped",
	"wipeEtcd"}

// Every promise and every goal beside every step, fault and setting: what is not named is fine.
func TestContradictions_EveryCell(t *testing.T) {
	t.Parallel()
	for name := range contradicted {
		if !slices.ContainsFunc(rows, func(r row) bool { return r.name == name }) {
			t.Errorf("there is no row %s", name)
		}
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			if outcome, message := found(t, cell(r, r.needs, "")); outcome != "fine" {
				t.Fatalf("by itself it is %s: %s", outcome, message)
			}
			got := cells{}
			for _, column := range slices.Sorted(maps.Keys(columns)) {
				if strings.Contains(r.needs, "fault:") && strings.HasSuffix(column, "evacuated") {
					continue // alpha is on b by then
				}
				if outcome, _ := found(t, cell(r, r.needs, columns[column])); outcome != "fine" {
					got[outcome] = append(got[outcome], column)
				}
			}
			if diff := cmp.Diff(contradicted[r.name], got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Every promise and every goal with nothing that it needs, and one step, fault or setting: those that give it what it
// needs.
func TestContradictions_EveryNeed(t *testing.T) {
	t.Parallel()
	moves := append([]string{"migrate", "migrate a sleeper"}, mayRecover...)
	slices.Sort(moves)
	// These steps are no faults, from which an RTO counts.
	recoveries := slices.DeleteFunc(slices.Sorted(slices.Values(mayRecover)), func(column string) bool {
		return slices.Contains([]string{"handOver", "patch by force", "restoreOutside"}, column)
	})
	for name, gives := range map[string][]string{
		"CloudEmptied": {"delete"}, "Linearizable": {"load"}, "NoLostWrite": {"load"}, "lostWrites": {"load"},
		"lostWrites 0": {"load"},
		"rpo":          {"load"}, "rpo 0s": {"load"}, "rto": recoveries, "restoresAtOnce": moves, "MigrationEnds": moves,
		"ShootUntouched": moves,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, want := rowOf(name), "refused"
			if name == "MigrationEnds" {
				want = "warned of"
			}
			var fine []string
			for _, column := range slices.Sorted(maps.Keys(columns)) {
				switch outcome, message := found(t, cell(r, "", columns[column])); outcome {
				case "fine":
					fine = append(fine, column)
				case want:
				default:
					t.Errorf("%s is %s: %s", column, outcome, message)
				}
			}
			if diff := cmp.Diff(gives, fine); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func rowOf(name string) row {
	return rows[slices.IndexFunc(rows, func(r row) bool { return r.name == name })]
}

// The tables above have every promise, measure, verb, fault and setting.
func TestContradictions_TablesAreWhole(t *testing.T) {
	t.Parallel()
	var names []string
	for _, r := range rows {
		names = append(names, strings.Fields(r.name)[0])
	}
	measures := fields.Names(reflect.TypeFor[Measure]())
	for _, name := range append(oracle.Names(), measures...) {
		if !slices.Contains(names, name) {
			t.Errorf("there is no row for %s", name)
		}
	}
	for _, r := range rules {
		for _, name := range r.of {
			if !slices.Contains(names, name) {
				t.Errorf("a rule is about %s, which is no promise and no measure", name)
			}
		}
	}
	var having []string
	for column := range columns {
		having = append(having, strings.Fields(column)[0])
	}
	for _, name := range slices.Concat(step.Verbs(), fault.Kinds(), fields.Names(reflect.TypeFor[landscape.Settings]())) {
		if name != "fault" && !slices.Contains(having, name) {
			t.Errorf("there is no column for %s", name)
		}
	}
	m := Measure{}
	bounds := reflect.ValueOf(&m).Elem()
	for i := range bounds.NumField() {
		bounds.Field(i).Set(reflect.New(bounds.Field(i).Type().Elem()))
	}
	for name := range m.goals() {
		measures = slices.DeleteFunc(measures, func(one string) bool { return one == name })
	}
	if len(measures) > 0 {
		t.Errorf("%v are no goals", measures)
	}
}

// What is found says where, what and what to do; and what is just possible is fine.
func TestContradictions_Messages(t *testing.T) {
	t.Parallel()
	const wiped = loaded + "- fault: {name: x, loseCluster: {cluster: a, wipe: true}}"
	for name, c := range map[string]struct{ measured, steps, want string }{
		"a promise": {"always: [SingleWriter, NoLostWrite]", wiped, `f:20:26: spec.always[1]: Invalid value: ` +
			`"NoLostWrite": cannot be promised: the fault "x" of step 2 lets alpha be restored from its backups ` +
			`while it is written to, so that writes of the last deltaInterval, 1s, are lost; leave it out, and ` +
			`bound the loss with a goal for rpo that is no shorter`},
		"an RPO": {"measure: {rpo: {max: 999ms}}", wiped, `f:20:18: spec.measure.rpo: Invalid value: "rpo": ` +
			`999ms cannot be promised: the fault "x" of step 2`},
		"as much": {"measure: {rpo: {max: 1s}, lostWrites: {max: 20}}", wiped, ""},
		"too few": {"measure: {lostWrites: {max: 19}}", wiped, `f:20:25: spec.measure.lostWrites: Invalid ` +
			`value: "lostWrites": 19 cannot be promised`},
		"an RTO": {"measure: {rto: {max: 14s}}", evacuated, `f:23:18: spec.measure.rto: Invalid value: ` +
			`"rto": 14s is too short: after the fault "fire" of step 2 alpha needs at least 14.5s, of which 8s pass ` +
			`until the loss of its seed is noticed (seedLossGracePeriod), and 6.5s until its owner has surely ended ` +
			`(ownerCheckTimeout, ownerCheckInterval); allow more, or let seedLossGracePeriod and ownerCheckTimeout ` +
			`be shorter`},
		"just in reach": {"measure: {rto: {max: 14500ms}, apiDowntime: {max: 14500ms}}", evacuated, ""},
		"no rest": {"settleWithin: 2s", "", `f:17:17: spec.settleWithin: Invalid value: "2s": is too short: ` +
			`nothing may move for 3s before all has settled; give it more time`},
		"some rest": {"settleWithin: 3s", "", ""},

		"never there": {"", "- expect: {that: \"shoot('beta').seed == 'b'\"}",
			`f:16:20: spec.steps[0].expect.that: Invalid value: "shoot('beta').seed == 'b'": never becomes true: ` +
				`nothing before this step moves beta to seed "b"; migrate it before, or name another seed`},
		"never bound": {"", "- wait: {until: \"shoot('beta').healthy && shoot('beta').specSeed == 'b'\"}",
			`spec.steps[0].wait.until: Invalid value`},
		"moved before": {"", "- migrate: {shoot: beta, to: b}\n- expect: {that: \"shoot('beta').seed == 'b'\"}", ""},
		"moved after": {"", "- expect: {that: \"shoot('beta').seed == 'b'\"}\n- migrate: {shoot: beta, to: b}",
			"spec.steps[0].expect.that"},
		"refused": {"", "- migrate: {shoot: beta, to: b, refused: true}\n- expect: {that: " +
			"\"shoot('beta').seed == 'b'\"}", "spec.steps[1].expect.that"},
		"either": {"", "- expect: {that: \"shoot('beta').seed == 'b' || shoot('beta').seed == 'a'\"}", ""},
		"by a fault": {"", "- fault: {name: x, freeze: {actor: gardenlet-a}}\n- expect: {that: " +
			"\"shoot('beta').seed == 'b'\"}", ""},
		"by no fault": {"", "- fault: {name: x, freeze: {actor: gateway-a}}\n- expect: {that: " +
			"\"shoot('beta').seed == 'b'\"}", "spec.steps[1].expect.that"},
		"by another": {"", "- fault: {name: x, loseCluster: {cluster: c}}\n- expect: {that: \"shoot('beta').seed " +
			"== 'b'\"}", "spec.steps[1].expect.that"},
		"created again": {"", "- migrate: {shoot: beta, to: b}\n- delete: {shoot: beta}\n- create: {shoot: beta}\n- " +
			"expect: {that: \"shoot('beta').seed == 'b'\"}", "spec.steps[3].expect.that"},

		"too soon": {"", "- fault: {name: x, loseCluster: {cluster: a}}\n- expect: {that: " +
			"\"shoot('beta').seed == 'b'\", within: 7s}", `f:17:57: spec.steps[1].expect.within: Invalid value: ` +
			`"7s": is too short: beta gets there 8s after the fault "x" at the earliest (seedLossGracePeriod, ` +
			`ownerCheckTimeout); give it more time, or let the settings be shorter`},
		"soon": {"", "- fault: {name: x, loseCluster: {cluster: a}}\n- expect: {that: " +
			"\"shoot('beta').seed == 'b'\", within: 8s}", ""},
		"well too soon": {"", "- fault: {name: x, loseCluster: {cluster: a}}\n- expect: {that: " +
			"\"shoot('beta').seed == 'b' && shoot('beta').healthy\", within: 8s}", `beta gets there 14.5s after the ` +
			`fault "x"`},
		"after a while": {"", "- fault: {name: x, loseCluster: {cluster: a}}\n- wait: {for: 6s, because: it is " +
			"tested}\n- expect: {that: \"shoot('beta').seed == 'b'\", within: 2s}", ""},
		"asleep": {"", "- fault: {name: x, loseCluster: {cluster: a}}\n- expect: {that: " +
			"\"shoot('sleepy').seed == 'b' && shoot('sleepy').healthy\", within: 8s}", ""},
		"nobody there": {"", "- fault: {name: x, cut: {actor: control-planes-c, target: garden}}",
			`f:16:35: spec.steps[0].fault.cut.actor: Invalid value: "control-planes-c": has no traffic that it ` +
				`could hit: no shoot ever comes to seed "c"; name another actor`},
		"nobody there yet": {"", "- fault: {name: x, cut: {actor: control-planes-c, target: garden}}\n- migrate: " +
			"{shoot: beta, to: c}", ""},

		"a load too late": {"measure: {rto: {max: 20s}}", "- fault: {name: x, loseCluster: {cluster: a}}\n" + loaded,
			`cannot be measured: the first load begins after the first fault, so that nobody knows who acknowledged ` +
				`writes before it; begin one before`},
		"a fault that may": {"measure: {rto: {max: 20s}}", "- fault: {name: x, loseCluster: {cluster: a}, when: " +
			"{that: \"seed('a').ready\"}}\n" + loaded, ""},
		"no restores": {"measure: {restoresAtOnce: {max: 0}}", moved, `0 can never be measured: where no shoot ` +
			`is restored there is no such number; allow at least 1`},
		"many restores": {"measure: {restoresAtOnce: {max: 5}}", moved, `5 is never exceeded: the landscape has ` +
			`5 shoots; allow fewer than there are shoots, or leave it out`},
		"slept all along": {"always: [NoLostWrite]", loaded + "- hibernate: {shoot: alpha}",
			`is judged by the data at the end, which nobody can read then: alpha has a load, and sleeps; wake it ` +
				`before the end, or leave it out`},
		"awake again": {"always: [NoLostWrite]", loaded + "- hibernate: {shoot: alpha}\n- wake: {shoot: alpha}",
			""},
		"one of two goes": {"always: [NoLostWrite]", loaded + "- load: {shoot: beta}\n- delete: {shoot: beta}", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := all(t, cell(row{text: c.measured}, c.steps+"\n", ""))
			if c.want == "" && got != "" || !strings.Contains(got, c.want) || strings.Contains(got, "\n") {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// all that is found in a scenario, as one line each.
func all(t *testing.T, text string) string {
	t.Helper()
	s, err := Parse("f", []byte(text))
	if err != nil {
		return err.Error()
	}
	doubts, err := s.Doubts(1)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, d := range doubts {
		m := MistakeIn(file, d.Field, d.ErrorBody())
		m.File = "f"
		lines = append(lines, m.Error())
	}
	return strings.Join(lines, "\n")
}

// A fault with which a scenario ends has done its harm, or does none.
func TestContradictions_FaultAtTheEnd(t *testing.T) {
	t.Parallel()
	for text, warns := range map[string]bool{
		"cut: {actor: user, target: shoots}": true, "freezeCluster: {cluster: a}": true, "loseCluster: {cluster: " +
			"a}": false, "wipeEtcd: {shoot: alpha}": false,
		"kill: {actor: gardenlet-a}": false, "kill: {actor: gardenlet-a}, when: {that: \"seed('a').ready\"}": true,
	} {
		whole := cell(row{}, "", harms(text))
		whole = strings.Replace(whole, "  - wait: {for: 2s, because: it is tested}\n", "", 1)
		if got := all(t, whole); warns != strings.Contains(got, `spec.steps[0].fault: Invalid value: "x": ends when `+
			`it has begun, as no step follows`) {
			t.Errorf("%s: %s", text, got)
		}
	}
}

// Where all shoots are alike: none, workerless, asleep.
func TestContradictions_Landscapes(t *testing.T) {
	t.Parallel()
	for shoots, c := range map[string]struct {
		refused []string
		measure string
	}{
		"[]": {oracle.Names(), "apiDowntime"},
		"[{name: alpha, seed: a}]": {[]string{"CloudEmptied", "Linearizable", "NoCircle", "NoLostMachine", "NoLostWrite",
			"NoNeedlessMove", "NodesPreserved", "ShootUntouched"}, ""},
		"[{name: alpha, seed: a, hibernated: true, workers: 1}]": {[]string{"CloudEmptied", "Linearizable",
			"NoCircle", "NoLostWrite", "NoNeedlessMove", "ShootUntouched"}, "apiDowntime"},
	} {
		text := cell(row{text: "always: [" + strings.Join(oracle.Names(), ", ") +
			"]\n  measure: {apiDowntime: {max: 1m}}"}, "", "")
		begin, end := strings.Index(text, "    shoots:\n"), strings.Index(text, "  steps:\n")
		_, err := Parse("f", []byte(text[:begin]+"    shoots: "+shoots+"\n"+text[end:]))
		mistakes := Mistakes{}
		if !errors.As(err, &mistakes) {
			t.Fatalf("%s: %v", shoots, err)
		}
		var refused []string
		for _, m := range mistakes {
			name, _, _ := strings.Cut(strings.TrimPrefix(m.Message, `Invalid value: "`), `"`)
			refused = append(refused, name)
		}
		want := slices.Clone(c.refused)
		if c.measure != "" {
			want = append(want, c.measure)
		}
		slices.Sort(refused)
		slices.Sort(want)
		if diff := cmp.Diff(want, refused); diff != "" {
			t.Errorf("%s (-want +got):\n%s", shoots, diff)
		}
	}
}

// A timeout multiplier gives goals more time, and settings none.
func TestDoubts_WithAMultiplier_ReachGoals(t *testing.T) {
	t.Parallel()
	s, err := Parse("f", []byte(cell(row{text: "measure: {rto: {max: 5s}, apiDowntime: {max: 5s}}"}, evacuated, "")))
	if err != nil {
		t.Fatal(err)
	}
	for multiplier, want := range map[float64]int{1: 2, 2: 2, 3: 0} {
		if doubts, err := s.Doubts(multiplier); err != nil || len(doubts) != want {
			t.Errorf("with %g: %v, %v, want %d", multiplier, doubts, err, want)
		}
	}
	if s.Spec.Measure.RTO.Seconds() != 5 {
		t.Error("the scenario itself was changed")
	}
}

// The catalogue gives no reason to doubt.
func TestDoubts_OfTheCatalogue_AreNone(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../scenarios/*/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range files {
		s, err := ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if doubts, err := s.Doubts(1); err != nil || len(doubts) > 0 {
			t.Errorf("%s: %v, %v", file, doubts, err)
		}
	}
}
