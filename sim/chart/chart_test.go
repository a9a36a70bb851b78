package chart_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/sim/chart"
	"github.com/transplant-sim/transplant/sim/landscape"
)

const folder = "testdata/vault"

// seedA is a seed with what the extensions' files have made of it.
func seedA() *gardencorev1beta1.Seed {
	seed := &gardencorev1beta1.Seed{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	seed.Spec.Provider = gardencorev1beta1.SeedProvider{Type: "transplant", Region: "elsewhere"}
	seed.Spec.DNS.Defaults = []gardencorev1beta1.SeedDNSProviderConfig{{Type: "vault-dns", Domain: "vault.test"}}
	return seed
}

func withValues(values string) landscape.Extension {
	return landscape.Extension{Name: "my-vault", Chart: folder, Values: &runtime.RawExtension{Raw: []byte(values)}}
}

func TestInstall_Chart_IsTheProgramAndWhatItNeeds(t *testing.T) {
	t.Parallel()
	got, err := chart.Install(withValues(
		`{"leaderElection":{"resourceName":"mine"},"gardener":{"seed":{"name":"other"}}}`), seedA())
	if err != nil {
		t.Fatal(err)
	}
	var objects []string
	var config *unstructured.Unstructured
	for _, object := range got.Objects {
		objects = append(objects, object.GetKind()+" "+object.GetName())
		if object.GetKind() == "ConfigMap" {
			config = object
		}
	}
	slices.Sort(objects)
	const name = "gardener-extension-my-vault"
	if diff := cmp.Diff([]string{"ClusterRole " + name, "ClusterRoleBinding " + name, "ConfigMap vault-config",
		"CustomResourceDefinition safes.vault.example", "ServiceAccount " + name}, objects); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	data, _, _ := unstructured.NestedString(config.Object, "data", "config.yaml")
	if data != "seed: a\nleader: mine\nregion: elsewhere\ndns: vault-dns\n" ||
		config.GetNamespace() != "extension-my-vault" {
		t.Errorf("the configuration is %q in namespace %s: Gardener's values win, then those of the file", data,
			config.GetNamespace())
	}
	container := got.Deployment.Spec.Template.Spec.Containers[0]
	if container.Image != "example.org/vault:v1" ||
		container.Args[0] != "--gardener-version="+chart.GardenerVersion {
		t.Errorf("the container is %+v", container)
	}
}

func TestInstall_ChartThatIsNoExtension_IsRefusedWithRemedy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		of   landscape.Extension
		want string
	}{
		"two programs": {withValues(`{"second":true}`), "the Deployments gardener-extension-my-vault, vault-admission; an " +
			"extension is one: switch the others off with values"},
		"a value of a wrong form": {withValues(`{"image":"none"}`), "render the chart"},
		"no chart":                {landscape.Extension{Chart: "testdata"}, "Chart.yaml"},
		"no archive":              {landscape.Extension{ChartArchive: []byte("x")}, "read the archive of the chart"},
	} {
		if _, err := chart.Install(c.of, seedA()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
}

// Charts are rendered for the Gardener that the specification is about.
func TestGardenerVersion_IsTheOneOfTheSpecification(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("../../docs/specification/README.md")
	if err != nil {
		t.Fatal(err)
	}
	if want := "(" + strings.TrimSuffix(chart.GardenerVersion, ".0") + ")"; !strings.Contains(string(content), want) {
		t.Errorf("docs/specification/README.md does not have %s", want)
	}
}

// What would give the pod more than an extension gets, or would hide what it gets, is refused.
func TestInstall_PodThatCannotBe_IsRefusedWithRemedy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ values, want string }{
		"a folder of the node":   {`{"volume":{"name":"x","hostPath":{"path":"/etc"}}}`, "mounts /etc of the node"},
		"the node's network":     {`{"pod":{"hostNetwork":true}}`, "has hostNetwork"},
		"the node's processes":   {`{"pod":{"hostPID":true}}`, "has hostPID"},
		"the node's memory":      {`{"pod":{"hostIPC":true}}`, "has hostIPC"},
		"a volume of ours":       {`{"volume":{"name":"transplant-seed","emptyDir":{}}}`, `has a volume "transplant-seed"`},
		"a token":                {projected(`{"serviceAccountToken":{"path":"t"}}`), "mounts a token of its ServiceAccount"},
		"our namespace":          {mountAt("/var/run/secrets/kubernetes.io/serviceaccount/"), "files of its own in /var/run"},
		"above our kubeconfigs":  {mountAt("/srv"), "files of its own in /srv/seed"},
		"below our kubeconfig":   {mountAt("/srv/cloud/x"), "files of its own in /srv/cloud"},
		"a file":                 {mountAt("/etc/more/a.yaml"), "the file /etc/more/a.yaml of spec.files"},
		"the folder of a file":   {mountAt("/etc/more"), ""},
		"something else of /srv": {mountAt("/srv/seeds"), ""},
		"a projected volume":     {projected(`{"secret":{"name":"s"}}`), ""},
	} {
		e := withValues(c.values)
		e.Files = []landscape.ExtensionFile{{Path: "/etc/more/a.yaml"}}
		_, err := chart.Install(e, seedA())
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) ||
			!strings.HasSuffix(err.Error(), ": switch it off with values")) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
}

