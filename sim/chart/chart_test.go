package chart_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/transplant-sim/transplant/sim/chart"
	"github.com/transplant-sim/transplant/sim/landscape"
)

const folder = "testdata/vault"

func withValues(values string) landscape.Extension {
	return landscape.Extension{Name: "my-vault", Chart: folder, Values: &runtime.RawExtension{Raw: []byte(values)}}
}

func TestInstall_Chart_IsTheProgramAndWhatItNeeds(t *testing.T) {
	t.Parallel()
	got, err := chart.Install(withValues(
		`{"leaderElection":{"resourceName":"mine"},"gardener":{"seed":{"name":"other"}}}`), "a")
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
	if data != "seed: a\nleader: mine\n" || config.GetNamespace() != "extension-my-vault" {
		t.Errorf("the configuration is %q in namespace %s: Gardener's values win, then those of the file", data,
			config.GetNamespace())
	}
	container := got.Deployment.Spec.Template.Spec.Containers[0]
	if container.Image != "example.org/vault:v1" || !strings.HasPrefix(container.Args[0], "--gardener-version=v1.") {
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
		if _, err := chart.Install(c.of, "a"); err == nil || !strings.Contains(err.Error(), c.want) {
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
