package stage

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

// On nodes that have users no actor is root, nor are the control planes that the gardenlet makes.
func TestActorsRunAsTheUserOfTheStage(t *testing.T) {
	t.Parallel()
	c := fake.NewClientBuilder().WithScheme(Scheme()).Build()
	for manifest, values := range map[string]any{
		"garden-actors.yaml": gardenValues{Image: image, User: nobody, Settings: ScenarioSettings},
		"seed-actors.yaml":   seedValues{Name: "a", Image: image, User: nobody, Settings: ScenarioSettings},
	} {
		if err := apply(t.Context(), c, manifest, values); err != nil {
			t.Fatal(err)
		}
	}
	actors := &appsv1.DeploymentList{}
	if err := c.List(t.Context(), actors); err != nil {
		t.Fatal(err)
	}
	told := false
	for _, actor := range actors.Items {
		pod := actor.Spec.Template.Spec
		if s := pod.SecurityContext; s == nil || !ptr.Deref(s.RunAsNonRoot, false) || ptr.Deref(s.RunAsUser, 0) != nobody {
			t.Errorf("%s runs as %+v", actor.Name, s)
		}
		for _, word := range pod.Containers[0].Command {
			told = told || word == "--control-plane-user=65532"
		}
	}
	if len(actors.Items) != 4 || !told {
		t.Errorf("there are %d actors, and the gardenlet is told whom control planes run as: %t", len(actors.Items), told)
	}
}
