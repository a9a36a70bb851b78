package migration

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	seedmanagementv1alpha1 "github.com/transplant-sim/transplant/api/seedmanagement/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/controlplane/lifecycle"
	"github.com/transplant-sim/transplant/controllers/controlplane/shootstate"
	"github.com/transplant-sim/transplant/controllers/migration/refusals"
)

// eventLog remembers the reasons of events, in order.
type eventLog []string

func (l *eventLog) Event(shoot *gardencorev1beta1.Shoot, _, reason, _ string) {
	*l = append(*l, shoot.Name+" "+reason)
}

// garden is a garden with seeds a (whose state is given), b and c, and the shoots given.
func newGarden(t *testing.T, a gardencorev1beta1.ConditionStatus, shoots ...*gardencorev1beta1.Shoot) client.Client {
	t.Helper()
	var objects []client.Object
	for name, ready := range map[string]gardencorev1beta1.ConditionStatus{"a": a, "b": "True", "c": "True"} {
		seed := &gardencorev1beta1.Seed{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name)}}
		seed.Spec.Backup = &gardencorev1beta1.Backup{Provider: "transplant"}
		seed.Spec.Provider = gardencorev1beta1.SeedProvider{Type: "transplant", Region: "here-" + name, Zones: []string{"1"}}
		seed.Spec.DNS.Internal = &gardencorev1beta1.SeedDNSProviderConfig{Domain: "internal.test"}
		seed.Spec.Networks = gardencorev1beta1.SeedNetworks{Pods: "10.1.0.0/16", Services: "10.2.0.0/16"}
		seed.Status.Conditions = []gardencorev1beta1.Condition{{Type: "GardenletReady", Status: ready}}
		seed.Status.Allocatable = corev1.ResourceList{"shoots": resource.MustParse("100")}
		objects = append(objects, seed)
	}
	for _, shoot := range shoots {
		objects = append(objects, shoot, backupEntryOf(shoot))
	}
	garden := fake.NewClientBuilder().WithScheme(gardenScheme(t)).
		WithStatusSubresource(&gardencorev1beta1.Shoot{}, &gardencorev1beta1.Seed{}).WithObjects(objects...).Build()
	for _, shoot := range shoots {
		if shoot.Name != "stateless" {
			save(t, garden, shoot, wholeState())
		}
	}
	return garden
}

func stranded(name, spec, status, operation, state string) *gardencorev1beta1.Shoot {
	shoot := shootOn(spec, status, operation, state)
	shoot.Name, shoot.Namespace, shoot.UID = name, "garden-p", "uid"
	shoot.Status.TechnicalID, shoot.Status.UID = "shoot--p--"+name, "uid"
	shoot.Spec.Provider.Type, shoot.Spec.Region = "transplant", "here-b"
	return shoot
}

func newEvacuation(garden client.Client, events *eventLog) (*Evacuation, *testingclock.FakeClock) {
	clock := testingclock.NewFakeClock(time.Unix(1000, 0))
	return &Evacuation{Garden: garden, Cached: garden, Heartbeats: &heartbeats{clock: clock}, Clock: clock,
		States: &shootstate.Store{Garden: garden, Clock: clock},
		Events: events, Grace: 6 * time.Second, Interval: time.Second, AtOnce: 20}, clock
}

// heartbeats are heard some time before every look if there is a clock, else never.
type heartbeats struct {
	clock  *testingclock.FakeClock
	ago    time.Duration
	unseen []string
}

func (h *heartbeats) Heard(context.Context) (at time.Time, unseen []string, err error) {
	if h.clock != nil {
		at = h.clock.Now().Add(-h.ago)
	}
	return at, h.unseen, nil
}

func newForcedRestore(garden client.Client) *ForcedRestore {
	clock := testingclock.NewFakePassiveClock(time.Unix(1000, 0))
	states := &shootstate.Store{Garden: garden, Clock: clock}
	return &ForcedRestore{Garden: garden, States: states, Clock: clock, Events: &eventLog{}, Retry: time.Second,
		Refused: &refusals.Refusals{Cached: garden}}
}

