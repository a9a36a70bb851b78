package seed

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	testingclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// accessGarden is a garden with one project namespace, whose seeds have four minutes of grace.
type accessGarden struct {
	client.Client
	clock *testingclock.FakePassiveClock
}

func newAccessGarden(objects ...client.Object) *accessGarden {
	scheme := runtime.NewScheme()
	utilruntime.Must(corev1.AddToScheme(scheme))
	utilruntime.Must(rbacv1.AddToScheme(scheme))
	utilruntime.Must(gardencorev1beta1.AddToScheme(scheme))
	return &accessGarden{
		fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build(),
		testingclock.NewFakePassiveClock(time.Unix(1000, 0)),
	}
}

// seedSince is a seed whose GardenletReady has had the status for as long.
func seedSince(name string, ready gardencorev1beta1.ConditionStatus, ago time.Duration) *gardencorev1beta1.Seed {
	s := &gardencorev1beta1.Seed{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name)}}
	s.Status.Conditions = []gardencorev1beta1.Condition{{
		Type: gardencorev1beta1.SeedGardenletReady, Status: ready,
		LastTransitionTime: metav1.NewTime(time.Unix(1000, 0).Add(-ago)),
	}}
	return s
}

// shootBetween is a shoot that is bound to a seed, and had by one; empty for none.
func shootBetween(name, bound, had string) *gardencorev1beta1.Shoot {
	s := &gardencorev1beta1.Shoot{ObjectMeta: metav1.ObjectMeta{Namespace: "garden-p", Name: name}}
	s.Status.TechnicalID, s.Status.UID = "shoot--p--"+name, types.UID("uid-of-"+name)
	if bound != "" {
		s.Spec.SeedName = &bound
	}
	if had != "" {
		s.Status.SeedName = &had
	}
	return s
}

func entryOf(name, seed string) *gardencorev1beta1.BackupEntry {
	return &gardencorev1beta1.BackupEntry{
		ObjectMeta: metav1.ObjectMeta{Namespace: "garden-p", Name: name},
		Spec:       gardencorev1beta1.BackupEntrySpec{SeedName: &seed},
	}
}

// forAll is the name of the role that all seeds have in a project namespace.
const forAll = "gardener.cloud:system:seeds:claims"

// granted reconciles the namespace, and says by account which names it may patch or delete there, and when it is looked
// again. A Role without a RoleBinding of the same name, or the other way round, fails. What all seeds have is left out.
func (g *accessGarden) granted(t *testing.T, namespace string) (map[string][]string, time.Duration) {
	t.Helper()
	a := &Access{Garden: g, Clock: g.clock, Grace: 4 * time.Minute}
	result, err := a.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKey{Name: namespace}})
	if err != nil {
		t.Fatal(err)
	}
	roles, bindings := &rbacv1.RoleList{}, &rbacv1.RoleBindingList{}
	global, globalBindings := &rbacv1.ClusterRoleList{}, &rbacv1.ClusterRoleBindingList{}
	for _, list := range []client.ObjectList{roles, bindings, global, globalBindings} {
		if err := g.List(t.Context(), list); err != nil {
			t.Fatal(err)
		}
	}
	roles.Items = slices.DeleteFunc(roles.Items, func(r rbacv1.Role) bool { return r.Name == forAll })
	bindings.Items = slices.DeleteFunc(bindings.Items, func(b rbacv1.RoleBinding) bool { return b.Name == forAll })
	accounts := map[string]string{}
	if namespace == "" {
		for _, b := range globalBindings.Items {
			accounts[b.RoleRef.Name] = b.Subjects[0].Name
		}
		roles.Items = nil
		for _, r := range global.Items {
			roles.Items = append(roles.Items, rbacv1.Role{ObjectMeta: r.ObjectMeta, Rules: r.Rules})
		}
	} else {
		for _, b := range bindings.Items {
			accounts[b.RoleRef.Name] = b.Subjects[0].Name
		}
	}
	got := map[string][]string{}
	for _, r := range roles.Items {
		names := map[string]bool{}
		for _, rule := range r.Rules {
			for _, name := range rule.ResourceNames {
				names[name] = true
			}
		}
		if accounts[r.Name] == "" {
			t.Errorf("the role %q is bound to nobody", r.Name)
		}
		got[accounts[r.Name]] = slices.Sorted(maps.Keys(names))
	}
	if len(accounts) != len(roles.Items) {
		t.Errorf("%d roles and %d bindings", len(roles.Items), len(accounts))
	}
	return got, result.RequeueAfter
}

// shootNames are all names that a gardenlet needs for a shoot of the project p.
func shootNames(shoots ...string) []string {
	var names []string
	for _, shoot := range shoots {
		entry := "shoot--p--" + shoot + "--uid-of-" + shoot
		names = append(names, shoot, shoot+".ca-cluster", shoot+".kubeconfig", "owner."+shoot, entry, "source-"+entry)
	}
	slices.Sort(names)
	return names
}

