package environment

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	kubernetesfake "k8s.io/client-go/kubernetes/fake"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/ownership"
)

// On nodes that have users no actor is root, nor are the control planes that the gardenlet makes.
func TestActors_NodesWithUsers_RunAsNobody(t *testing.T) {
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
	given := false
	for _, actor := range actors.Items {
		pod := actor.Spec.Template.Spec
		if s := pod.SecurityContext; s == nil || !ptr.Deref(s.RunAsNonRoot, false) || ptr.Deref(s.RunAsUser, 0) != nobody ||
			ptr.Deref(s.FSGroup, 0) != nobody { // to whom the Secrets are given, which are for their owner alone
			t.Errorf("%s runs as %+v", actor.Name, s)
		}
		for _, volume := range pod.Volumes {
			if volume.Secret == nil || ptr.Deref(volume.Secret.DefaultMode, 0o644) != 0o400 {
				t.Errorf("%s mounts %+v, want Secrets that only their owner may read", actor.Name, volume)
			}
		}
		for _, word := range pod.Containers[0].Command {
			given = given || word == "--control-plane-user=65532"
		}
	}
	if len(actors.Items) != 4 || !given {
		t.Errorf("there are %d actors, and the gardenlet knows whom control planes run as: %t", len(actors.Items), given)
	}
}

// Actors have roles of their own, which name the groups that they are for. That these are enough the API servers say:
// on every backend actors have nothing else.
func TestNoActorMayDoEverything(t *testing.T) {
	t.Parallel()
	c := fake.NewClientBuilder().WithScheme(Scheme()).Build()
	seed := seedValues{Name: "a", Region: "here", Domain: Domain, DefaultDomain: DefaultDomain, Pods: "127.0.0.0/18",
		Services: "127.0.64.0/18", Settings: ScenarioSettings}
	for manifest, values := range map[string]any{
		"garden.yaml": gardenValues{Project: "p", CloudProfile: "c", MachineImage: "m",
			ImageVersions: []string{"1.0.0"}, Settings: ScenarioSettings},
		"seed-in-garden.yaml": seed,
		"seed.yaml":           seed,
	} {
		if err := apply(t.Context(), c, manifest, values); err != nil {
			t.Fatal(err)
		}
	}
	roles, bindings := &rbacv1.ClusterRoleList{}, &rbacv1.ClusterRoleBindingList{}
	if err := errors.Join(c.List(t.Context(), roles), c.List(t.Context(), bindings)); err != nil {
		t.Fatal(err)
	}
	own := map[string]bool{}
	for _, role := range roles.Items {
		own[role.Name] = true
		for _, rule := range role.Rules {
			if slices.Contains(rule.APIGroups, rbacv1.APIGroupAll) || slices.Contains(rule.APIGroups, "") &&
				slices.Contains(rule.Resources, rbacv1.ResourceAll) {
				t.Errorf("%s may have to do with all of %v, %v", role.Name, rule.APIGroups, rule.Resources)
			}
		}
	}
	if len(bindings.Items) < 5 {
		t.Errorf("only %d bindings are left", len(bindings.Items))
	}
	for _, binding := range bindings.Items {
		if !own[binding.RoleRef.Name] {
			t.Errorf("%s gives %s, which is no role of ours", binding.Name, binding.RoleRef.Name)
		}
	}
}

// A guard may do with a claim what it does to read and to mend it, also one that the garden has lost.
func TestGuardsMayMendTheClaim(t *testing.T) {
	t.Parallel()
	garden := kubernetesfake.NewClientset()
	claim := &ownership.LeaseAuthority{Leases: garden.CoordinationV1().Leases("garden-p"), Name: "owner.alpha"}
	for epoch := range int64(2) { // of which the first finds no Lease
		_, version, err := claim.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := claim.CompareAndSet(t.Context(), version, ownership.Record{Owner: "a", Epoch: epoch + 1}); err != nil {
			t.Fatal(err)
		}
	}
	var done []string
	for _, action := range garden.Actions() {
		done = append(done, action.GetVerb())
	}
	slices.Sort(done)

	want := []string{"create", "get", "patch"} // as in seed.Access, which has a test on an API server
	if diff := cmp.Diff(want, slices.Compact(done)); diff != "" {
		t.Errorf("(-allowed +done):\n%s", diff)
	}
}

// What the set-up writes before there is an admission has the same defaults as everything that is written later.
func TestApply_ObjectsOfTheGarden_HaveTheirDefaults(t *testing.T) {
	t.Parallel()
	c := fake.NewClientBuilder().WithScheme(Scheme()).Build()
	values := gardenValues{
		Project: "p", CloudProfile: "c", MachineImage: "m", ImageVersions: []string{"1.0.0"}, Settings: ScenarioSettings,
	}
	seed := seedValues{
		Name: "a", Region: "here", Domain: Domain, DefaultDomain: DefaultDomain,
		Pods: "127.0.0.0/18", Services: "127.0.64.0/18", Settings: ScenarioSettings,
	}
	if err := errors.Join(apply(t.Context(), c, "garden.yaml", values),
		apply(t.Context(), c, "seed-in-garden.yaml", seed)); err != nil {
		t.Fatal(err)
	}
	for name, object := range map[string]client.Object{
		"c": &gardencorev1beta1.CloudProfile{}, "p": &gardencorev1beta1.Project{}, "a": &gardencorev1beta1.Seed{},
	} {
		if err := c.Get(t.Context(), client.ObjectKey{Name: name}, object); err != nil {
			t.Fatal(err)
		}
		stored := object.DeepCopyObject()
		object.(gardencorev1beta1.Defaulted).SetDefaults()
		if diff := cmp.Diff(stored, object); diff != "" {
			t.Errorf("%T (-stored +with defaults):\n%s", object, diff)
		}
	}
}
