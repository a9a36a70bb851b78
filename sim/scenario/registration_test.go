package scenario_test

import (
	"bytes"
	"encoding/base64"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/scenario"
)

// chartFolder is a chart as Gardener's extensions have them.
const chartFolder = "../chart/testdata/vault"

const registered = `apiVersion: core.gardener.cloud/v1
kind: ControllerDeployment
metadata: {name: vault}
helm:
  rawChart: CHART
  values: {leaderElection: {resourceName: from-deployment}}
---
apiVersion: core.gardener.cloud/v1beta1
kind: ControllerRegistration
metadata: {name: vault}
spec:
  deployment: {policy: Always, deploymentRefs: [{name: vault}]}
  resources:
  - {kind: Bastion, type: vault}
  - kind: Extension
    type: vault
    autoEnable: [shoot]
    reconcileTimeout: 30s
    workerlessSupported: true
    lifecycle: {migrate: AfterKubeAPIServer}
`

// archive of the chart in base64, as ControllerDeployments contain it.
func archive(t *testing.T) string {
	t.Helper()
	var content bytes.Buffer
	tar := exec.CommandContext(t.Context(), "tar", "-C", filepath.Dir(chartFolder), "-cz", filepath.Base(chartFolder))
	tar.Stdout = &content
	if err := tar.Run(); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(content.Bytes())
}

