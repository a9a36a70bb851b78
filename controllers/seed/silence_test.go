package seed

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
)

func TestSilenceIsCountedByTheClockOfWhoListens(t *testing.T) {
	t.Parallel()
	clock := testingclock.NewFakeClock(time.Unix(1000, 0))
	s := &silence{clock: clock, gap: 3 * time.Second}
	hear := func(renewal int64) {
		clock.Step(time.Second)
		s.take(map[string]time.Time{"a": time.Unix(renewal, 0), "b": {}})
	}
	hear(1) // whatever the seed's clock says
	hear(2)
	hear(2)
	hear(2)
	if got := s.of("a"); got != 2*time.Second {
		t.Errorf("a has been silent for %v", got)
	}
	if got := s.of("b"); got != 3*time.Second {
		t.Errorf("b has been silent for %v", got)
	}
	clock.Step(time.Hour) // nobody listened
	hear(2)
	if got := s.of("a"); got != 0 {
		t.Errorf("after an hour in which nobody listened a counts as silent for %v", got)
	}
	if got := s.of("unknown"); got != 0 {
		t.Errorf("an unknown seed has been silent for %v", got)
	}
}

// A watch that is late, or shows an older garden than there is, makes no seed heard.
func TestSilence_WatchShowsNothingNew_ProvesNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		hints []int64 // renewals of a, each followed by a second; a live read has shown 5 before
		want  time.Duration
	}{
		"nothing at all":  {nil, 0},
		"what is known":   {[]int64{5, 5, 5}, 3 * time.Second},
		"what was before": {[]int64{3, 4, 5}, 3 * time.Second},
		"a renewal":       {[]int64{3, 6, 6}, 2 * time.Second},
		"many":            {[]int64{6, 7, 8}, time.Second},
	} {
		clock := testingclock.NewFakeClock(time.Unix(1000, 0))
		s := &silence{clock: clock, gap: 3 * time.Second}
		s.take(map[string]time.Time{"a": time.Unix(5, 0)})
		began := clock.Now()
		for _, renewal := range c.hints {
			s.hint(map[string]time.Time{"a": time.Unix(renewal, 0)})
			clock.Step(time.Second)
		}
		if got := s.of("a"); got != c.want {
			t.Errorf("%s: silent for %v, want %v", name, got, c.want)
		}
		if heard := !s.listen.Equal(began); c.want == clock.Since(began) && heard {
			t.Errorf("%s: counts as a sign of the garden", name)
		}
	}
	s := &silence{clock: testingclock.NewFakeClock(time.Unix(1000, 0)), gap: time.Second}
	s.hint(map[string]time.Time{"a": time.Unix(9, 0)})
	s.take(map[string]time.Time{"a": time.Unix(5, 0)}) // the garden went back, the watch has not seen it yet
	s.heard["a"] = hearing{renewal: time.Unix(5, 0), at: s.clock.Now().Add(-time.Second)}
	s.hint(map[string]time.Time{"a": time.Unix(9, 0)})
	if got := s.of("a"); got != time.Second {
		t.Errorf("what the watch has shown before the garden went back ends the silence: %v", got)
	}
}

func TestASilentSeedIsUnknownAndOnlyThat(t *testing.T) {
	t.Parallel()
	clock := testingclock.NewFakeClock(time.Unix(1000, 0))
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{gardencorev1beta1.AddToScheme, coordinationv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	seed := func(name string) *gardencorev1beta1.Seed {
		s := &gardencorev1beta1.Seed{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name)}}
		for _, condition := range []gardencorev1beta1.ConditionType{gardencorev1beta1.SeedGardenletReady,
			gardencorev1beta1.SeedBackupBucketsReady} {
			s.Status.Conditions = append(s.Status.Conditions, gardencorev1beta1.Condition{Type: condition,
				Status: gardencorev1beta1.ConditionTrue})
		}
		return s
	}
	lease := func(name, holder string) *coordinationv1.Lease {
		return &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: constants.SeedLeaseNamespace},
			Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, RenewTime: &metav1.MicroTime{Time: time.Unix(1, 0)}},
		}
	}
	alive, dead, rebuilt := seed("alive"), seed("dead"), seed("rebuilt")
	garden := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&gardencorev1beta1.Seed{}).WithObjects(
		alive, dead, rebuilt, lease("alive", string(alive.UID)), lease("dead", string(dead.UID)),
		lease("rebuilt", "another-uid"),
	).Build()
	l := &Lifecycle{Garden: garden, Cached: garden, Clock: clock, Monitor: 4 * time.Second, Interval: time.Second}
	renew := func(name string, at int64) {
		object := &coordinationv1.Lease{}
		if err := garden.Get(t.Context(), client.ObjectKey{Namespace: constants.SeedLeaseNamespace, Name: name},
			object); err != nil {
			t.Fatal(err)
		}
		object.Spec.RenewTime = ptr.To(metav1.NewMicroTime(time.Unix(at, 0)))
		if err := garden.Update(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	for second := range int64(6) {
		renew("alive", second+10)
		renew("rebuilt", second+10) // the one of before the fire: not this seed's
		if err := l.look(t.Context()); err != nil {
			t.Fatal(err)
		}
		clock.Step(time.Second)
	}
	got := map[string]gardencorev1beta1.ConditionStatus{}
	seeds := &gardencorev1beta1.SeedList{}
	if err := garden.List(t.Context(), seeds); err != nil {
		t.Fatal(err)
	}
	for _, s := range seeds.Items {
		for _, condition := range s.Status.Conditions {
			got[s.Name+"/"+string(condition.Type)] = condition.Status
		}
	}
	want := map[string]gardencorev1beta1.ConditionStatus{
		"alive/GardenletReady": "True", "alive/BackupBucketsReady": "True",
		"dead/GardenletReady": "Unknown", "dead/BackupBucketsReady": "True",
		"rebuilt/GardenletReady": "Unknown", "rebuilt/BackupBucketsReady": "True",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
