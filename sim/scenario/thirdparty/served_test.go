package thirdparty_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/scenario/thirdparty"
)

// A seed has each definition once: ours, then those of the extensions, then what extensions take for granted.
func TestDefinitions_OfAnExtension_ReplaceThoseTakenForGranted(t *testing.T) {
	t.Parallel()
	e := landscape.Extension{Name: "vault"}
	for _, name := range []string{"seals.vault.test", "dnsentries.dns.gardener.cloud",
		"workers.extensions.gardener.cloud"} {
		e.Objects = append(e.Objects, []*unstructured.Unstructured{{Object: map[string]any{
			"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
			"metadata": map[string]any{"name": name, "labels": map[string]any{"of": "vault"}},
		}}})
	}
	definitions, err := thirdparty.Definitions([]landscape.Extension{e}, nil)
	if err != nil {
		t.Fatal(err)
	}
	of := map[string]string{}
	for _, definition := range definitions {
		if _, again := of[definition.Name]; again {
			t.Errorf("%s is there twice", definition.Name)
		}
		of[definition.Name] = definition.Labels["of"]
	}
	for name, want := range map[string]string{
		"seals.vault.test": "vault", "dnsentries.dns.gardener.cloud": "vault",
		"workers.extensions.gardener.cloud": "", "scrapeconfigs.monitoring.coreos.com": "",
	} {
		if got, is := of[name]; !is || got != want {
			t.Errorf("%s is there: %t, with label %q, want %q", name, is, got, want)
		}
	}
}

const safe = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: safes.vault.test}
spec:
  group: vault.test
  names: {kind: Safe, listKind: SafeList, plural: safes, singular: safe}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
  - {name: v1alpha1, served: false, storage: false, schema: {openAPIV3Schema: {type: object}}}
`

// withManifest is the vault with a manifest as the second one.
func withManifest(t *testing.T, manifest string) string {
	t.Helper()
	const first = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}"
	return extensionFile(t, vault+"  manifests:\n  - first.yaml\n  - second.yaml\n", [2]string{"first.yaml", first},
		[2]string{"second.yaml", manifest})
}

// An object of a kind that no seed serves is named with the place of its manifest, before anything starts.
func TestFlag_ObjectOfAKind_MustBeServed(t *testing.T) {
	t.Parallel()
	object := func(version, kind string) string {
		return "{apiVersion: " + version + ", kind: " + kind + ", metadata: {name: x}}\n"
	}
	const no, add = "which no seed serves; ", "add the YAML file of its CustomResourceDefinition to spec.manifests"
	for name, c := range map[string]struct{ manifest, want string }{
		"of Kubernetes":             {object("apps/v1", "DaemonSet"), ""},
		"of the aggregation layer":  {object("apiregistration.k8s.io/v1", "APIService"), ""},
		"of Gardener":               {object("resources.gardener.cloud/v1alpha1", "ManagedResource"), ""},
		"that is taken for granted": {object("monitoring.coreos.com/v1", "ServiceMonitor"), ""},
		"beside its definition":     {safe + "---\n" + object("vault.test/v1", "Safe"), ""},
		"without a definition":      {object("vault.test/v1", "Safe"), `Safe "x" is of vault.test/v1, ` + no + add},
		"in a version that is not served": {safe + "---\n" + object("vault.test/v1alpha1", "Safe"),
			no + "it is served as v1; change the object, or " + add},
		"that was removed":       {object("policy/v1beta1", "PodDisruptionBudget"), no + "it is served as v1; change"},
		"that only gardens have": {object("core.gardener.cloud/v1beta1", "Shoot"), no + add},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := withManifest(t, c.manifest)
			given := thirdparty.Flag{Files: []string{file}}
			_, err := given.Parse()
			if c.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if place := file + ":10:5: spec.manifests[1]: "; err == nil || !strings.HasPrefix(err.Error(), place) ||
				!strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q at %q", err, c.want, place)
			}
		})
	}
}

// The definition may be in another file: those of all files are there first.
func TestFlag_DefinitionInAnotherFile_IsServed(t *testing.T) {
	t.Parallel()
	other := extensionFile(t, strings.NewReplacer("my-vault", "other", "type: vault}", "type: other}",
		", {kind: Network, type: transplant, stateMayChange: true}", "").Replace(vault)+"  manifests: [safe.yaml]\n",
		[2]string{"safe.yaml", safe})
	given := thirdparty.Flag{Files: []string{withManifest(t, "{apiVersion: vault.test/v1, kind: Safe, "+
		"metadata: {name: x}}"), other}}
	if _, err := given.Parse(); err != nil {
		t.Error(err)
	}
}

// chartWith is a copy of a chart with one more template.
func chartWith(t *testing.T, template string) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "vault")
	if err := os.CopyFS(folder, os.DirFS("../../chart/testdata/vault")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "templates", "more.yaml"), []byte(template), 0o600); err != nil {
		t.Fatal(err)
	}
	return folder
}

func TestFlag_ObjectOfAChart_MustBeServed(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{
		"vault.example/v1": "", // the chart has the definition
		"vault.example/v1beta1": `:8:10: spec.chart: Safe "x" is of vault.example/v1beta1, which no seed serves; ` +
			`it is served as v1`,
	} {
		folder := chartWith(t, "{apiVersion: "+version+", kind: Safe, metadata: {name: x}}\n")
		given := thirdparty.Flag{Files: []string{extensionFile(t, vault+"  chart: "+folder+"\n")}}
		_, err := given.Parse()
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
