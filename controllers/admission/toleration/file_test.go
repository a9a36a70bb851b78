package toleration

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

const restrictionHead = "apiVersion: shoottolerationrestriction.admission.gardener.cloud/v1alpha1\nkind: " +
	"Configuration\n"

// inPlugin is the AdmissionConfiguration with a field of the plugin for tolerations, beside another plugin.
func inPlugin(field string) string {
	return `apiVersion: apiserver.config.k8s.io/v1
kind: AdmissionConfiguration
plugins:
- name: ShootDNS
  configuration: {apiVersion: shootdns.admission.gardener.cloud/v1alpha1, kind: Configuration, any: thing}
- name: ShootTolerationRestriction
  ` + field + "\n"
}

// TestRead_FilesOfGardener reads what Gardener's API server is given.
func TestRead_FilesOfGardener(t *testing.T) {
	t.Parallel()
	const inline = `configuration:
    apiVersion: shoottolerationrestriction.admission.gardener.cloud/v1alpha1
    kind: %KIND%
    defaults: [{key: a}]
    whitelist: [{key: a}, {key: b, value: c}]`
	lists := Lists{
		Defaults:  []gardencorev1beta1.Toleration{{Key: "a"}},
		Whitelist: []gardencorev1beta1.Toleration{{Key: "a"}, {Key: "b", Value: ptr.To("c")}},
	}
	for name, c := range map[string]struct {
		text string
		want Lists
	}{
		"inline": {inPlugin(strings.Replace(inline, "%KIND%", "Configuration", 1)), lists},
		"inline, with the long name": {inPlugin(strings.Replace(inline, "%KIND%", "ShootTolerationRestrictionConfiguration",
			1)), lists},
		"of the older group": {strings.Replace(inPlugin(strings.Replace(inline, "%KIND%", "Configuration", 1)),
			"apiserver.config.k8s.io/v1", "apiserver.k8s.io/v1alpha1", 1), lists},
		"in a file beside it": {inPlugin("path: other.yaml"), lists},
		"the plugin's alone":  {restrictionHead + "defaults: [{key: a}]\nwhitelist: [{key: a}, {key: b, value: c}]\n", lists},
		"empty lists":         {restrictionHead, Lists{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Read(writtenFile(t, c.text))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// writtenFile is a file with a text, and beside it one with the plugin's configuration alone.
func writtenFile(t *testing.T, text string) string {
	t.Helper()
	folder := t.TempDir()
	for name, content := range map[string]string{
		"config.yaml": text,
		"other.yaml":  restrictionHead + "defaults: [{key: a}]\nwhitelist: [{key: a}, {key: b, value: c}]\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(folder, "config.yaml")
}

// TestRead_Mistakes_NameFieldAndRemedy: a file that means nothing must not be taken for one that allows
// nothing.
func TestRead_Mistakes_NameFieldAndRemedy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"no YAML": {"a: [", "expected one object with a kind"},
		"another kind": {"kind: Shoot\n",
			`kind: Unsupported value: "Shoot": supported values: "AdmissionConfiguration", "Configuration", ` +
				`"ShootTolerationRestrictionConfiguration"`},
		"another group": {"apiVersion: v1\nkind: Configuration\n",
			`apiVersion: Unsupported value: "v1": supported values: ` +
				`"shoottolerationrestriction.admission.gardener.cloud/v1alpha1"`},
		"another version": {"apiVersion: v1\nkind: AdmissionConfiguration\n",
			`apiVersion: Unsupported value: "v1": supported values: "apiserver.config.k8s.io/v1", "apiserver.k8s.io/v1alpha1"`},
		"no plugin": {"apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\n",
			"plugins: Required value: name the plugin ShootTolerationRestriction"},
		"no configuration": {inPlugin(""), "plugins[1].configuration: Required value"},
		"no file":          {inPlugin("path: none.yaml"), "plugins[1].path: open "},
		"both": {inPlugin("path: other.yaml\n  configuration: {kind: Configuration}"),
			"plugins[1].path: Forbidden: give either path or configuration"},
		"another plugin's": {
			inPlugin("configuration: {apiVersion: shootdns.admission.gardener.cloud/v1alpha1, kind: Configuration}"),
			`plugins[1]: apiVersion: Unsupported value: "shootdns.admission.gardener.cloud/v1alpha1"`},
		"a list misspelt": {restrictionHead + "whiteList: [{key: a}]\n", `unknown field "whiteList"`},
		"no key": {restrictionHead + "defaults: [{value: a}]\n",
			"defaults[0].key: Required value: name the key of the taint"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := writtenFile(t, c.text)
			_, err := Read(path)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("%v, want %q, and the name of the file", err, c.want)
			}
		})
	}
	if _, err := Read("/nowhere.yaml"); err == nil || !strings.Contains(err.Error(),
		"read the admission configuration: open /nowhere.yaml") {
		t.Error(err)
	}
}
