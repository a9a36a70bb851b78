package v1beta1_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// minimal objects, by the headings of docs/defaults.md, with an item in every list that has defaults.
var minimal = map[string]struct {
	into func() gardencorev1beta1.Defaulted
	text string
	// also is a heading whose defaults the object gets, too; a default of its own comes first.
	also string
}{
	"CloudProfile": {func() gardencorev1beta1.Defaulted { return &gardencorev1beta1.CloudProfile{} }, `
spec:
  machineImages: [{name: i, versions: [{version: 1.0.0}, {version: 1.0.1}]}]
  machineTypes: [{name: m}]
  volumeTypes: [{name: v}]`, ""},
	"Seed": {func() gardencorev1beta1.Defaulted { return &gardencorev1beta1.Seed{} }, `spec: {}`, ""},
	"Project": {func() gardencorev1beta1.Defaulted { return &gardencorev1beta1.Project{} }, `
spec: {namespace: garden, owner: {kind: User, name: o}, members: [{kind: Group, name: g}]}`, ""},
	"Shoot": {newShoot, `spec: {}`, ""},
	"Shoot with worker pools": {newShoot, `
spec: {provider: {workers: [{name: a}, {name: b}]}}`, "Shoot"},
	"Pools whose nodes are updated in place": {newShoot, `
spec: {provider: {workers: [{name: a, updateStrategy: AutoInPlaceUpdate}]}}`, "Shoot with worker pools"},
}

func newShoot() gardencorev1beta1.Defaulted { return &gardencorev1beta1.Shoot{} }

var row = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| `([^`]+)` \\|$")

// documented are the rows of docs/defaults.md, by heading and field.
func documented(t *testing.T) map[string]map[string]string {
	t.Helper()
	page, err := os.ReadFile("../../../docs/defaults.md")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]map[string]string{}
	for _, section := range strings.Split(string(page), "\n## ")[1:] {
		heading, body, _ := strings.Cut(section, "\n")
		found[heading] = map[string]string{}
		for _, match := range row.FindAllStringSubmatch(body, -1) {
			found[heading][match[1]] = match[2]
		}
	}
	return found
}

// TestSetDefaults_EveryKind_AsDocumented holds functions and page to each other, in both directions.
func TestSetDefaults_EveryKind_AsDocumented(t *testing.T) {
	t.Parallel()
	rows := documented(t)
	for heading, m := range minimal {
		t.Run(heading, func(t *testing.T) {
			t.Parallel()
			object := m.into()
			read(t, m.text, object)
			before := leaves(t, object)
			object.SetDefaults()
			want := map[string]string{}
			for at := heading; at != ""; at = minimal[at].also {
				if len(rows[at]) == 0 {
					t.Fatalf("docs/defaults.md has no rows under %q", at)
				}
				for field, value := range rows[at] {
					if _, more := want[field]; !more {
						want[field] = value
					}
				}
			}
			got := map[string]string{}
			for field, value := range leaves(t, object) {
				if before[field] != value {
					got[field] = value
				}
			}
			if strategy := "spec.provider.workers[].updateStrategy"; before[strategy] == `"AutoInPlaceUpdate"` {
				delete(want, strategy)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-documented +set):\n%s", diff)
			}
		})
	}
}

func read(t *testing.T, text string, into any) {
	t.Helper()
	if err := yaml.UnmarshalStrict([]byte(text), into); err != nil {
		t.Fatal(err)
	}
}

// leaves are the values of an object by the paths of their fields; items of lists have to agree. A list without objects
// that have names is a value, and so is a list that a default is made of as a whole.
func leaves(t *testing.T, object any) map[string]string {
	t.Helper()
	content, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	var value any
	if err := json.Unmarshal(content, &value); err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	collect(t, found, "", value)
	return found
}

func collect(t *testing.T, found map[string]string, path string, value any) {
	t.Helper()
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			collect(t, found, strings.TrimPrefix(path+"."+key, "."), value[key])
		}
		return
	case []any:
		if ofObjects := regexp.MustCompile(`(Images|Types|versions|workers|members)$`); ofObjects.MatchString(path) {
			for _, item := range value {
				collect(t, found, path+"[]", item)
			}
			return
		}
	}
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	if other, twice := found[path]; twice && other != string(text) && !strings.HasSuffix(path, ".name") &&
		!strings.HasSuffix(path, ".version") {
		t.Errorf("%s is %s and %s", path, other, text)
	}
	found[path] = string(text)
}

// TestSetDefaults_WhatIsSet_Stays: nothing that an author has written is changed, and doing it twice changes nothing.
func TestSetDefaults_WhatIsSet_Stays(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		object gardencorev1beta1.Defaulted
		text   string
	}{
		"profile": {&gardencorev1beta1.CloudProfile{}, `
