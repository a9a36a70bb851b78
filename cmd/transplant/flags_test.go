package main

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/transplant-sim/transplant/sim/landscape"
)

// simulated are the programs of a landscape that are no actors: the world around the product.
var simulated = []string{"cloud", "nodes", "processnode"}

// launcher is where a landscape starts an actor: the text from a mark to the end of its command.
type launcher struct{ file, mark, end string }

const (
	manifests    = "cmd/transplant/environment/manifests/"
	controlPlane = "controllers/controlplane/"
	buckets      = "cmd/transplant/environment/buckets.go"
)

// launchers are those of all actors, by the words of their commands; a command may be made of two texts.
var launchers = map[string][]launcher{
	"garden-controller-manager": {{manifests + "garden-actors.yaml", "- garden-controller-manager\n", "env:"}},
	"gardenlet":                 {{manifests + "seed-actors.yaml", "- gardenlet\n", "env:"}},
	"extensions":                {{manifests + "seed-actors.yaml", "- extensions\n", "env:"}},
	"gateway":                   {{manifests + "seed-actors.yaml", "- gateway\n", "env:"}},
	"machine-controller":        {{controlPlane + "workers/workers.go", `"machine-controller",`, "}"}, metricsFlag},
	"gardener-resource-manager": {{controlPlane + "resourcemanager/resourcemanager.go",
		`"gardener-resource-manager",`, "}"}, metricsFlag},
	"resource-manager": {{manifests + "resource-manager-actor.yaml", "- resource-manager\n", "env:"}},
	"etcd-guard":       {{controlPlane + "etcd/etcd.go", `"etcd-guard",`, "}"}, serverFiles},
	"etcd-backup serve": {{controlPlane + "etcd/etcd.go", `"etcd-backup", "serve",`, "}"}, backupFlags,
		serverFiles, ofGarden},
	"etcd-backup restore": {backupFlags, ofGarden, {buckets, `Name: "etcd-restore"`, "}"}},
	"vpn-seed-server":     {{controlPlane + "tunnel/tunnel.go", `"transplant", "vpn-seed-server",`, "}"}, metricsFlag},
	"vpn-shoot":           {{controlPlane + "tunnel/tunnel.go", `"transplant", secrets.VPNShoot,`, "return"}},
}

var (
	metricsFlag = launcher{controlPlane + "workload/pod.go", "MetricsFlag = ", "\n"}
	serverFiles = launcher{controlPlane + "etcd/etcd.go", "serverFiles() []string", "}"}
	backupFlags = launcher{controlPlane + "etcd/etcd.go", "backupFlags() []string", "}"}
	ofGarden    = launcher{buckets, "func gardenBackupArgs", "}"}
)

// shown is a test that shows what a flag does: its file, its name, and the word by which it sets the value.
type shown struct{ file, test, word string }