// lookFor looks once a second.
func lookFor(t *testing.T, e *Evacuation, clock *testingclock.FakeClock, seconds int) {
	t.Helper()
	for range seconds {
		clock.Step(time.Second)
		if err := e.look(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// restored says of a shoot that its restore on seed b is over, so that the next may go.
func restored(t *testing.T, garden client.Client, name string) {
	t.Helper()
	shoot := &gardencorev1beta1.Shoot{}
	if err := garden.Get(t.Context(), client.ObjectKey{Namespace: "garden-p", Name: name}, shoot); err != nil {
		t.Fatal(err)
	}
	shoot.Annotations = nil
	if err := garden.Update(t.Context(), shoot); err != nil {
		t.Fatal(err)
	}
	shoot.Status.SeedName = ptr.To("b")
	if err := garden.Status().Update(t.Context(), shoot); err != nil {
		t.Fatal(err)
	}
}

// state is "spec status type/state force" of every shoot.
func state(t *testing.T, garden client.Client) map[string]string {
	t.Helper()
	shoots := &gardencorev1beta1.ShootList{}
	if err := garden.List(t.Context(), shoots); err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for i := range shoots.Items {
		s := &shoots.Items[i]
		all[s.Name] = fmt.Sprintf("%s %s %s/%s %v", ptr.Deref(s.Spec.SeedName, "-"), ptr.Deref(s.Status.SeedName, "-"),
			s.Status.LastOperation.Type, s.Status.LastOperation.State, lifecycle.Forced(s))
	}
	return all
}

func TestEvacuationTakesWhatIsStrandedAndNothingElse(t *testing.T) {
	t.Parallel()
	garden := newGarden(t, "Unknown",
		stranded("plain", "a", "a", "Reconcile", "Succeeded"),
		stranded("busy", "a", "a", "Reconcile", "Processing"),
		stranded("elsewhere", "b", "b", "Reconcile", "Succeeded"),
		stranded("leaving", "c", "a", "Migrate", "Processing"),
		stranded("arriving", "a", "b", "Migrate", "Processing"),
		stranded("handed-over", "a", "a", "Migrate", "Succeeded"),
		stranded("restoring", "a", "a", "Restore", "Processing"),
		stranded("unborn", "a", "", "Create", "Error"),
		stranded("stateless", "a", "a", "Reconcile", "Succeeded"),
	)
	events := &eventLog{}
	e, clock := newEvacuation(garden, events)
	lookFor(t, e, clock, 6)
	before := state(t, garden)
	if before["plain"] != "a a Reconcile/Succeeded false" {
		t.Errorf("evacuated within the grace period: %v", before)
	}
	lookFor(t, e, clock, 1)
	want := map[string]string{
		"plain":       "b a Reconcile/Succeeded true",
		"busy":        "b a Reconcile/Processing true",
		"elsewhere":   "b b Reconcile/Succeeded false",
		"leaving":     "c a Migrate/Aborted true",
		"arriving":    "a b Migrate/Processing false", // its source lives and is at work
		"handed-over": "b a Migrate/Aborted true",
		"restoring":   "b a Restore/Processing true",
		"unborn":      "a - Create/Error false",
		"stateless":   "a a Reconcile/Succeeded false",
	}
	if diff := cmp.Diff(want, state(t, garden)); diff != "" {
		t.Error(diff)
	}
	lookFor(t, e, clock, 3)
	if count := len(*events); count != 7 || !slices.Contains(*events, "stateless EvacuationImpossible") ||
		!slices.Contains(*events, "unborn EvacuationImpossible") {
		t.Errorf("events, each once: %v", *events)
	}
}

func TestEvacuationGoesByImportanceAndWithoutAHerd(t *testing.T) {
	t.Parallel()
	var shoots []*gardencorev1beta1.Shoot
	for name, purpose := range map[string]gardencorev1beta1.ShootPurpose{
		"d-infra": gardencorev1beta1.ShootPurposeInfrastructure, "c-prod": gardencorev1beta1.ShootPurposeProduction,
		"a-test": gardencorev1beta1.ShootPurposeTesting, "b-dev": gardencorev1beta1.ShootPurposeDevelopment,
	} {
		shoot := stranded(name, "a", "a", "Reconcile", "Succeeded")
		shoot.Spec.Purpose = ptr.To(purpose)
		shoots = append(shoots, shoot)
	}
	garden := newGarden(t, "Unknown", shoots...)
	events := &eventLog{}
	e, clock := newEvacuation(garden, events)
	e.AtOnce = 2
	lookFor(t, e, clock, 9)
	if diff := cmp.Diff(eventLog{"d-infra Evacuated", "c-prod Evacuated"}, *events); diff != "" {
		t.Error(diff)
	}
	restored(t, garden, "d-infra")
	lookFor(t, e, clock, 2)
	if diff := cmp.Diff(eventLog{"d-infra Evacuated", "c-prod Evacuated", "a-test Evacuated"}, *events); diff != "" {
		t.Error(diff)
	}
}

func TestNobodyIsEvacuatedBecauseTheGardenWasAway(t *testing.T) {
	t.Parallel()
	garden := newGarden(t, "Unknown", stranded("plain", "a", "a", "Reconcile", "Succeeded"))
	e, clock := newEvacuation(garden, &eventLog{})
	lookFor(t, e, clock, 3)
	clock.Step(time.Hour) // nobody could look
	lookFor(t, e, clock, 6)
	if got := state(t, garden)["plain"]; got != "a a Reconcile/Succeeded false" {
		t.Errorf("evacuated after an hour that nobody saw: %s", got)
	}
}

// The time that evacuating takes is no gap either: who has to wait for others must not wait for the grace period again.
// The word that a shoot can go nowhere stays as well.
func TestEvacuatingManyIsNoGap(t *testing.T) {
	t.Parallel()
	picky := stranded("picky", "a", "a", "Reconcile", "Succeeded")
	picky.Spec.Provider.Type = "other"
	garden := newGarden(t, "Unknown", picky, stranded("one", "a", "a", "Reconcile", "Succeeded"),
		stranded("two", "a", "a", "Reconcile", "Succeeded"))
	events := &eventLog{}
	e, clock := newEvacuation(garden, events)
	e.AtOnce = 1
	lookFor(t, e, clock, 6)
	e.Garden = interceptor.NewClient(garden.(client.WithWatch), interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch,
			options ...client.PatchOption) error {
			clock.Step(2900 * time.Millisecond) // of the three seconds after which nobody has looked
			return c.Patch(ctx, object, patch, options...)
		},
	})
	lookFor(t, e, clock, 1)
	if diff := cmp.Diff(eventLog{"one Evacuated"}, evacuated(*events)); diff != "" {
		t.Fatal(diff)
	}
	restored(t, garden, "one")
	lookFor(t, e, clock, 1)
	if diff := cmp.Diff(eventLog{"one Evacuated", "two Evacuated"}, evacuated(*events)); diff != "" {
		t.Error(diff)
	}
	if err := garden.Get(t.Context(), client.ObjectKeyFromObject(picky), picky); err != nil {
		t.Fatal(err)
	}
	if len(picky.Status.Constraints) != 1 {
		t.Errorf("a shoot that fits no seed has the constraints %+v", picky.Status.Constraints)
	}
}

func evacuated(events eventLog) eventLog {
	return slices.DeleteFunc(slices.Clone(events), func(e string) bool { return !strings.HasSuffix(e, " Evacuated") })
}

func TestEvacuation_NoSeedFits_SetsConstraintUntilOneDoes(t *testing.T) {
	t.Parallel()
	shoot := stranded("picky", "a", "a", "Reconcile", "Succeeded")
	shoot.Spec.Provider.Type = "other"
	garden := newGarden(t, "Unknown", shoot)
	e, clock := newEvacuation(garden, &eventLog{})
	lookFor(t, e, clock, 8)
	get := func() []gardencorev1beta1.Condition {
		if err := garden.Get(t.Context(), client.ObjectKeyFromObject(shoot), shoot); err != nil {
			t.Fatal(err)
		}
		return shoot.Status.Constraints
	}
	got := get()
	if len(got) != 1 || got[0].Type != gardencorev1beta1.ShootEvacuationPossible || got[0].Status != "False" ||
		!strings.Contains(got[0].Message, `b, c has provider type "transplant"`) {
		t.Fatalf("got %+v", got)
	}
	seed := &gardencorev1beta1.Seed{}
	if err := garden.Get(t.Context(), client.ObjectKey{Name: "a"}, seed); err != nil {
		t.Fatal(err)
	}
	seed.Status.Conditions[0].Status = "True"
	if err := garden.Status().Update(t.Context(), seed); err != nil {
		t.Fatal(err)
	}
	lookFor(t, e, clock, 1)
	if got = get(); len(got) != 0 {
		t.Errorf("the seed is back, and the shoot still has %+v", got)
	}
}

// managedSeed is the seed that is the shoot of its name.
func managedSeed(name string) *seedmanagementv1alpha1.ManagedSeed {
	return &seedmanagementv1alpha1.ManagedSeed{ObjectMeta: metav1.ObjectMeta{Namespace: "garden-p", Name: name},
		Spec: seedmanagementv1alpha1.ManagedSeedSpec{Shoot: seedmanagementv1alpha1.Shoot{Name: name}}}
}

// A ring of three has lost a: the control plane of b cannot go to c, which b hosts, nor a guest to what hangs on a. A
// seed outside the ring takes b, and then the ring takes guests again.
func TestEvacuation_RingThatLostOne_NeedsASeedOutside(t *testing.T) {
	t.Parallel()
	b := stranded("b", "a", "a", "Reconcile", "Succeeded")
	b.Spec.Purpose = ptr.To(gardencorev1beta1.ShootPurposeInfrastructure)
	guest := stranded("guest", "a", "a", "Reconcile", "Succeeded")
	garden := newGarden(t, "Unknown", guest, b, stranded("a", "c", "c", "Reconcile", "Succeeded"),
		stranded("c", "b", "b", "Reconcile", "Succeeded"))
	for _, name := range []string{"a", "b", "c"} {
		if err := garden.Create(t.Context(), managedSeed(name)); err != nil {
			t.Fatal(err)
		}
	}
	e, clock := newEvacuation(garden, &eventLog{})
	lookFor(t, e, clock, 8)
	for shoot, want := range map[*gardencorev1beta1.Shoot]string{
		b: `no seed fits: a is the seed that the shoot is to leave; b is the shoot itself; c is hosted by "b", ` +
			`which is the shoot itself: of two seeds that host each other, the loss of one leaves nobody to restore it`,
		guest: `no seed fits: a is the seed that the shoot is to leave; b is hosted by "a", which is not ready: condition ` +
			`GardenletReady is Unknown; c is hosted by "b", which is hosted by "a", which is not ready: condition ` +
			`GardenletReady is Unknown`,
	} {
		if err := garden.Get(t.Context(), client.ObjectKeyFromObject(shoot), shoot); err != nil {
			t.Fatal(err)
		}
		if got := shoot.Status.Constraints; len(got) != 1 || got[0].Type != gardencorev1beta1.ShootEvacuationPossible ||
			got[0].Status != "False" || !strings.Contains(got[0].Message, want) {
			t.Errorf("%s has the constraints %+v, want %q", shoot.Name, got, want)
		}
	}
	first := &gardencorev1beta1.Seed{}
	if err := garden.Get(t.Context(), client.ObjectKey{Name: "c"}, first); err != nil {
		t.Fatal(err)
	}
	first.Name, first.UID, first.ResourceVersion, first.Spec.Provider.Region = "first", "uid-first", "", "far-away"
	if err := garden.Create(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	lookFor(t, e, clock, 1)
	got := state(t, garden)
	if want := "first a Reconcile/Succeeded true"; got["b"] != want {
		t.Errorf("b: %q, want %q", got["b"], want)
	}
}

// The source of a shoot lives, and its destination is lost: another one is chosen when the source can get no further.
func TestALostDestinationIsChosenAnew(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"Migrate/Error": "c b Migrate/Error true", "Migrate/Failed": "c b Migrate/Failed true",
		// its gardenlet was restarted, and begins nothing towards a seed that is lost
		"Migrate/Aborted":    "c b Migrate/Aborted true",
		"Migrate/Processing": "a b Migrate/Processing false", "Reconcile/Succeeded": "a b Reconcile/Succeeded false",
	} {
		operation, in, _ := strings.Cut(name, "/")
		shoot := stranded("s", "a", "b", operation, in)
		garden := newGarden(t, "Unknown", shoot)
		e, clock := newEvacuation(garden, &eventLog{})
		lookFor(t, e, clock, 9)
		if got := state(t, garden)["s"]; got != want {
			t.Errorf("%s: it is %s, want %s", name, got, want)
		}
	}
}

func TestWhoWasLeavingAlreadyWaitsForItsTurnToo(t *testing.T) {
	t.Parallel()
	garden := newGarden(t, "Unknown", stranded("s", "b", "a", "Migrate", "Processing"),
		stranded("t", "b", "a", "Migrate", "Processing"))
	events := &eventLog{}
	e, clock := newEvacuation(garden, events)
	e.AtOnce = 1
	lookFor(t, e, clock, 9)
	if diff := cmp.Diff(eventLog{"s Evacuated"}, *events); diff != "" {
		t.Error(diff)
	}
}

func TestEvacuation_Manual_OnlyReports(t *testing.T) {
	t.Parallel()
	garden := newGarden(t, "Unknown", stranded("plain", "a", "a", "Reconcile", "Succeeded"))
	e, clock := newEvacuation(garden, &eventLog{})
	e.Manual = true
	lookFor(t, e, clock, 8)
	if got := state(t, garden)["plain"]; got != "a a Reconcile/Succeeded false" {
		t.Errorf("it is %s", got)
	}
}

// An operator has done what manual evacuation asks for: from then on, the shoot's status says only what the restore
// misses.
func TestManualEvacuationIsSilentOnWhoWaitsForItsRestore(t *testing.T) {
	t.Parallel()
	for name, spec := range map[string]string{"the destination lives": "b", "the destination is lost, too": "x"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shoot := forced(stranded("stateless", spec, "a", "Reconcile", "Succeeded"))
			garden := newGarden(t, "Unknown", shoot)
			x := &gardencorev1beta1.Seed{ObjectMeta: metav1.ObjectMeta{Name: "x"}}
			x.Status.Conditions = []gardencorev1beta1.Condition{{Type: "GardenletReady", Status: "Unknown"}}
			if err := garden.Create(t.Context(), x); err != nil {
				t.Fatal(err)
			}
			events := &eventLog{}
			e, clock := newEvacuation(garden, events)
			e.Manual = true
			lookFor(t, e, clock, 8)
			force := newForcedRestore(garden)
			force.Events = events
			for range 3 {
				if _, err := force.Reconcile(t.Context(),
					reconcile.Request{NamespacedName: client.ObjectKeyFromObject(shoot)}); err != nil {
					t.Fatal(err)
				}
				lookFor(t, e, clock, 1)
			}
			if err := garden.Get(t.Context(), client.ObjectKeyFromObject(shoot), shoot); err != nil {
				t.Fatal(err)
			}
			if got := shoot.Status.Constraints; len(got) != 1 || !strings.Contains(got[0].Message,
				"missing are the ShootState") || len(*events) != 1 {
				t.Errorf("got %+v, events %v", got, *events)
			}
		})
	}
}

