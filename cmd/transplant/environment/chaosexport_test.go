package environment

import (
	"slices"
	"testing"

	"github.com/chaos-mesh/chaos-mesh/api/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/transplant-sim/transplant/sim/fault"
	"github.com/transplant-sim/transplant/sim/fault/chaosmesh/export"
	"github.com/transplant-sim/transplant/sim/landscape"
)

// TestExport_SelectorsOfActors_FindTheirPods: what a fault of an actor is exported as selects its pods and container.
func TestExport_SelectorsOfActors_FindTheirPods(t *testing.T) {
	t.Parallel()
	c := fake.NewClientBuilder().WithScheme(Scheme()).Build()
	for manifest, values := range map[string]any{
		"garden-actors.yaml": gardenValues{Image: image, Settings: ScenarioSettings},
		"seed-actors.yaml":   seedValues{Name: "a", Image: image, Settings: ScenarioSettings},
	} {
		if err := apply(t.Context(), c, manifest, values); err != nil {
			t.Fatal(err)
		}
	}
	on := landscape.Landscape{Seeds: []landscape.Seed{{Name: "a"}}}
	if len(on.ProcessActors()) == 0 {
		t.Fatal("there are no actors")
	}
	for _, actor := range on.ProcessActors() {
		object, cluster, err := export.Object(&fault.Spec{Name: "x",
			Kill: &fault.Kill{Process: fault.Process{Actor: actor}}}, on)
		if err != nil {
			t.Errorf("%s: %v", actor, err)
			continue
		}
		spec := object.(*v1alpha1.PodChaos).Spec
		deployments := &appsv1.DeploymentList{}
		if err := c.List(t.Context(), deployments, client.InNamespace(spec.Selector.Namespaces[0])); err != nil {
			t.Fatal(err)
		}
		found := 0
		for _, d := range deployments.Items {
			selector := labels.SelectorFromSet(spec.Selector.LabelSelectors)
			if selector.Matches(labels.Set(d.Spec.Template.Labels)) && slices.ContainsFunc(d.Spec.Template.Spec.Containers,
				func(c corev1.Container) bool { return c.Name == spec.ContainerNames[0] }) {
				found++
			}
		}
		if found != 1 || cluster != on.HomeOf(actor) {
			t.Errorf("%s: %d deployments fit %+v in cluster %q", actor, found, spec, cluster)
		}
	}
}
