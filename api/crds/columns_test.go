package crds_test

import (
	"encoding/json"
	"path"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/crds"
)

// What kubectl get shows is what a Gardener user knows.
func columns(t *testing.T, config *rest.Config) {
	c := newClient(t, config)
	shoot := &gardencorev1beta1.Shoot{
		ObjectMeta: metav1.ObjectMeta{Name: "columns", Namespace: namespace,
			Labels: map[string]string{"shoot.gardener.cloud/status": "healthy"}},
		Spec: gardencorev1beta1.ShootSpec{
			CloudProfile: &gardencorev1beta1.CloudProfileReference{Kind: "CloudProfile", Name: "profile"}, Region: "here",
			Provider:   gardencorev1beta1.Provider{Type: "transplant"},
			Kubernetes: gardencorev1beta1.Kubernetes{Version: "1.36.3"},
		},
	}
	patchStatus(t, c, shoot,
		`{"hibernated":true,"seedName":"a","lastOperation":{"type":"Migrate","state":"Processing","progress":42}}`)
	seed := &gardencorev1beta1.Seed{
		ObjectMeta: metav1.ObjectMeta{Name: "columns"},
		Spec:       gardencorev1beta1.SeedSpec{Provider: gardencorev1beta1.SeedProvider{Type: "transplant", Region: "here"}},
	}
	patchStatus(t, c, seed,
		`{"conditions":[{"type":"GardenletReady","status":"True"}],"kubernetesVersion":"1.36.3","gardener":{"version":"v1"}}`)

	for resource, want := range map[string]map[string]any{
		"core.gardener.cloud/v1beta1/namespaces/" + namespace + "/shoots/columns": {
			"Name": "columns", "CloudProfile": "profile", "Provider": "transplant", "Region": "here", "K8S Version": "1.36.3",
			"Hibernation": true, "Last Operation": "Migrate", "State": "Processing", "Progress": float64(42),
			"Status": "healthy",
		},
		"core.gardener.cloud/v1beta1/seeds/columns": {
			"Name": "columns", "Gardenlet": "True", "Provider": "transplant", "Region": "here", "Version": "v1",
			"K8S Version":    "1.36.3",
			"Last Operation": nil, "State": nil,
		},
	} {
		got := map[string]any{}
		for column, cell := range cells(t, config, resource) {
			if column.Priority == 0 && column.Name != "Age" {
				got[column.Name] = cell
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("columns of %s (-want +got):\n%s", resource, diff)
		}
	}
}

func patchStatus(t *testing.T, c client.Client, object client.Object, status string) {
	t.Helper()
	if err := c.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	patch := client.RawPatch(types.MergePatchType, []byte(`{"status":`+status+`}`))
	if err := c.Status().Patch(t.Context(), object, patch); err != nil {
		t.Fatal(err)
	}
}

// named finds the type of the condition that a column shows.
var named = regexp.MustCompile(`@\.type=="(\w+)"`)

// An object that has everything fills every column of its kind, those of "-o wide" too: none looks in a place that is
// none.
func everyColumnShows(t *testing.T, config *rest.Config) {
	for _, definition := range crds.All() {
		t.Run(definition.Name, func(t *testing.T) {
			object, columns := filled(definition, "shown"), definition.Spec.Versions[0].AdditionalPrinterColumns
			object.SetLabels(map[string]string{"shoot.gardener.cloud/status": "healthy", "node": "node-1"})
			object.SetAnnotations(map[string]string{"gardener.cloud/timestamp": "2026-11-01T00:00:00Z"})
			meetConditions(t, object, columns)
			create(t, config, definition, object)
			scope := ""
			if definition.Spec.Scope == apiextensionsv1.NamespaceScoped {
				scope = "namespaces/" + namespace
			}
			kind := gvk(definition)
			shown := cells(t, config, path.Join(kind.Group, kind.Version, scope, definition.Spec.Names.Plural, "shown"))
			if want := len(columns) + 1; len(shown) != want { // the name
				t.Errorf("%d columns, want %d", len(shown), want)
			}
			for column, cell := range shown {
				if cell == nil || cell == "" {
					t.Errorf("the column %q shows nothing", column.Name)
				}
			}
		})
	}
}

// meetConditions that columns show.
func meetConditions(t *testing.T, object *unstructured.Unstructured,
	columns []apiextensionsv1.CustomResourceColumnDefinition) {
	t.Helper()
	var all []any
	for _, column := range columns {
		found := named.FindStringSubmatch(column.JSONPath)
		if found == nil {
			continue
		}
		existing, _, err := unstructured.NestedSlice(object.Object, "status", "conditions")
		if err != nil || len(existing) == 0 {
			t.Fatalf("a column shows the condition %s, and there are none: %v", found[1], err)
		}
		condition := existing[0].(map[string]any)
		condition["type"] = found[1]
		all = append(all, condition)
	}
	if all == nil {
		return
	}
	if err := unstructured.SetNestedSlice(object.Object, all, "status", "conditions"); err != nil {
		t.Fatal(err)
	}
}

// cells are what kubectl shows of an object, by column. The resource is a path below /apis.
func cells(t *testing.T, config *rest.Config, resource string) map[metav1.TableColumnDefinition]any {
	t.Helper()
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	data, err := kube.RESTClient().Get().AbsPath("/apis", resource).SetHeader("Accept",
		"application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var table metav1.Table
	if err := json.Unmarshal(data, &table); err != nil {
		t.Fatal(err)
	}
	found := map[metav1.TableColumnDefinition]any{}
	for i, column := range table.ColumnDefinitions {
		found[column] = table.Rows[0].Cells[i]
	}
	return found
}