// What a seed may do follows its shoots, and whether it is lost.
func TestAccess_BySeedsAndShoots_GrantsWhatBelongsToThem(t *testing.T) {
	t.Parallel()
	const ready, silent = gardencorev1beta1.ConditionTrue, gardencorev1beta1.ConditionUnknown
	alpha := []string{"owner.alpha"}
	for name, test := range map[string]struct {
		objects []client.Object
		want    map[string][]string
		again   time.Duration
	}{
		"a seed that has nothing": {[]client.Object{seedSince("a", ready, 0)}, map[string][]string{}, 0},
		"a shoot that is nowhere": {[]client.Object{seedSince("a", ready, 0), shootBetween("alpha", "", "")},
			map[string][]string{}, 0},
		"a shoot of a seed": {
			[]client.Object{seedSince("a", ready, 0), seedSince("b", ready, 0), shootBetween("alpha", "a", "a")},
			map[string][]string{"gardenlet-a": shootNames("alpha"), "control-planes-a": alpha}, 0,
		},
		"a shoot in migration": {
			[]client.Object{seedSince("a", ready, 0), seedSince("b", ready, 0), shootBetween("alpha", "b", "a")},
			map[string][]string{
				"gardenlet-a": shootNames("alpha"), "control-planes-a": alpha,
				"gardenlet-b": shootNames("alpha"), "control-planes-b": alpha,
			}, 0,
		},
		"a backup entry that outlives its shoot": {
			[]client.Object{seedSince("a", ready, 0), seedSince("b", ready, 0), entryOf("shoot--p--gone--uid", "a")},
			map[string][]string{"gardenlet-a": {"shoot--p--gone--uid"}}, 0,
		},
		"silent, within the grace period": {
			[]client.Object{seedSince("a", silent, time.Minute), seedSince("b", ready, 0), shootBetween("alpha", "a", "a")},
			map[string][]string{"gardenlet-a": shootNames("alpha"), "control-planes-a": alpha}, 3 * time.Minute,
		},
		"two silent: the first is looked at first": {
			[]client.Object{
				seedSince("a", silent, time.Minute), seedSince("b", silent, 2*time.Minute), seedSince("c", ready, 0),
				shootBetween("alpha", "a", "a"),
			},
			map[string][]string{"gardenlet-a": shootNames("alpha"), "control-planes-a": alpha}, 2 * time.Minute,
		},
		"lost: its control planes go on": {
			[]client.Object{seedSince("a", silent, 4*time.Minute), seedSince("b", ready, 0), shootBetween("alpha", "a", "a")},
			map[string][]string{"control-planes-a": alpha}, 0,
		},
		"lost, the evacuation has begun": {
			[]client.Object{seedSince("a", silent, 4*time.Minute), seedSince("b", ready, 0), shootBetween("alpha", "b", "a")},
			map[string][]string{"control-planes-a": alpha, "gardenlet-b": shootNames("alpha"), "control-planes-b": alpha}, 0,
		},
		"lost, the shoot has moved on": {
			[]client.Object{seedSince("a", silent, 4*time.Minute), seedSince("b", ready, 0), shootBetween("alpha", "b", "b")},
			map[string][]string{"gardenlet-b": shootNames("alpha"), "control-planes-b": alpha}, 0,
		},
		"lost, a shoot that was only on its way there": {
			[]client.Object{seedSince("a", silent, 4*time.Minute), seedSince("b", ready, 0), shootBetween("alpha", "a", "b")},
			map[string][]string{"gardenlet-b": shootNames("alpha"), "control-planes-b": alpha}, 0,
		},
		"lost, a backup entry": {
			[]client.Object{seedSince("a", silent, 4*time.Minute), seedSince("b", ready, 0),
				entryOf("shoot--p--gone--uid", "a")},
			map[string][]string{}, 0,
		},
		"all silent: none is lost": {
			[]client.Object{seedSince("a", silent, time.Hour), seedSince("b", silent, time.Minute),
				shootBetween("alpha", "a", "a")},
			map[string][]string{"gardenlet-a": shootNames("alpha"), "control-planes-a": alpha}, 0,
		},
		"one that never reported is not silent": {
			[]client.Object{
				seedSince("a", silent, time.Hour), &gardencorev1beta1.Seed{ObjectMeta: metav1.ObjectMeta{Name: "b"}},
				shootBetween("alpha", "a", "a"),
			},
			map[string][]string{"control-planes-a": alpha}, 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, again := newAccessGarden(test.objects...).granted(t, "garden-p")
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("granted (-want +got):\n%s", diff)
			}
			if again != test.again {
				t.Errorf("it looks again after %v, want %v", again, test.again)
			}
		})
	}
}