func projected(source string) string {
	return `{"volume":{"name":"x","projected":{"sources":[` + source + `]}}}`
}

func mountAt(path string) string { return `{"mount":{"name":"config","mountPath":"` + path + `"}}` }

// Reading a chart does not wait for another program, and fetches nothing.
func TestOpen_PipeOrRemoteSchema_IsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	fetched := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		t.Error("the schema was fetched")
		_, _ = w.Write([]byte("{}"))
	}))
	defer fetched.Close()
	folder := func(more string, make func(path string) error) string {
		of := t.TempDir()
		if err := errors.Join(os.WriteFile(filepath.Join(of, "Chart.yaml"),
			[]byte("apiVersion: v2\nname: c\nversion: 1.0.0\n"), 0o600), make(filepath.Join(of, more))); err != nil {
			t.Fatal(err)
		}
		return of
	}
	pipe := func(path string) error { return syscall.Mkfifo(path, 0o600) }
	schema := func(content string) func(string) error {
		return func(path string) error { return os.WriteFile(path, []byte(content), 0o600) }
	}
	for name, c := range map[string]struct{ path, want string }{
		"a pipe":            {filepath.Join(folder("pipe", pipe), "pipe"), "it is a named pipe; give a regular file"},
		"a pipe of ignored": {folder(".helmignore", pipe), "it is a named pipe"},
		"a remote schema": {folder("values.schema.json", schema(`{"$ref":"`+fetched.URL+`/s"}`)),
			"nothing is fetched for a schema; put " + fetched.URL},
		"a schema of its base": {folder("values.schema.json", schema(`{"$id":"`+fetched.URL+`/","$ref":"s"}`)),
			"nothing is fetched"},
		"a schema of a file": {folder("values.schema.json", schema(`{"$ref":"file:///dev/zero"}`)), "nothing is fetched"},
		"a schema of its own": {folder("values.schema.json", schema(
			`{"$schema":"http://json-schema.org/draft-07/schema#","$ref":"#/$defs/a","$defs":{"a":{}}}`)), ""},
	} {
		_, err := chart.Open(c.path)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
}

func TestObjects_List_IsItsItems(t *testing.T) {
	t.Parallel()
	got, err := chart.Objects([]byte("# nothing\n---\n{apiVersion: v1, kind: List, items: " +
		"[{apiVersion: v1, kind: Secret, metadata: {name: b}}]}\n"))
	if err != nil || len(got) != 1 || got[0].GetName() != "b" {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := chart.Objects([]byte("{apiVersion: v1, kind: Secret}")); err == nil ||
		!strings.Contains(err.Error(), "document 1: each object needs apiVersion, kind and metadata.name") {
		t.Errorf("an object without a name: %v", err)
	}
}