spec:
  machineImages:
  - {name: i, updateStrategy: patch, versions: [{version: 1.0.0, architectures: [arm64], cri: [{name: other}]}]}
  machineTypes: [{name: m, architecture: arm64, usable: false}]
  volumeTypes: [{name: v, usable: false}]`},
		"profile with capabilities": {&gardencorev1beta1.CloudProfile{}, `
spec:
  machineCapabilities: [{name: architecture, values: [arm64]}]
  machineImages: [{name: i, updateStrategy: major, versions: [{version: 1.0.0, cri: [{name: containerd}]}]}]
  machineTypes: [{name: m, usable: true}]`},
		"seed": {&gardencorev1beta1.Seed{}, `
spec:
  networks: {ipFamilies: [IPv6]}
  settings:
    dependencyWatchdog: {prober: {enabled: false}, weeder: {enabled: false}}
    scheduling: {visible: false}
    topologyAwareRouting: {enabled: true}
    verticalPodAutoscaler: {enabled: false}`},
		"project": {&gardencorev1beta1.Project{}, `
spec:
  namespace: garden
  owner: {kind: ServiceAccount, name: o, namespace: n}
  members: [{kind: User, name: u, apiGroup: other, role: admin}]
  tolerations:
    defaults: [{key: seed.gardener.cloud/protected, value: v}]
    whitelist: [{key: seed.gardener.cloud/protected, value: v}]`},
		"project of service accounts": {&gardencorev1beta1.Project{}, `
spec: {namespace: garden-p, members: [{kind: ServiceAccount, name: s, roles: [uam]}]}`},
		"another project": {&gardencorev1beta1.Project{}, `spec: {namespace: garden-p}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			read(t, c.text, c.object)
			before := leaves(t, c.object)
			c.object.SetDefaults()
			if diff := cmp.Diff(before, leaves(t, c.object)); diff != "" {
				t.Errorf("(-before +after):\n%s", diff)
			}
		})
	}
}

func TestSetDefaults_Twice_ChangesNothing(t *testing.T) {
	t.Parallel()
	for heading, m := range minimal {
		object := m.into()
		read(t, m.text, object)
		object.SetDefaults()
		once := leaves(t, object)
		object.SetDefaults()
		if diff := cmp.Diff(once, leaves(t, object)); diff != "" {
			t.Errorf("%s (-once +twice):\n%s", heading, diff)
		}
	}
}

// TestSetDefaults_ManualPool_LeavesNumbersToItsUser and the size of a node's pod range follows the pods.
func TestSetDefaults_ManualPool_LeavesNumbersToItsUser(t *testing.T) {
	t.Parallel()
	shoot := &gardencorev1beta1.Shoot{}
	read(t, `spec: {provider: {workers: [{name: a, updateStrategy: ManualInPlaceUpdate}]}}`, shoot)
	shoot.SetDefaults()
	worker := shoot.Spec.Provider.Workers[0]
	if worker.MaxSurge != nil || worker.MaxUnavailable != nil ||
		!*worker.MachineControllerManagerSettings.DisableHealthTimeout {
		t.Errorf("%+v", worker)
	}
}

func TestSetDefaults_NodeCIDRMaskSize_FollowsPods(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pods string
		want string
	}{
		{`kubernetes: {kubelet: {maxPods: 64}}, provider: {workers: [{name: a}]}`, "25"},
		{`kubernetes: {kubelet: {maxPods: 128}}, provider: {workers: [{name: a}]}`, "24"},
		{`kubernetes: {kubelet: {maxPods: 129}}, provider: {workers: [{name: a}]}`, "23"},
		{`provider: {workers: [{name: a, kubernetes: {kubelet: {maxPods: 250}}}]}`, "23"},
		{`networking: {ipFamilies: [IPv6]}, provider: {workers: [{name: a}]}`, "<nil>"},
	} {
		shoot := &gardencorev1beta1.Shoot{}
		read(t, "spec: {"+c.pods+"}", shoot)
		shoot.SetDefaults()
		got := "<nil>"
		if size := shoot.Spec.Kubernetes.KubeControllerManager.NodeCIDRMaskSize; size != nil {
			got = fmt.Sprint(*size)
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.pods, got, c.want)
		}
	}
}

// A whitelist that has the taint with a value does not allow the default toleration, which has none.
func TestSetDefaults_GardenProjectWithValues_WhitelistsTheDefault(t *testing.T) {
	t.Parallel()
	project := &gardencorev1beta1.Project{}
	read(t, `
spec:
  namespace: garden
  tolerations: {whitelist: [{key: seed.gardener.cloud/protected, value: x}]}`, project)
	project.SetDefaults()
	project.SetDefaults()
	value := "x"
	want := &gardencorev1beta1.ProjectTolerations{
		Defaults: []gardencorev1beta1.Toleration{{Key: "seed.gardener.cloud/protected"}},
		Whitelist: []gardencorev1beta1.Toleration{
			{Key: "seed.gardener.cloud/protected", Value: &value}, {Key: "seed.gardener.cloud/protected"},
		},
	}
	if diff := cmp.Diff(want, project.Spec.Tolerations); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
