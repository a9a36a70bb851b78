package migration

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/controlplane/shootstate"
)

// counted counts the requests to a garden by verb. Down, they fail; with noGets, those that get one object.
type counted struct {
	client.Client
	requests map[string]int
	down     bool
	noGets   bool
}

func count(garden client.Client) *counted {
	c := &counted{requests: map[string]int{}}
	note := func(verb string) error {
		if c.requests[verb]++; c.down || c.noGets && verb == "get" {
			return errors.New("the garden is away")
		}
		return nil
	}
	c.Client = interceptor.NewClient(garden.(client.WithWatch), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object,
			o ...client.GetOption) error {
			return errors.Join(note("get"), c.Get(ctx, key, object, o...))
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, o ...client.ListOption) error {
			return errors.Join(note("list"), c.List(ctx, list, o...))
		},
		Patch: func(ctx context.Context, c client.WithWatch, object client.Object, p client.Patch,
			o ...client.PatchOption) error {
			return errors.Join(note("write"), c.Patch(ctx, object, p, o...))
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, object client.Object, p client.Patch,
			o ...client.SubResourcePatchOption) error {
			return errors.Join(note("write"), c.SubResource(sub).Patch(ctx, object, p, o...))
		},
	})
	return c
}

// watched is an evacuation that reads garden, of which watches show shown.
func watched(garden, shown client.Client) (*Evacuation, *testingclock.FakeClock, *counted) {
	c := count(garden)
	e, clock := newEvacuation(c, &eventLog{})
	e.Cached, e.States = shown, &shootstate.Store{Garden: c, Clock: clock}
	return e, clock, c
}

func setReady(t *testing.T, garden client.Client, name string, ready gardencorev1beta1.ConditionStatus, at time.Time) {
	t.Helper()
	seed := &gardencorev1beta1.Seed{}
	if err := garden.Get(t.Context(), client.ObjectKey{Name: name}, seed); err != nil {
		t.Fatal(err)
	}
	seed.Status.Conditions = []gardencorev1beta1.Condition{
		{Type: "GardenletReady", Status: ready, LastTransitionTime: metav1.NewTime(at)},
	}
	if err := garden.Status().Update(t.Context(), seed); err != nil {
		t.Fatal(err)
	}
}

const (
	plainStays = "a a Reconcile/Succeeded false"
	plainGoes  = "b a Reconcile/Succeeded true"
)

func plain(names ...string) []*gardencorev1beta1.Shoot {
	var shoots []*gardencorev1beta1.Shoot
	for _, name := range names {
		shoots = append(shoots, stranded(name, "a", "a", "Reconcile", "Succeeded"))
	}
	return shoots
}

// What an evacuation costs does not depend on for how long it is waited, nor on how many wait.
func TestEvacuation_NothingToDo_AsksNobody(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ready  gardencorev1beta1.ConditionStatus
		shoots []*gardencorev1beta1.Shoot
		looks  int // and as many as are counted
		most   map[string]int
		ago    time.Duration // of the last heartbeat
	}{
		"all seeds are there": {"True", plain("one", "two"), 20, nil, 0},
		// The first look, and one in each half of the grace period of six seconds. It is lost at one of them.
		"a seed is lost that has nothing":           {"Unknown", nil, 20, map[string]int{"list": 7 * 2}, 0},
		"others are heard in every second interval": {"Unknown", nil, 20, map[string]int{"list": 7 * 2}, 2 * time.Second},
		// The same, and for each shoot what it needs. Three wait for their turn in all looks.
		"shoots wait for their turn": {"Unknown", plain("s1", "s2", "s3", "s4", "s5"), 20,
			map[string]int{"list": 7 * 2, "get": 2 * 2, "write": 2}, 0},
		// Once for each, and in each look after the fallback once for one of them.
		"shoots cannot be restored": {"Unknown", plain("stateless"), 20,
			map[string]int{"list": 7 * 2, "get": 5 * 2, "write": 1}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			garden := newGarden(t, c.ready, c.shoots...)
			e, clock, requests := watched(garden, garden)
			e.AtOnce, e.Heartbeats = 2, &heartbeats{clock: clock, ago: c.ago}
			lookFor(t, e, clock, c.looks)
			for verb, got := range requests.requests {
				if got > c.most[verb] {
					t.Errorf("%d requests to %s, want at most %d; all: %v", got, verb, c.most[verb], requests.requests)
				}
			}
		})
	}
}

