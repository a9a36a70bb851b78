package inventory

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestUnasked_ResourceThatNobodyListed_IsUnreadable(t *testing.T) {
	t.Parallel()
	listed := metav1.Verbs{"get", "list"}
	served := []*metav1.APIResourceList{
		{GroupVersion: "v1", APIResources: []metav1.APIResource{
			{Name: "secrets", Verbs: listed}, {Name: "pods", Verbs: listed}, {Name: "bindings", Verbs: metav1.Verbs{"create"}},
			{Name: "componentstatuses", Verbs: listed},
		}},
		{GroupVersion: "apps/v1", APIResources: []metav1.APIResource{{Name: "deployments", Verbs: listed},
			{Name: "scales", Verbs: listed}}},
	}
	got := unasked(served, false, map[string]bool{"pods": true, "deployments.apps": true})
	want := []string{"secrets: nobody has listed them", "scales.apps: nobody has listed them"}
	if !slices.Equal(got, want) {
		t.Errorf("unasked are %q, want %q", got, want)
	}
	asked := map[string]bool{}
	for resource := range listable(served, false) {
		asked[class(resource.GroupResource())] = true
	}
	if got := unasked(served, false, asked); len(got) > 0 {
		t.Errorf("of all that can be listed %q are unasked", got)
	}
}
