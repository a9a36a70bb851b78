package crds_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/transplant-sim/transplant/api/crds"
	"github.com/transplant-sim/transplant/clusters/apiservertest"
)

func TestExpected_NamesOfTheField(t *testing.T) {
	t.Parallel()
	var got []string
	for _, definition := range crds.Expected() {
		got = append(got, definition.Name)
	}
	want := []string{
		"verticalpodautoscalers.autoscaling.k8s.io",
		"certificates.cert.gardener.cloud", "issuers.cert.gardener.cloud",
		"dnsentries.dns.gardener.cloud", "dnsproviders.dns.gardener.cloud",
		"etcds.druid.gardener.cloud",
		"podmonitors.monitoring.coreos.com", "prometheusrules.monitoring.coreos.com",
		"servicemonitors.monitoring.coreos.com", "scrapeconfigs.monitoring.coreos.com",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("definitions (-want +got):\n%s", diff)
	}
}

// Authors of extensions read in the documents which kinds are there.
func TestExpected_AllAreInTheDocuments(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("../../docs/third-party-extensions.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string][]string{} // kinds by group and version
	for line := range strings.Lines(string(content)) {
		cells := strings.Split(strings.ReplaceAll(line, "`", ""), " | ")
		if len(cells) == 3 {
			rows[strings.TrimPrefix(cells[0], "| ")+"/"+cells[1]] = strings.Split(strings.TrimSuffix(cells[2], " |\n"), ", ")
		}
	}
	for _, definition := range crds.Expected() {
		row := definition.Spec.Group + "/" + definition.Spec.Versions[0].Name
		if !slices.Contains(rows[row], definition.Spec.Names.Kind) {
			t.Errorf("%s of %s is not in the table: %q", definition.Spec.Names.Kind, row, rows[row])
		}
	}
}

// An API server accepts each of them, and keeps whatever an extension writes.
func TestExpected_OnAServer_EveryFieldIsKept(t *testing.T) {
	t.Parallel()
	config := apiservertest.Start(t, apiservertest.Options{CRDs: crds.Expected()})
	c, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, definition := range crds.Expected() {
		object := &unstructured.Unstructured{Object: map[string]any{
			"spec": map[string]any{"any": map[string]any{"field": []any{"is", int64(7)}}},
		}}
		object.SetGroupVersionKind(schema.GroupVersionKind{Group: definition.Spec.Group,
			Version: definition.Spec.Versions[0].Name, Kind: definition.Spec.Names.Kind})
		object.SetNamespace("default")
		object.SetName("x")
		want := object.Object["spec"]
		if err := c.Create(t.Context(), object); err != nil {
			t.Errorf("%s: %v", definition.Name, err)
			continue
		}
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(want, object.Object["spec"]); diff != "" {
			t.Errorf("%s (-written +read):\n%s", definition.Name, diff)
		}
	}
}