// flagTests are tests of flags that no landscape sets. The first one of a flag sets it by its name.
var flagTests = map[string][]shown{
	"garden-controller-manager --admission-control-config-file": {
		{"cmd/transplant/actors/gardencontrollermanager_test.go", "TestAdmissionControlConfigFile_ListsReachTheAdmission",
			"--admission-control-config-file="},
	},
	"garden-controller-manager --webhook-service": {gcm("--webhook-service=")},
	"garden-controller-manager --evacuation": {gcm("--evacuation="),
		{"controllers/migration/evacuation_test.go", "TestEvacuation_Manual_OnlyReports", "Manual = true"}},
	"garden-controller-manager --maintenance-restarts-control-planes": {gcm("--maintenance-restarts-control-planes="),
		afterwards},
	"garden-controller-manager --maintenance-restarts-core-addons": {gcm("--maintenance-restarts-core-addons"),
		afterwards},
	"garden-controller-manager --maintenance-disables-nginx-ingress": {
		gcm("--maintenance-disables-nginx-ingress"),
		{"controllers/maintenance/sidechange/sidechange_test.go", "TestDisableNginxIngress", "DisableNginxIngress("},
	},
	"gardenlet --respect-sync-period-overwrite": {
		ofGardenlet("--respect-sync-period-overwrite"), {"controllers/shoot/due_test.go", "TestDue",
			"RespectOverwrite: true"},
	},
	"gardenlet --care-stale-extension-threshold": {
		ofGardenlet("--care-stale-extension-threshold="),
		{"controllers/care/health/conditions_test.go", "", `"1 stale heartbeat"`},
	},
	"gardenlet --care-managed-resource-progressing-threshold": {
		ofGardenlet("--care-managed-resource-progressing-threshold="), {"controllers/care/health/conditions_test.go", "",
			"ProgressingRolloutStuck"},
	},
	"gateway --owner-check-interval": {
		{"e2e/fence/seed_test.go", "", "s.entry,\n\t\t\"--owner-check-interval=\"+timing.Interval"},
		{"e2e/fence/fence_test.go", "TestFrozenInTheMiddleOfWritesNobodyAnswersForTheSuccessor", ""},
	},
	"etcd-backup restore --on-damage": {
		{"controllers/etcd/backupcommand_test.go", "TestRestoreFlags_OnDamage_DecidesAboutADamagedChain",
			"--on-damage=last-good"},
		{"controllers/etcd/backup/restore_test.go", "TestDamagedOrMissingObjectIsNamed", "LastGood = true"},
	},
}

func gcm(word string) shown {
	return shown{"cmd/transplant/actors/flags_test.go", "TestGardenControllerManagerFlags_ReachTheirDuties", word}
}

func ofGardenlet(word string) shown {
	return shown{"cmd/transplant/actors/flags_test.go", "TestGardenletFlags_ReachTheirDuties", word}
}

var afterwards = shown{"controllers/maintenance/decide_test.go", "TestWhatIsAskedForAfterwards",
	"RestartCoreAddons: true"}

// settingTests are tests of settings that scenarios leave at their defaults.
var settingTests = map[string]shown{
	"ownerCheckInterval": {"controllers/etcd/process_test.go", "TestGuardFrozenForAMomentGoesOn",
		"--owner-check-interval="},
	"dnsTTL":         {"controllers/controlplane/dns/external_test.go", "TestExternalDNSRecord", "DNSTTL = "},
	"seedLeaseRenew": {"controllers/seed/heartbeat_test.go", "TestHeartbeat", "Interval: time.Second"},
	"waitInterval":   {"controllers/controlplane/run/request_test.go", "TestBackOff", "WaitInterval = 5 * time.Second"},
}

// settingOf are settings of a scenario by what the manifests call them, where that is not the same.
var settingOf = map[string]string{
	"LeaseInterval": "SeedLeaseRenew", "SeedMonitorPeriod": "SeedLeaseRenew", "CareThresholds": "CareThreshold",
	"HealthCheckInterval":  "CareSyncPeriod",
	"ThrottledRetryJitter": "ThrottledRetryPeriod",
}