func TestEvacuation_ManyCannotBeRestored_OneIsReadInEachLook(t *testing.T) {
	t.Parallel()
	var names []string
	for i := range 30 {
		names = append(names, fmt.Sprintf("s%d", i))
	}
	garden := newGarden(t, "Unknown", plain(names...)...)
	for _, shoot := range plain(names...) {
		removeState(t, garden, shoot)
	}
	e, clock, requests := watched(garden, garden)
	e.AtOnce = 100
	lookFor(t, e, clock, 10)
	clear(requests.requests)
	lookFor(t, e, clock, 100)
	// A look lists twice, and reads the state and the backup entry of one shoot.
	if requests.requests["list"] > 200 || requests.requests["get"] > 200 || requests.requests["write"] > 0 {
		t.Errorf("in 100 looks at 30 shoots: %v", requests.requests)
	}
}

func removeState(t *testing.T, garden client.Client, shoot *gardencorev1beta1.Shoot) {
	t.Helper()
	state := &gardencorev1beta1.ShootState{}
	state.Namespace, state.Name = shoot.Namespace, shoot.Name
	if err := garden.Delete(t.Context(), state); err != nil {
		t.Fatal(err)
	}
}

// A state that is there again is used at the next look; one that no watch shows, after the fallback.
func TestEvacuation_StateIsThereAgain_ShootGoes(t *testing.T) {
	t.Parallel()
	for name, looks := range map[string]int{"shown": 1, "not shown": 3} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shoot := plain("stateless")[0]
			garden := newGarden(t, "Unknown", shoot)
			shown := garden
			if name == "not shown" {
				shown = newGarden(t, "Unknown", plain("stateless")...)
			}
			e, clock, _ := watched(garden, shown)
			lookFor(t, e, clock, 10)
			save(t, garden, shoot, wholeState())
			lookFor(t, e, clock, looks)
			if got := state(t, garden)["stateless"]; got != plainGoes {
				t.Errorf("it is %s after %d looks", got, looks)
			}
		})
	}
}

// Whatever watches show: what is done is right for the garden as it is, and as soon as by reads alone.
func TestEvacuation_WatchesShowAnotherGarden_GardenDecides(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		shown, is map[string]gardencorev1beta1.ConditionStatus // of a, b and c
		unseen    []string
		want      string
	}{
		"loss is not shown": {map[string]gardencorev1beta1.ConditionStatus{"a": "True"},
			map[string]gardencorev1beta1.ConditionStatus{"a": "Unknown"}, []string{"a"}, plainGoes},
		"return is not shown": {map[string]gardencorev1beta1.ConditionStatus{"a": "Unknown"},
			map[string]gardencorev1beta1.ConditionStatus{"a": "True"}, nil, plainStays},
		"all are silent, which is not shown": {map[string]gardencorev1beta1.ConditionStatus{"a": "Unknown"},
			map[string]gardencorev1beta1.ConditionStatus{"a": "Unknown", "b": "Unknown", "c": "Unknown"}, nil, plainStays},
		"others are there, which is not shown": {
			map[string]gardencorev1beta1.ConditionStatus{"a": "Unknown", "b": "Unknown", "c": "Unknown"},
			map[string]gardencorev1beta1.ConditionStatus{"a": "Unknown"}, nil, plainGoes},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			garden, shown := newGarden(t, "True", plain("s")...), newGarden(t, "True", plain("s")...)
			for seed, ready := range c.is {
				setReady(t, garden, seed, ready, time.Unix(1000, 0))
			}
			for seed, ready := range c.shown {
				setReady(t, shown, seed, ready, time.Unix(1000, 0))
			}
			e, clock, _ := watched(garden, shown)
			e.Heartbeats = &heartbeats{clock: clock, unseen: c.unseen}
			lookFor(t, e, clock, 6)
			if got := state(t, garden)["s"]; got != plainStays {
				t.Errorf("within the grace period it is %s", got)
			}
			lookFor(t, e, clock, 1)
			if got := state(t, garden)["s"]; got != c.want {
				t.Errorf("it is %s, want %s", got, c.want)
			}
			lookFor(t, e, clock, 30)
			if got := state(t, garden)["s"]; got != c.want {
				t.Errorf("30 looks later it is %s, want %s", got, c.want)
			}
		})
	}
}

// A shoot that no watch shows goes with the others: the garden is read when its seed is lost.
func TestEvacuation_ShootIsNotShown_GoesInTime(t *testing.T) {
	t.Parallel()
	garden := newGarden(t, "Unknown", plain("s")...)
	e, clock, _ := watched(garden, newGarden(t, "Unknown"))
	lookFor(t, e, clock, 7)
	if got := state(t, garden)["s"]; got != plainGoes {
		t.Errorf("it is %s", got)
	}
}

