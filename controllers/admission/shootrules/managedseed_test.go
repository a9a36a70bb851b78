package shootrules

import (
	"context"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	testingclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	seedmanagementv1alpha1 "github.com/transplant-sim/transplant/api/seedmanagement/v1alpha1"
	"github.com/transplant-sim/transplant/controllers/admission/admissiontest"
)

// infrastructure is a shoot that may be a seed, and may be deleted otherwise.
func infrastructure(shoot *gardencorev1beta1.Shoot) {
	shoot.Spec.Purpose = ptr.To(gardencorev1beta1.ShootPurposeInfrastructure)
	shoot.Annotations = map[string]string{"confirmation.gardener.cloud/deletion": "true"}
}

func setIn(value any, name string, fields ...string) func(map[string]any) {
	return func(shoot map[string]any) { admissiontest.In(shoot, fields...)[name] = value }
}

func TestManagedSeedKept(t *testing.T) {
	t.Parallel()
	managed := func(g *garden) { g.managedSeed = "m" }
	const why = `: the shoot is the seed of ManagedSeed "m", which must be deleted first`
	sleep := setIn(true, "enabled", "spec", "hibernation")
	schedule := setIn([]any{map[string]any{"start": "0 20 * * *"}}, "schedules", "spec", "hibernation")
	testRules(t, []ruleCase{
		{
			name: "deleted", old: infrastructure, garden: managed, remove: true,
			want: []string{"metadata.deletionTimestamp: Forbidden: the shoot must not be deleted" + why},
		},
		{
			name: "hibernated", old: infrastructure, garden: managed, wire: sleep,
			want: []string{"spec.hibernation.enabled: Forbidden: must not become true" + why},
		},
		{
			name: "to be hibernated by a schedule", old: infrastructure, garden: managed, wire: schedule,
			want: []string{"spec.hibernation.schedules: Forbidden: must not get a start" + why},
		},
		{
			name: "another purpose", old: infrastructure, garden: managed, wire: setIn("production", "purpose", "spec"),
			want: []string{`spec.purpose: Forbidden: must stay "infrastructure"` + why},
		},
		{name: "something else", old: infrastructure, garden: managed, wire: setIn("x", "exposureClassName", "spec")},
		{name: "no managed seed: deleted", old: infrastructure, remove: true},
		{name: "no managed seed: hibernated", old: infrastructure, wire: sleep},
		{name: "no managed seed: another purpose", old: infrastructure, wire: setIn("production", "purpose", "spec")},
		{
			name: "what was there before", garden: managed, wire: setIn("x", "exposureClassName", "spec"),
			old: func(shoot *gardencorev1beta1.Shoot) {
				shoot.Spec.Purpose = ptr.To(gardencorev1beta1.ShootPurposeProduction)
				shoot.Spec.Hibernation = &gardencorev1beta1.Hibernation{Enabled: ptr.To(true),
					Schedules: []gardencorev1beta1.HibernationSchedule{{Start: ptr.To("0 20 * * *")}}}
			},
		},
	})
}

// Managed seeds are read for the requests that could harm one, and for no other.
func TestValidate_ManagedSeeds_AreReadWhereTheyMatter(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		gardencorev1beta1.AddToScheme, seedmanagementv1alpha1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	managed := func(namespace, name, shoot string) *seedmanagementv1alpha1.ManagedSeed {
		return &seedmanagementv1alpha1.ManagedSeed{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
			Spec: seedmanagementv1alpha1.ManagedSeedSpec{Shoot: seedmanagementv1alpha1.Shoot{Name: shoot}}}
	}
	for name, c := range map[string]struct {
		request ruleCase
		read    bool
		refused bool
	}{
		"deleted":        {request: ruleCase{remove: true}, read: true, refused: true},
		"hibernated":     {request: ruleCase{wire: setIn(true, "enabled", "spec", "hibernation")}, read: true, refused: true},
		"other purpose":  {request: ruleCase{wire: setIn("testing", "purpose", "spec")}, read: true, refused: true},
		"something else": {request: ruleCase{wire: setIn("x", "exposureClassName", "spec")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			read := false
			garden := fake.NewClientBuilder().WithScheme(scheme).WithObjects(admissiontest.Profile(),
				managed("garden-q", "other", "alpha"), managed("garden-p", "m", "alpha"),
			).WithInterceptorFuncs(interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch,
				list client.ObjectList, opts ...client.ListOption) error {
				_, is := list.(*seedmanagementv1alpha1.ManagedSeedList)
				read = read || is
				return c.List(ctx, list, opts...)
			}}).Build()
			old := admissiontest.Shoot()
			infrastructure(old)
			v := &Validator{Client: garden, Clock: testingclock.NewFakePassiveClock(admissiontest.Now)}
			errs, err := v.Validate(t.Context(), newTestRequest(t, old, c.request))
			if err != nil || read != c.read || len(errs) > 0 != c.refused {
				t.Errorf("read %t, refused with %v (%v); want read %t, refused %t", read, errs, err, c.read, c.refused)
			}
		})
	}
}

func TestSleepsBySchedule(t *testing.T) {
	t.Parallel()
	shoot := admissiontest.Shoot()
	got := []bool{SleepsBySchedule(shoot)}
	for _, schedule := range []gardencorev1beta1.HibernationSchedule{
		{End: ptr.To("0 6 * * *")}, {Start: ptr.To("0 20 * * *")},
	} {
		shoot.Spec.Hibernation = &gardencorev1beta1.Hibernation{Schedules: []gardencorev1beta1.HibernationSchedule{schedule}}
		got = append(got, SleepsBySchedule(shoot))
	}
	if want := []bool{false, false, true}; !slices.Equal(got, want) {
		t.Errorf("without, with an end, with a start: %v, want %v", got, want)
	}
}
