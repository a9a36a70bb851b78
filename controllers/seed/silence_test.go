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
	hear := func(renewal string) {
		clock.Step(time.Second)
		s.take(map[string]string{"a": renewal, "b": "never"})
	}
	hear("1999-01-01") // whatever the seed's clock says
	hear("1999-01-02")
	hear("1999-01-02")
	hear("1999-01-02")
	if got := s.of("a"); got != 2*time.Second {
		t.Errorf("a has been silent for %v", got)
	}
	if got := s.of("b"); got != 3*time.Second {
		t.Errorf("b has been silent for %v", got)
	}
	clock.Step(time.Hour) // nobody listened
	hear("1999-01-02")
	if got := s.of("a"); got != 0 {
		t.Errorf("after an hour in which nobody listened a counts as silent for %v", got)
	}
	if got := s.of("unknown"); got != 0 {
		t.Errorf("an unknown seed has been silent for %v", got)
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
	l := &Lifecycle{Garden: garden, Clock: clock, Monitor: 4 * time.Second, Interval: time.Second}
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