// A shoot that no watch shows, and that could not be evacuated when its seed was lost, is tried again at the next look.
func TestEvacuation_UnseenShootCannotBeRead_NextLookTriesAgain(t *testing.T) {
	t.Parallel()
	garden := newGarden(t, "Unknown", plain("s")...)
	e, clock, requests := watched(garden, newGarden(t, "Unknown"))
	lookFor(t, e, clock, 6)
	requests.noGets = true
	clock.Step(time.Second)
	if err := e.look(t.Context()); err == nil {
		t.Fatal("no error, though nothing can be read")
	}
	requests.noGets = false
	lookFor(t, e, clock, 1)
	if got := state(t, garden)["s"]; got != plainGoes {
		t.Errorf("it is %s", got)
	}
}

// A shoot that is bound to a lost seed, which no watch shows, goes within half the grace period.
func TestEvacuation_ShootIsBoundUnseen_GoesInHalfTheGracePeriod(t *testing.T) {
	t.Parallel()
	garden := newGarden(t, "Unknown")
	e, clock, _ := watched(garden, newGarden(t, "Unknown"))
	lookFor(t, e, clock, 8)
	s := plain("s")[0]
	if err := errors.Join(garden.Create(t.Context(), s), garden.Create(t.Context(), backupEntryOf(s))); err != nil {
		t.Fatal(err)
	}
	save(t, garden, s, wholeState())
	lookFor(t, e, clock, 3)
	if got := state(t, garden)["s"]; got != plainGoes {
		t.Errorf("it is %s", got)
	}
}

// Who was back in between, unseen, has the grace period anew.
func TestEvacuation_SeedWasBackUnseen_CountsAnew(t *testing.T) {
	t.Parallel()
	garden, shown := newGarden(t, "Unknown", plain("s")...), newGarden(t, "Unknown", plain("s")...)
	e, clock, _ := watched(garden, shown)
	lookFor(t, e, clock, 5)
	setReady(t, garden, "a", "Unknown", clock.Now())
	lookFor(t, e, clock, 7)
	if got := state(t, garden)["s"]; got != plainStays {
		t.Errorf("it is %s", got)
	}
	lookFor(t, e, clock, 6) // the watch is still behind
	if got := state(t, garden)["s"]; got != plainGoes {
		t.Errorf("it is %s", got)
	}
}

// Without heartbeats the garden is read at every look. One that was away gives everybody the grace period anew.
func TestEvacuation_NobodyIsHeard_GardenIsRead(t *testing.T) {
	t.Parallel()
	garden := newGarden(t, "Unknown", plain("s")...)
	e, clock, requests := watched(garden, garden)
	e.Heartbeats = &heartbeats{}
	lookFor(t, e, clock, 5)
	if diff := cmp.Diff(map[string]int{"list": 10}, requests.requests); diff != "" {
		t.Errorf("requests in 5 looks (-want +got):\n%s", diff)
	}
	requests.down = true
	for range 60 {
		clock.Step(time.Second)
		if err := e.look(t.Context()); err == nil {
			t.Fatal("a look without garden and heartbeats succeeds")
		}
	}
	requests.down = false
	lookFor(t, e, clock, 6)
	if got := state(t, garden)["s"]; got != plainStays {
		t.Errorf("the garden is back for 6 seconds, and it is %s", got)
	}
	lookFor(t, e, clock, 1)
	if got := state(t, garden)["s"]; got != plainGoes {
		t.Errorf("it is %s", got)
	}
}

// Watches show a source as ready that has been lost: all its shoots are restored at once, however many they are.
func TestForcedRestore_LossIsNotShown_AllGoTogether(t *testing.T) {
	t.Parallel()
	var shoots []*gardencorev1beta1.Shoot
	for i := range 20 {
		shoots = append(shoots, forced(stranded(fmt.Sprintf("s%d", i), "b", "a", "Reconcile", "Succeeded")))
	}
	removed := stranded("stateless", "b", "a", "Reconcile", "Succeeded")
	shoots = append([]*gardencorev1beta1.Shoot{forced(removed)}, shoots...) // the first to be read
	garden, shown := newGarden(t, "Unknown", shoots...), newGarden(t, "True", shoots...)
	clock := testingclock.NewFakePassiveClock(time.Unix(1000, 0))
	restore := newForcedRestore(garden)
	restore.Clock = clock
	r := restore.cacheFirst(shown)
	for range 3 {
		for _, shoot := range shoots {
			if _, err := r.Reconcile(t.Context(),
				reconcile.Request{NamespacedName: client.ObjectKeyFromObject(shoot)}); err != nil {
				t.Fatal(err)
			}
		}
		clock.SetTime(clock.Now().Add(time.Second))
	}
	for name, got := range state(t, garden) {
		if name != "stateless" && got != "b b Migrate/Aborted true" {
			t.Errorf("%s is %s", name, got)
		}
	}
}