// registrationFile is the file of a pair, with the chart in it, beside what extensionFile makes.
func registrationFile(t *testing.T, text string) string {
	t.Helper()
	file := extensionFile(t, "")
	if err := os.WriteFile(file, []byte(strings.Replace(text, "CHART", archive(t), 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestParseExtension_ControllerRegistration_IsAnExtension(t *testing.T) {
	t.Parallel()
	file := registrationFile(t, registered)
	got, err := scenario.ParseExtension(file)
	if err != nil {
		t.Fatal(err)
	}
	want := []landscape.ExtensionResource{{Kind: "Extension", Type: "vault",
		AutoEnable:          []gardencorev1beta1.ClusterType{gardencorev1beta1.ClusterTypeShoot},
		ReconcileTimeout:    metav1.Duration{Duration: 30 * time.Second},
		WorkerlessSupported: true,
		Lifecycle: &gardencorev1beta1.ControllerResourceLifecycle{
			Migrate: ptr.To(gardencorev1beta1.AfterKubeAPIServer)}}}
	if diff := cmp.Diff(want, got.Resources); diff != "" {
		t.Errorf("resources (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]landscape.ExtensionContainer{{Name: "vault", Image: "example.org/vault:v1",
		Field: "spec.registration"}},
		got.Containers); diff != "" || got.Name != "vault" || got.Account != "gardener-extension-vault" {
		t.Errorf("%s with account %s, containers (-want +got):\n%s", got.Name, got.Account, diff)
	}
	if notes := strings.Join(got.Notes, "; "); !strings.Contains(notes, "Bastion vault: no landscape has") {
		t.Errorf("notes %q", notes)
	}
	// In a file of our kind, what the registration has no place for.
	own := filepath.Join(filepath.Dir(file), "own.yaml")
	if err := os.WriteFile(own, []byte(`apiVersion: transplant.dev/v1alpha1
kind: ExtensionDeployment
metadata: {name: mine}
spec: {registration: vault.yaml, binary: vault, args: [--verbose]}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err = scenario.ParseExtension(own)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]landscape.ExtensionContainer{{Name: "vault",
		Binary: filepath.Join(filepath.Dir(file), "vault"), Args: []string{"--verbose"},
		Field: "spec.binary"}}, got.Containers); diff != "" {
		t.Errorf("containers (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, got.Resources); diff != "" || got.Name != "mine" {
		t.Errorf("%s, resources (-want +got):\n%s", got.Name, diff)
	}
}

func TestParseExtension_MistakesInRegistrations_HavePlaceAndRemedy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ old, new, want string }{
		"a moment that there is not": {"AfterKubeAPIServer", "AfterWorker",
			`:20:26: spec.resources[1].lifecycle.migrate: Unsupported value: "AfterWorker"`},
		"an unknown field": {"autoEnable:", "autoEnabled:",
			`spec.resources[1].autoEnabled: Forbidden: there is no such field; did you mean "autoEnable"?`},
		"an unknown kind": {"kind: Extension", "kind: Extensions", `spec.resources[1].kind: Unsupported value: "Extensions"`},
		"another object": {"kind: ControllerDeployment", "kind: ConfigMap", `:2:7: kind: Unsupported value: "ConfigMap": ` +
			`supported values: "ControllerRegistration", "ControllerDeployment"`},
		"another version": {"core.gardener.cloud/v1beta1", "core.gardener.cloud/v2",
			`apiVersion: Unsupported value: "core.gardener.cloud/v2"`},
		"a chart in a registry": {"  rawChart: CHART\n", "  ociRepository: {ref: example.org/chart:v1}\n",
			"helm.ociRepository: Invalid value: no chart is fetched from a registry; get it with helm pull, and name it with " +
				"spec.chart in a file of kind ExtensionDeployment that has this file as spec.registration"},
		"no chart": {"  rawChart: CHART\n", "",
			"helm: Invalid value: give the chart in base64, or name it with spec.chart"},
		"not a chart": {"CHART", "aGVsbG8=", "spec.registration: Invalid value"},
		"a second one": {"kind: ControllerDeployment", "kind: ControllerRegistration",
			":9:7: kind: Forbidden: is a second one; an extension has one"},
		"a deployment that it does not name": {"deploymentRefs: [{name: vault}]", "deploymentRefs: [{name: other}]",
			`:3:18: metadata.name: Invalid value: "vault": is not the one that the ControllerRegistration "vault" names in ` +
				"spec.deployment.deploymentRefs; name it there, or leave it out"},
		"a deployment that nobody names": {", deploymentRefs: [{name: vault}]", "", ":3:18: metadata.name: Invalid value"},
		"several deployments": {"deploymentRefs: [{name: vault}]", "deploymentRefs: [{name: vault}, {name: other}]",
			":12:48: spec.deployment.deploymentRefs: Too many: 2: must have at most 1 item"},
		"two deployments of a name": {"---\n", "---\n{apiVersion: core.gardener.cloud/v1, kind: ControllerDeployment, " +
			"metadata: {name: vault}, helm: {rawChart: aGVsbG8=}}\n---\n", `:8:83: metadata.name: Duplicate value: "vault"`},
		"no time at all": {"reconcileTimeout: 30s", "reconcileTimeout: 0s",
			`:18:23: spec.resources[1].reconcileTimeout: Invalid value: "0s": must be above 0, or be left out`},
		"nothing that a landscape has": {"kind: Extension\n", "kind: Bastion\n",
			":13:3: spec.resources: Required value: an extension reconciles something, such as " +
				"{kind: Extension, type: my-type}; no landscape has an object of the kinds Bastion, SelfHostedShootExposure"},
		"a long name": {"metadata: {name: vault}\nspec", "metadata: {name: A}\nspec", "metadata.name: Invalid value"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if !strings.Contains(registered, c.old) {
				t.Fatalf("there is no %q to be replaced", c.old)
			}
			file := registrationFile(t, strings.Replace(registered, c.old, c.new, 1))
			_, err := scenario.ParseExtension(file)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), file+":") {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

func TestParseExtension_FieldsOfOwnFile_HoldWithARegistration(t *testing.T) {
	t.Parallel()
	const own = `apiVersion: transplant.dev/v1alpha1
kind: ExtensionDeployment
metadata: {name: mine}
spec:
  registration: vault.yaml
  binary: vault
`
	deployment, alone, _ := strings.Cut(registered, "---\n")
	for name, c := range map[string]struct{ registration, own, want string }{
		"alone": {alone, own, ""},
		"nothing configured": {strings.Replace(registered, "kind: Extension\n    type: vault\n    autoEnable: [shoot]\n"+
			"    reconcileTimeout: 30s\n    workerlessSupported: true\n    lifecycle: {migrate: AfterKubeAPIServer}",
			"kind: Network\n    type: transplant", 1), own + "  providerConfig: {a: b}\n",
			"own.yaml:7:19: spec.providerConfig: Forbidden: shoots have one for Extensions alone"},
		"nothing that a landscape has": {strings.Replace(registered, "kind: Extension\n", "kind: Bastion\n", 1), own,
			"vault.yaml:13:3: spec.resources: Required value"},
		"no registration": {deployment, own, "vault.yaml:1: has no ControllerRegistration"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := filepath.Dir(registrationFile(t, c.registration))
			file := filepath.Join(folder, "own.yaml")
			if err := os.WriteFile(file, []byte(c.own), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := scenario.ParseExtension(file)
			if c.want == "" {
				if err != nil {
					t.Error(err)
				}
			} else if err == nil || !strings.HasPrefix(err.Error(), filepath.Join(folder, c.want)) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

func TestParseExtension_WhatCannotStandAlone_SaysWhereItBelongs(t *testing.T) {
	t.Parallel()
	_, alone, _ := strings.Cut(registered, "---\n")
	file := registrationFile(t, alone)
	for path, want := range map[string]string{
		file: file + ":5:15: spec.deployment: its ControllerDeployment is not in this file; add it, or name this file as " +
			"spec.registration in a file of kind ExtensionDeployment, with binary",
		filepath.Dir(file): "it is a folder; give the files in it, such as " + filepath.Join(filepath.Dir(file), "*.yaml"),
	} {
		if _, err := scenario.ParseExtension(path); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func TestParseExtension_Chart_MistakesHavePlaceAndRemedy(t *testing.T) {
	t.Parallel()
	absolute, err := filepath.Abs(chartFolder)
	if err != nil {
		t.Fatal(err)
	}
	of := strings.Replace(vault, "  binary: vault\n", "  chart: "+absolute+"\n  binary: vault\n", 1)
	for name, c := range map[string]struct{ old, new, want string }{
		"a chart":       {"", "", ""},
		"no such chart": {absolute, "charts/vault", ":6:10: spec.chart: Invalid value"},
		"values that do not fit": {"  args:", "  values: {image: none}\n  args:",
			":6:10: spec.chart: Invalid value"},
		"an unknown container": {"  binary: vault\n", "  containers: [{name: volt, binary: vault}]\n",
			`:7:23: spec.containers[0].name: Unsupported value: "volt": supported values: "vault"`},
		"a container of nothing": {"  binary: vault\n", "  containers: [{name: vault, binary: none}]\n",
			"spec.containers[0].binary: Invalid value"},
		"several containers": {"  args:", "  values: {proxy: true}\n  args:",
			"spec.containers: Forbidden: the chart has the containers vault, proxy; say here"},
		"a command": {"  args:", "  command: [vault]\n  args:",
			":8:12: spec.command: Forbidden: the chart's Deployment has it"},
		"values without a chart": {"  chart: " + absolute + "\n", "  values: {a: b}\n",
			":6:11: spec.values: Forbidden: there is no chart"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := extensionFile(t, strings.Replace(of, c.old, c.new, 1))
			_, err := scenario.ParseExtension(file)
			if c.want == "" {
				if err != nil {
					t.Error(err)
				}
			} else if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), file+":") {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}