// Every flag of an actor is set by each landscape, or a test shows what it does. One that a landscape takes from a
// setting of scenarios is that of a scenario, or of a test, with another value than the default.
func TestActorFlags_EachIsSetByALandscapeOrShownByATest(t *testing.T) {
	t.Parallel()
	unused := maps.Clone(flagTests)
	programs := map[string]bool{}
	for program, flags := range actorFlags() {
		programs[program] = true
		if len(launchers[program]) == 0 {
			t.Errorf("no landscape starts %q: add it to launchers, or remove it", program)
			continue
		}
		command := ""
		for _, l := range launchers[program] {
			command += l.text(t)
		}
		for _, flag := range flags {
			name := program + " --" + flag.Name
			tests, tested := flagTests[name]
			delete(unused, name)
			value := regexp.MustCompile(`--` + flag.Name + `(=\S*)?(\s|"|$)`).FindString(command)
			switch {
			case value == "" && !tested:
				t.Errorf("%s: no landscape sets it and no test shows what it does: write one, or remove the flag", name)
			case value != "" && tested:
				t.Errorf("%s: a landscape sets it, so that it needs no row in flagTests", name)
			}
			for _, test := range tests {
				test.check(t, name)
			}
			if m := regexp.MustCompile(`\.Settings\.(\w+)`).FindStringSubmatch(value); m != nil {
				checkSetting(t, name, m[1])
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(unused)) {
		t.Errorf("flagTests has a row for %s, which no actor has", name)
	}
	for _, program := range slices.Sorted(maps.Keys(launchers)) {
		if !programs[program] {
			t.Errorf("launchers has a row for %s, which is no actor", program)
		}
	}
}

// actorFlags are the flags of all programs that a landscape starts, but for the simulated world.
func actorFlags() map[string][]*pflag.Flag {
	found := map[string][]*pflag.Flag{}
	var walk func(command *cobra.Command, words []string)
	walk = func(command *cobra.Command, words []string) {
		words = append(slices.Clone(words), command.Name())
		for _, child := range command.Commands() {
			walk(child, words)
		}
		if !command.Runnable() {
			return
		}
		for _, set := range []*pflag.FlagSet{command.LocalFlags(), command.InheritedFlags()} {
			set.VisitAll(func(flag *pflag.Flag) {
				if program := strings.Join(words, " "); flag.Name != "help" {
					found[program] = append(found[program], flag)
				}
			})
		}
	}
	for _, command := range newCommand().Commands() {
		if command.GroupID == "programs" && !slices.Contains(simulated, command.Name()) {
			walk(command, nil)
		}
	}
	return found
}

func read(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "..", file))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func (l launcher) text(t *testing.T) string {
	t.Helper()
	_, after, found := strings.Cut(read(t, l.file), l.mark)
	text, _, ended := strings.Cut(after, "\n"+strings.TrimPrefix(l.end, "\n"))
	if l.end != "\n" {
		text, ended = untilLine(after, l.end)
	}
	if !found || !ended {
		t.Fatalf("%s has no command between %q and %q", l.file, l.mark, l.end)
	}
	return text
}

// untilLine is what stands before the first line that begins with the end.
func untilLine(text, end string) (string, bool) {
	var before []string
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), end) {
			return strings.Join(before, ""), true
		}
		before = append(before, line)
	}
	return "", false
}

// check that the test is there, and names the value.
func (s shown) check(t *testing.T, what string) {
	t.Helper()
	content := read(t, s.file)
	if !strings.Contains(content, "func "+s.test+"(") && s.test != "" || !strings.Contains(content, s.word) {
		t.Errorf("%s: %s has no test %q with %q", what, s.file, s.test, s.word)
	}
}

// checkSetting wants a setting of scenarios that one of them, or a test, sets.
func checkSetting(t *testing.T, flag, name string) {
	t.Helper()
	if other := settingOf[name]; other != "" {
		name = other
	}
	field, found := reflect.TypeFor[landscape.Settings]().FieldByName(name)
	if !found {
		t.Errorf("%s: scenarios have no setting %s", flag, name)
		return
	}
	setting, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	files, err := filepath.Glob("../../scenarios/*/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	inSettings := regexp.MustCompile(`(?m)^    settings: .*\b` + setting + `: `)
	used := slices.ContainsFunc(files, func(file string) bool {
		return inSettings.MatchString(read(t, strings.TrimPrefix(file, "../../")))
	})
	test, tested := settingTests[setting]
	switch {
	case !used && !tested:
		t.Errorf("%s: no scenario sets %s and no test shows what it does", flag, setting)
	case used && tested:
		t.Errorf("%s: a scenario sets %s, so that it needs no row in settingTests", flag, setting)
	case tested:
		test.check(t, flag)
	}
}