func TestForcedRestoreGivesTheShootToWhereItIsBound(t *testing.T) {
	t.Parallel()
	force := func(shoot *gardencorev1beta1.Shoot) *gardencorev1beta1.Shoot {
		shoot.Annotations = map[string]string{"shoot.gardener.cloud/force-restore": "true"}
		shoot.Status.LastErrors = []gardencorev1beta1.LastError{{Description: "of the source"}}
		return shoot
	}
	for name, c := range map[string]struct {
		source gardencorev1beta1.ConditionStatus
		shoot  *gardencorev1beta1.Shoot
		want   string
		again  bool
	}{
		"the source is silent": {"Unknown", force(stranded("s", "b", "a", "Reconcile", "Succeeded")),
			"b b Migrate/Aborted true", false},
		"in a migration": {"Unknown", force(stranded("s", "b", "a", "Migrate", "Processing")),
			"b b Migrate/Aborted true", false},
		"the source is no more": {"Unknown", force(stranded("s", "b", "gone", "Reconcile", "Succeeded")),
			"b b Migrate/Aborted true", false},
		"the source answers": {"True", force(stranded("s", "b", "a", "Migrate", "Processing")),
			"b a Migrate/Processing true", true},
		"it is there already": {"Unknown", force(stranded("s", "b", "b", "Restore", "Processing")),
			"b b Restore/Processing true", false},
		"nobody asked": {"Unknown", stranded("s", "b", "a", "Migrate", "Processing"),
			"b a Migrate/Processing false", false},
		"it never had a control plane": {"Unknown", force(stranded("s", "b", "", "Create", "Processing")),
			"b - Create/Processing true", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			garden := newGarden(t, c.source, c.shoot)
			result, err := newForcedRestore(garden).Reconcile(t.Context(),
				reconcile.Request{NamespacedName: client.ObjectKeyFromObject(c.shoot)})
			if err != nil {
				t.Fatal(err)
			}
			if got := state(t, garden)["s"]; got != c.want || (result.RequeueAfter > 0) != c.again {
				t.Errorf("it is %s, look again %v; want %s, %v", got, result.RequeueAfter > 0, c.want, c.again)
			}
		})
	}
}
