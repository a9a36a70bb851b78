package environment

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/world"
)

// Every pod that a landscape is set up with belongs to an actor by the name that scenarios have for it.
func TestOwnerOf_EveryActor_HasItsName(t *testing.T) {
	t.Parallel()
	s := New(ScenarioSettings)
	own := []landscape.Extension{vault()}
	var found []string
	for _, cluster := range []struct {
		name      string
		manifests map[string]any
	}{
		{landscape.Garden, map[string]any{"garden-actors.yaml": gardenValues{Image: image, Settings: ScenarioSettings}}},
		{"a", map[string]any{
			"seed-actors.yaml":            seedValues{Name: "a", Image: image, Settings: ScenarioSettings},
			"resource-manager-actor.yaml": seedValues{Name: "a", Image: image, Settings: ScenarioSettings},
			"extension-actor.yaml":        s.extensionValues(own[0], "a"),
		}},
	} {
		c := fake.NewClientBuilder().WithScheme(Scheme()).Build()
		for manifest, values := range cluster.manifests {
			if err := apply(t.Context(), c, manifest, values); err != nil {
				t.Fatal(err)
			}
		}
		deployments := &appsv1.DeploymentList{}
		if err := c.List(t.Context(), deployments); err != nil {
			t.Fatal(err)
		}
		for _, d := range deployments.Items {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace}, Spec: d.Spec.Template.Spec}
			owner, known := Owners{}.OwnerOf(cluster.name, pod)
			if !known || owner.Shoot != "" || (owner.Extension == "vault") != (d.Name == "vault") {
				t.Errorf("%s/%s in %s is %+v, known %t", d.Namespace, d.Name, cluster.name, owner, known)
			}
			found = append(found, owner.Actor)
		}
	}
	slices.Sort(found)
	if diff := cmp.Diff(landscape.Landscape{Seeds: []landscape.Seed{{Name: "a"}}, Extensions: own}.ProcessActors(),
		found); diff != "" {
		t.Error(diff)
	}
}

func TestOwnerOf_ControlPlane_IsItsShoots(t *testing.T) {
	t.Parallel()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: TechnicalID("alpha")}}
	if owner, known := (Owners{}).OwnerOf("a", pod); !known ||
		owner != (world.PodOwner{Actor: "control-planes-a", Shoot: "alpha"}) {
		t.Errorf("%+v, known %t", owner, known)
	}
	if owner, known := (Owners{}).OwnerOf("a",
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system"}}); known {
		t.Errorf("a cluster's own pod is %+v", owner)
	}
}