// The rights of one seed along a loss, its return, and the move of its shoot.
func TestAccess_AlongALoss_FollowsTheSeed(t *testing.T) {
	t.Parallel()
	const ready, silent = gardencorev1beta1.ConditionTrue, gardencorev1beta1.ConditionUnknown
	g := newAccessGarden(seedSince("a", ready, 0), seedSince("b", ready, 0), shootBetween("alpha", "a", "a"),
		entryOf("shoot--p--alpha--uid-of-alpha", "a"))
	all, bucket := shootNames("alpha"), []string{"uid-a"}
	for _, step := range []struct {
		name                            string
		change                          client.Object
		gardenlet, controlPlanes, whole []string
	}{
		{"at first", nil, all, []string{"owner.alpha"}, bucket},
		{"lost", seedSince("a", silent, time.Hour), nil, []string{"owner.alpha"}, nil},
		{"reports again", seedSince("a", ready, 0), all, []string{"owner.alpha"}, bucket},
		{"lost again", seedSince("a", silent, time.Hour), nil, []string{"owner.alpha"}, nil},
		{"evacuated", shootBetween("alpha", "b", "b"), nil, nil, nil},
		{"returns, and the entry names it still", seedSince("a", ready, 0), nil, nil, bucket},
		{"the entry moves on", entryOf("shoot--p--alpha--uid-of-alpha", "b"), nil, nil, bucket},
	} {
		if step.change != nil {
			before := step.change.DeepCopyObject().(client.Object)
			if err := g.Get(t.Context(), client.ObjectKeyFromObject(before), before); err != nil {
				t.Fatal(err)
			}
			step.change.SetResourceVersion(before.GetResourceVersion())
			if err := g.Update(t.Context(), step.change); err != nil {
				t.Fatal(err)
			}
		}
		got, _ := g.granted(t, "garden-p")
		whole, _ := g.granted(t, "")
		if diff := cmp.Diff(step.gardenlet, got["gardenlet-a"]); diff != "" {
			t.Errorf("%s: the gardenlet (-want +got):\n%s", step.name, diff)
		}
		if diff := cmp.Diff(step.controlPlanes, got["control-planes-a"]); diff != "" {
			t.Errorf("%s: the control planes (-want +got):\n%s", step.name, diff)
		}
		if diff := cmp.Diff(step.whole, whole["gardenlet-a"]); diff != "" {
			t.Errorf("%s: the gardenlet in the whole garden (-want +got):\n%s", step.name, diff)
		}
	}
}

// The entry of a shoot goes with the shoot, whatever seed it names: after an evacuation that is the lost one.
func TestAccess_EntryOfAnEvacuatedShoot_IsNotTheLostSeeds(t *testing.T) {
	t.Parallel()
	const entry = "shoot--p--alpha--uid-of-alpha"
	named := entryOf(entry, "a")
	named.Status.SeedName = ptr.To("a")
	for name, test := range map[string]struct {
		shoot client.Object
		want  []string // of a's gardenlet
	}{
		"the shoot is on its way":   {shootBetween("alpha", "b", "a"), shootNames("alpha")},
		"the shoot is another's":    {shootBetween("alpha", "b", "b"), nil},
		"the shoot is of no seed":   {shootBetween("alpha", "", ""), nil},
		"it is of a shoot that was": {shootBetween("other", "b", "b"), []string{entry}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const ready = gardencorev1beta1.ConditionTrue
			got, _ := newAccessGarden(seedSince("a", ready, 0), seedSince("b", ready, 0), test.shoot,
				named.DeepCopy()).granted(t, "garden-p")
			if diff := cmp.Diff(test.want, got["gardenlet-a"]); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// All seeds read the claims of a project: one that comes back learns from them what is no longer its own. In other
// namespaces they read none.
func TestAccess_OfProjects_LetsAllSeedsReadClaims(t *testing.T) {
	t.Parallel()
	project := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "garden-p",
		Labels: map[string]string{"project.gardener.cloud/name": "p"}}}
	other := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "garden-p"}}
	for name, test := range map[string]struct {
		objects []client.Object
		want    bool
	}{
		"a project without shoots":             {[]client.Object{project}, true},
		"a shoot in a namespace without label": {[]client.Object{shootBetween("alpha", "", "")}, true},
		"another namespace":                    {[]client.Object{other}, false},
		"no namespace":                         {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newAccessGarden(append(test.objects, seedSince("a", gardencorev1beta1.ConditionUnknown, time.Hour))...)
			g.granted(t, "garden-p")
			role, binding := &rbacv1.Role{}, &rbacv1.RoleBinding{}
			for _, object := range []client.Object{role, binding} {
				err := g.Get(t.Context(), client.ObjectKey{Namespace: "garden-p", Name: forAll}, object)
				if test.want != (err == nil) || client.IgnoreNotFound(err) != nil {
					t.Fatalf("%T: %v", object, err)
				}
			}
			if !test.want {
				return
			}
			rules := []rbacv1.PolicyRule{{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"},
				Verbs: []string{"get"}}}
			who := []rbacv1.Subject{{APIGroup: "rbac.authorization.k8s.io", Kind: "Group",
				Name: "system:serviceaccounts:garden"}}
			if diff := cmp.Diff(rules, role.Rules) + cmp.Diff(who, binding.Subjects); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
