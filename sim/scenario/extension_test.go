package scenario_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/scenario"
	"github.com/transplant-sim/transplant/sim/scenario/reference"
)

const vault = `apiVersion: transplant.dev/v1alpha1
kind: ExtensionDeployment
metadata: {name: my-vault}
spec:
  resources: [{kind: Extension, type: vault}, {kind: Network, type: transplant, stateMayChange: true}]
  binary: vault
  args: [--verbose]
  env: [{name: LEVEL, value: high}]
  rules: [{apiGroups: [""], resources: [secrets], verbs: [get, create]}]
  providerConfig: {size: 3}
`

// extensionFile is a file beside a program.
func extensionFile(t *testing.T, text string) string {
	t.Helper()
	folder := t.TempDir()
	for name, mode := range map[string]os.FileMode{"vault": 0o755, "notes": 0o644} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte("#!"), mode); err != nil {
			t.Fatal(err)
		}
	}
	for name, content := range map[string]string{
		"empty.yaml":    "# nothing\n---\n",
		"nameless.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n---\n{apiVersion: v1, kind: Secret}\n",
		"two.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n---\n" +
			"{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: Secret, metadata: {name: b}}]}\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(folder, "vault.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestAnExtensionInAFile(t *testing.T) {
	t.Parallel()
	file := extensionFile(t, vault)
	got, err := scenario.ParseExtension(file)
	if err != nil {
		t.Fatal(err)
	}
	want := landscape.Extension{
		Name: "my-vault", Binary: filepath.Join(filepath.Dir(file), "vault"), Args: []string{"--verbose"},
		Resources: []landscape.ExtensionResource{{Kind: "Extension", Type: "vault"},
			{Kind: "Network", Type: "transplant", StateMayChange: true}},
		Env: []landscape.EnvVar{{Name: "LEVEL", Value: "high"}},
		Rules: []landscape.Rule{{APIGroups: []string{""}, Resources: []string{"secrets"},
			Verbs: []string{"get", "create"}}},
		ProviderConfig: &runtime.RawExtension{
			Raw: []byte(`{"size":3}`),
		},
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMistakesInExtensions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ old, new, want string }{
		"another kind": {"kind: ExtensionDeployment", "kind: Extension",
			`:2:7: kind: Unsupported value: "Extension": supported values: "ExtensionDeployment"`},
		"an unknown field": {"  args:", "  arg:", `:7:3: spec.arg: unknown field; did you mean "args"?`},
		"nothing to do": {"[{kind: Extension, type: vault}, {kind: Network, type: transplant, stateMayChange: true}]",
			"[]", ":5:14: spec.resources: Required value: an extension reconciles something"},
		"an unknown kind": {"kind: Network", "kind: Net",
			`:5:54: spec.resources[1].kind: Unsupported value: "Net": supported values: "BackupBucket"`},
		"a kind nobody makes": {"kind: Network", "kind: Bastion", `spec.resources[1].kind: Unsupported value: "Bastion"`},
		"a file without a root": {"  args:", "  files: [{path: etc/x.yaml, content: x}]\n  args:",
			`:7:18: spec.files[0].path: Invalid value: "etc/x.yaml": must be the absolute path of a file`},
		"a file of the landscape": {"  args:", "  files: [{path: /srv/seed/kubeconfig, content: x}]\n  args:",
			`spec.files[0].path: Forbidden: the landscape puts files of its own into /srv/seed; take another folder`},
		"two files at one path": {"  args:", "  files: [{path: /a, content: x}, {path: /a, content: y}]\n  args:",
			`spec.files[1].path: Duplicate value: "/a"`},
		"a file to copy and content": {"  args:", "  files: [{path: /a, content: x, from: notes}]\n  args:",
			"spec.files[0].content: Forbidden: there is a file to copy, too; give one of both"},
		"a file to copy that is not there": {"  args:", "  files: [{path: /a, from: missing}]\n  args:",
			"missing: no such file or directory; the path is one from the folder of this file"},
		"a manifest that is not there": {"  args:", "  manifests: [missing.yaml]\n  args:",
			"missing.yaml: no such file or directory; the path is one from the folder of this file"},
		"a manifest without objects": {"  args:", "  manifests: [empty.yaml]\n  args:",
			`:7:15: spec.manifests[0]: Invalid value: "empty.yaml": has no object`},
		"a manifest that is no object": {"  args:", "  manifests: [vault]\n  args:",
			`spec.manifests[0]: Invalid value: "vault"`},
		"a manifest of a nameless object": {"  args:", "  manifests: [nameless.yaml]\n  args:",
			`spec.manifests[0]: Invalid value: "nameless.yaml": document 2: each object needs apiVersion, kind and ` +
				`metadata.name`},
		"an unknown field of the Shoot": {"  args:", "  shoot: {spec: {networkin: {type: calico}}}\n  args:",
			`:7:29: spec.shoot.spec.networkin: Forbidden: there is no such field; did you mean "networking"?`},
		"a part of the Shoot that stays": {"  args:", "  shoot: {metadata: {name: beta}}\n  args:",
			`:7:28: spec.shoot.metadata.name: Unsupported value: "name": supported values: "annotations", "labels"`},
		"a Shoot as a pool": {"  args:", "  workerPool: {spec: {}}\n  args:",
			`:7:22: spec.workerPool.spec: Forbidden: there is no such field`},
		"nothing of the CloudProfile": {"  args:", "  cloudProfile: {}\n  args:",
			":7:17: spec.cloudProfile: Required value: a patch changes something"},
		"a wrong value in the Seed": {"  args:", "  seed: {spec: {backup: {provider: 3}}}\n  args:",
			":7:36: spec.seed.spec.backup.provider: Invalid value: 3: must be a string"},
		"the reference's type": {"type: vault", "type: transplant",
			`:5:39: spec.resources[0].type: Invalid value: "transplant": is the reference provider's; give your Extension a ` +
				`type of its own`},
		"a moment of a Network": {"stateMayChange: true", "lifecycle: {migrate: AfterKubeAPIServer}",
			"spec.resources[1].lifecycle: Forbidden: only resources of kind Extension have it; leave it out"},
		"a moment that migrate does not have": {"type: vault}", "type: vault, lifecycle: {migrate: AfterWorker}}",
			`:5:67: spec.resources[0].lifecycle.migrate: Unsupported value: "AfterWorker": supported values: ` +
				`"BeforeKubeAPIServer", "AfterKubeAPIServer"`},
		"enabled where it does not fit": {"type: vault}", "type: vault, autoEnable: [seed]}",
			`spec.resources[0].autoEnable[0]: Invalid value: "seed": is not among clusterCompatibility; add it there`},
		"enabled nowhere": {"type: vault}", "type: vault, autoEnable: [soil]}",
			`spec.resources[0].autoEnable[0]: Unsupported value: "soil"`},
		"twice the same": {"{kind: Network, type: transplant, stateMayChange: true}", "{kind: Extension, type: vault}",
			`:5:47: spec.resources[1]: Duplicate value: "Extension/vault"`},
		"no program": {"  binary: vault\n", "", "spec.binary: Required value: an extension is a program"},
		"image and program": {"  binary: vault\n", "  binary: vault\n  image: vault:dev\n",
			":7:10: spec.image: Forbidden: there is a binary, too; give one of both"},
		"a program not there": {"binary: vault", "binary: missing",
			"no such file or directory; the path is one from the folder of this file"},
		"a folder":       {"binary: vault", "binary: .", "is no file; must be a program"},
		"not executable": {"binary: vault", "binary: notes", "is not executable; make it so with chmod +x"},
		"a variable of ours": {"name: LEVEL", "name: KUBECONFIG",
			":8:16: spec.env[0].name: Forbidden: the landscape sets it for every extension; leave it out"},
		"a rule without verbs": {"verbs: [get, create]", "verbs: []",
			"spec.rules[0].verbs: Required value: a rule without one allows nothing"},
		"configuring no shoots": {"{kind: Extension, type: vault}, ", "",
			"spec.providerConfig: Forbidden: shoots have one for Extensions alone"},
		"a name for nobody": {"my-vault", "My_Vault", ":3:18: metadata.name: Invalid value"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if !strings.Contains(vault, c.old) {
				t.Fatalf("there is no %q to be replaced", c.old)
			}
			file := extensionFile(t, strings.Replace(vault, c.old, c.new, 1))
			_, err := scenario.ParseExtension(file)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), file+":") {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

// What an extension's file names is read with it: paths are those from its folder.
func TestParseExtension_FilesAndManifests_AreRead(t *testing.T) {
	t.Parallel()
	e, err := scenario.ParseExtension(extensionFile(t, vault+`  files: [{path: /a, content: x}, {path: /b, from: notes}]
  manifests: [two.yaml]
`))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]landscape.ExtensionFile{{Path: "/a", Content: "x"}, {Path: "/b", From: "notes", Content: "#!"}},
		e.Files); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	var objects []string
	for _, object := range slices.Concat(e.Objects...) {
		objects = append(objects, object.GetKind()+" "+object.GetName())
	}
	if diff := cmp.Diff([]string{"ConfigMap a", "Secret b"}, objects); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
}

// A scenario may name a third-party extension as an actor only where it is given. No two actors have one name.
func TestParse_ThirdPartyExtension_IsAnActor(t *testing.T) {
	t.Parallel()
	text := []byte(`apiVersion: transplant.dev/v1alpha1
kind: Scenario
metadata: {name: killed}
spec:
  why: it comes back
  landscape: {seeds: [{name: a}]}
  steps:
  - fault: {name: gone, kill: {actor: my-vault-a}}
`)
	own := landscape.Extension{Name: "my-vault"}
	s, err := scenario.Parse("f", text, own)
	if err != nil || len(s.Spec.Landscape.Extensions) != 1 {
		t.Errorf("with the extension: %v", err)
	}
	if _, err := scenario.Parse("f", text); err == nil || !strings.Contains(err.Error(),
		"spec.steps[0].fault.kill.actor") {
		t.Errorf("without the extension: %v", err)
	}
	if _, err := scenario.Parse("f", text, own, landscape.Extension{Name: "gardenlet"}); err == nil ||
		!strings.Contains(err.Error(), `"gardenlet-a": would be two actors`) {
		t.Errorf("with one that is called as another actor is: %v", err)
	}
	twice := []byte(strings.Replace(string(text), "seeds: [{name: a}]", "seeds: [{name: a}, {name: a}]", 1))
	if _, err := scenario.Parse("f", twice, own); err == nil || strings.Contains(err.Error(), "two actors") {
		t.Errorf("a seed that is there twice: %v", err)
	}
}

func TestTheExtensionSchemaIsUpToDate(t *testing.T) {
	want, err := reference.ExtensionSchema()
	if err != nil {
		t.Fatal(err)
	}
	const name = "extensiondeployment.schema.json"
	got, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("run go generate ./sim/scenario (-generated +file):\n%s", diff)
	}
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(asJSON(t, []byte(vault))); err != nil {
		t.Errorf("the schema refuses what the parser takes: %v", err)
	}
	if schema.Validate(asJSON(t, []byte(strings.Replace(vault, "  binary: vault\n", "", 1)))) == nil {
		t.Error("the schema takes an extension without a program")
	}
}
