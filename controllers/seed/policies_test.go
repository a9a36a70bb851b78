package seed_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	testingclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/transplant-sim/transplant/api/cloud"
	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/controllers/seed"
)

// policyStore keeps policies by shoot, and counts its writes.
type policyStore struct {
	bound  map[string]string
	writes int
	err    error
}

func (s *policyStore) Policies(context.Context) (all []cloud.Policy, err error) {
	for _, id := range slices.Sorted(maps.Keys(s.bound)) {
		all = append(all, cloud.Policy{Meta: cloud.Meta{ID: id}, Bound: s.bound[id]})
	}
	return all, s.err
}

func (s *policyStore) SetPolicy(_ context.Context, policy cloud.Policy) (*cloud.Policy, error) {
	s.bound[policy.ID] = policy.Bound
	s.writes++
	return &policy, s.err
}

func (s *policyStore) DeletePolicy(_ context.Context, shoot string) error {
	delete(s.bound, shoot)
	s.writes++
	return s.err
}

const grace = time.Minute

// garden is one with seeds a and b, and the shoot alpha on a, in the middle of a test.
type garden struct {
	client.Client
	clock    *testingclock.FakeClock
	store    *policyStore
	policies *seed.Policies
}

func newGarden(t *testing.T) *garden {
	t.Helper()
	scheme := runtime.NewScheme()
	utilruntime.Must(corev1.AddToScheme(scheme))
	utilruntime.Must(gardencorev1beta1.AddToScheme(scheme))
	g := &garden{
		Client: fake.NewClientBuilder().WithScheme(scheme).
			WithStatusSubresource(&gardencorev1beta1.Seed{}, &gardencorev1beta1.Shoot{}).Build(),
		clock: testingclock.NewFakeClock(time.Now().Truncate(time.Second)), store: &policyStore{bound: map[string]string{}},
	}
	labels := map[string]string{constants.ProjectName: "p"}
	g.make(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "garden-of-p", Labels: labels}})
	g.make(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "garden-q"}})
	for _, name := range []string{"a", "b"} {
		g.make(t, &gardencorev1beta1.Seed{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-of-" + name)}})
		g.heard(t, name, gardencorev1beta1.ConditionTrue)
	}
	g.policies = &seed.Policies{Garden: g, Cloud: g.store, Clock: g.clock, Grace: grace, Retry: time.Second}
	return g
}

func (g *garden) make(t *testing.T, object client.Object) {
	t.Helper()
	if err := g.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
}

func (g *garden) heard(t *testing.T, name string, status gardencorev1beta1.ConditionStatus) {
	t.Helper()
	s := &gardencorev1beta1.Seed{}
	if err := g.Get(t.Context(), client.ObjectKey{Name: name}, s); err != nil {
		t.Fatal(err)
	}
	s.Status.Conditions = []gardencorev1beta1.Condition{{
		Type: gardencorev1beta1.SeedGardenletReady, Status: status, LastTransitionTime: metav1.NewTime(g.clock.Now()),
	}}
	if err := g.Status().Update(t.Context(), s); err != nil {
		t.Fatal(err)
	}
}

// bind alpha to a seed; none is empty.
func (g *garden) bind(t *testing.T, to string) {
	t.Helper()
	shoot := &gardencorev1beta1.Shoot{}
	if err := g.Get(t.Context(), client.ObjectKey{Namespace: "garden-of-p", Name: "alpha"}, shoot); err != nil {
		t.Fatal(err)
	}
	shoot.Spec.SeedName = ptr.To(to)
	if err := g.Update(t.Context(), shoot); err != nil {
		t.Fatal(err)
	}
}

// want these policies of shoots, beside those of the buckets of all seeds that there are.
func (g *garden) want(t *testing.T, again time.Duration, bound map[string]string) {
	t.Helper()
	bound, seeds := maps.Clone(bound), &gardencorev1beta1.SeedList{}
	if err := g.List(t.Context(), seeds); err != nil {
		t.Fatal(err)
	}
	for _, s := range seeds.Items {
		bound["bucket--uid-of-"+s.Name] = s.Name
	}
	result, err := g.policies.Reconcile(t.Context(), reconcile.Request{})
	if err != nil {
		t.Fatal(err)
	}
	if result.RequeueAfter != again {
		t.Errorf("it looks again after %v, want %v", result.RequeueAfter, again)
	}
	if diff := cmp.Diff(bound, g.store.bound); diff != "" {
		t.Errorf("policies (-want +got):\n%s", diff)
	}
	writes := g.store.writes
	if _, err := g.policies.Reconcile(t.Context(), reconcile.Request{}); err != nil || g.store.writes != writes {
		t.Errorf("with nothing to do it writes %d times, error %v", g.store.writes-writes, err)
	}
}

// A policy follows the binding of its shoot through its life, and ends with it.
func TestPolicies_AlongTheLifeOfAShoot_FollowItsBinding(t *testing.T) {
	t.Parallel()
	g, alpha := newGarden(t), func(seed string) map[string]string { return map[string]string{"shoot--p--alpha": seed} }
	g.want(t, 0, map[string]string{})
	shoot := &gardencorev1beta1.Shoot{ObjectMeta: metav1.ObjectMeta{Namespace: "garden-of-p", Name: "alpha"}}
	shoot.Status.TechnicalID = "shoot--p--beta" // which a seed says
	g.make(t, shoot)
	g.want(t, 0, alpha(""))
	g.bind(t, "a")
	g.want(t, 0, alpha("a"))
	g.bind(t, "b") // a migration, which is called off
	g.want(t, 0, alpha("b"))
	g.bind(t, "a")
	g.want(t, 0, alpha("a"))

	g.heard(t, "a", gardencorev1beta1.ConditionUnknown)
	g.clock.Step(grace / 2)
	g.want(t, grace/2, alpha("a"))
	g.heard(t, "a", gardencorev1beta1.ConditionTrue) // it was only slow
	g.want(t, 0, alpha("a"))
	g.heard(t, "a", gardencorev1beta1.ConditionUnknown)
	g.clock.Step(grace)
	g.want(t, 0, alpha("")) // lost
	g.heard(t, "a", gardencorev1beta1.ConditionTrue)
	g.want(t, 0, alpha("a")) // back before its evacuation
	g.heard(t, "a", gardencorev1beta1.ConditionUnknown)
	g.clock.Step(grace)
	g.bind(t, "b") // evacuated
	g.want(t, 0, alpha("b"))
	g.heard(t, "a", gardencorev1beta1.ConditionTrue)
	g.want(t, 0, alpha("b")) // what it has lost it does not get back

	g.make(t, &gardencorev1beta1.Shoot{
		ObjectMeta: metav1.ObjectMeta{Namespace: "garden-q", Name: "alpha"},
		Spec:       gardencorev1beta1.ShootSpec{SeedName: ptr.To("a")},
	})
	both := map[string]string{"shoot--p--alpha": "b", "shoot--q--alpha": "a"}
	g.want(t, 0, both)
	if err := g.Get(t.Context(), client.ObjectKeyFromObject(shoot), shoot); err != nil {
		t.Fatal(err)
	}
	shoot.Finalizers = []string{"gardener"}
	if err := errors.Join(g.Update(t.Context(), shoot), g.Delete(t.Context(), shoot)); err != nil {
		t.Fatal(err)
	}
	g.want(t, 0, both) // its seed has to retire its owner record
	shoot.Finalizers = nil
	if err := g.Get(t.Context(), client.ObjectKeyFromObject(shoot), shoot); err != nil {
		t.Fatal(err)
	}
	shoot.Finalizers = nil
	if err := g.Update(t.Context(), shoot); err != nil {
		t.Fatal(err)
	}
	g.want(t, 0, map[string]string{"shoot--q--alpha": "a"})
}

// What was deleted while nobody looked goes, and what another wrote is put right.
func TestPolicies_AfterARestart_AreMadeTrueAgain(t *testing.T) {
	t.Parallel()
	g := newGarden(t)
	g.make(t, &gardencorev1beta1.Shoot{
		ObjectMeta: metav1.ObjectMeta{Namespace: "garden-q", Name: "alpha"},
		Spec:       gardencorev1beta1.ShootSpec{SeedName: ptr.To("a")},
	})
	g.store.bound = map[string]string{"shoot--q--alpha": "b", "shoot--q--gone": "a"}
	g.want(t, 0, map[string]string{"shoot--q--alpha": "a"})
}

// The name of a bucket belongs to the Seed whose UID it is, as long as there is one.
func TestPolicies_OfBuckets_FollowTheSeeds(t *testing.T) {
	t.Parallel()
	g := newGarden(t)
	g.heard(t, "a", gardencorev1beta1.ConditionUnknown)
	g.clock.Step(grace) // lost, with the backups of its shoots in its bucket
	g.want(t, 0, map[string]string{})
	if bound := g.store.bound["bucket--uid-of-a"]; bound != "a" {
		t.Errorf("the bucket is bound to %q", bound)
	}
	if err := g.Delete(t.Context(), &gardencorev1beta1.Seed{ObjectMeta: metav1.ObjectMeta{Name: "a"}}); err != nil {
		t.Fatal(err)
	}
	g.want(t, 0, map[string]string{})
	if bound, is := g.store.bound["bucket--uid-of-a"]; is {
		t.Errorf("the bucket of a seed that is gone is bound to %q", bound)
	}
}

// A cloud that does not answer is asked again soon, however often it did not, and nothing of the garden's waits for it.
func TestPolicies_CloudAway_AsksAgainSoon(t *testing.T) {
	t.Parallel()
	g := newGarden(t)
	g.store.err = errors.New("away")
	for range 20 {
		result, err := g.policies.Reconcile(t.Context(), reconcile.Request{})
		if err != nil || result.RequeueAfter != time.Second {
			t.Fatalf("it looks again after %v, error %v", result.RequeueAfter, err)
		}
	}
}