// A forced restore that waits is looked at in the cache, and once in the retry period at one of those that wait.
func TestForcedRestore_Waits_OneShootIsReadInEachRetry(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		source gardencorev1beta1.ConditionStatus
		gets   int // of one shoot, for each retry
	}{"the source answers": {"True", 2}, "the state is not whole": {"Unknown", 4}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var shoots []*gardencorev1beta1.Shoot
			for i := range 10 {
				shoots = append(shoots, forced(stranded(fmt.Sprintf("s%d", i), "b", "a", "Reconcile", "Succeeded")))
			}
			garden := newGarden(t, c.source, shoots...)
			for _, shoot := range shoots {
				removeState(t, garden, shoot)
			}
			requests := count(garden)
			clock := testingclock.NewFakePassiveClock(time.Unix(1000, 0))
			restore := newForcedRestore(requests)
			restore.Clock = clock
			r := restore.cacheFirst(garden)
			reconcileAll := func() {
				for _, shoot := range shoots {
					result, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(shoot)})
					if err != nil || result.RequeueAfter == 0 {
						t.Fatalf("looks again after %v, %v", result.RequeueAfter, err)
					}
				}
				clock.SetTime(clock.Now().Add(time.Second))
			}
			reconcileAll()
			clear(requests.requests)
			for range 20 {
				reconcileAll()
			}
			if diff := cmp.Diff(map[string]int{"get": 20 * c.gets}, requests.requests); diff != "" {
				t.Errorf("requests in 20 retries of 10 shoots (-want +got):\n%s", diff)
			}
			save(t, garden, shoots[3], wholeState())
			setReady(t, garden, "a", "Unknown", clock.Now())
			request := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(shoots[3])}
			if _, err := r.Reconcile(t.Context(), request); err != nil {
				t.Fatal(err)
			}
			if got := state(t, garden)["s3"]; got != "b b Migrate/Aborted true" {
				t.Errorf("nothing is missing any more, and it is %s", got)
			}
		})
	}
}

// A restore that is forced waits for the word only while the source answers, which then goes on with its part.
func TestReadiness_RestoreIsForced_SpeaksWhileTheSourceAnswers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		source gardencorev1beta1.ConditionStatus
		forced bool
		want   gardencorev1beta1.ConditionStatus
		again  bool
	}{
		"forced, the source is silent":  {source: "Unknown", forced: true, want: "Unknown", again: true},
		"forced, the source answers":    {source: "True", forced: true, want: "True"},
		"planned, the source is silent": {source: "Unknown", want: "True"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shoot := stranded("s", "b", "a", "Reconcile", "Succeeded")
			if c.forced {
				metav1.SetMetaDataAnnotation(&shoot.ObjectMeta, "shoot.gardener.cloud/force-restore", "true")
			}
			garden := newGarden(t, "True", shoot)
			for _, name := range []string{"a", "b"} {
				seed := seedReady("v1")
				live := &gardencorev1beta1.Seed{}
				if err := garden.Get(t.Context(), client.ObjectKey{Name: name}, live); err != nil {
					t.Fatal(err)
				}
				if live.Status = seed.Status; name == "a" {
					live.Status.Conditions[0].Status = c.source
				}
				if err := garden.Status().Update(t.Context(), live); err != nil {
					t.Fatal(err)
				}
			}
			r := &Readiness{Garden: garden, Clock: testingclock.NewFakePassiveClock(time.Unix(1000, 0)), Retry: time.Second}
			key := client.ObjectKeyFromObject(shoot)
			result, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: key})
			if err != nil || (result.RequeueAfter > 0) != c.again {
				t.Errorf("looks again after %v, error %v", result.RequeueAfter, err)
			}
			if err := garden.Get(t.Context(), key, shoot); err != nil {
				t.Fatal(err)
			}
			if got := statusOf(shoot.Status.Constraints, "ReadyForMigration"); got != c.want {
				t.Errorf("ReadyForMigration is %s, want %s", got, c.want)
			}
		})
	}
}
