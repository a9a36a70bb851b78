package shoot

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	testingclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/controlplane"
	"github.com/transplant-sim/transplant/controllers/controlplane/lifecycle"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
)

// noon is outside of the window of settled, whose effective part is from 22:00 to 23:00.
var noon = time.Date(2026, time.March, 10, 12, 0, 0, 0, time.UTC)

// settled is a shoot that was reconciled at 11:50 and has not changed since.
func settled(change func(*gardencorev1beta1.Shoot)) *gardencorev1beta1.Shoot {
	shoot := &gardencorev1beta1.Shoot{
		ObjectMeta: metav1.ObjectMeta{Namespace: "garden-p", Name: "alpha", Generation: 3},
		Spec: gardencorev1beta1.ShootSpec{Maintenance: &gardencorev1beta1.Maintenance{
			TimeWindow: &gardencorev1beta1.MaintenanceTimeWindow{Begin: "220000+0000", End: "231500+0000"},
		}},
		Status: gardencorev1beta1.ShootStatus{
			ObservedGeneration: 3,
			LastOperation: &gardencorev1beta1.LastOperation{
				Type: "Reconcile", State: "Succeeded", LastUpdateTime: metav1.NewTime(noon.Add(-10 * time.Minute)),
			},
		},
	}
	if change != nil {
		change(shoot)
	}
	return shoot
}

func changed(shoot *gardencorev1beta1.Shoot) { shoot.Generation = 4 }
func confined(shoot *gardencorev1beta1.Shoot) {
	shoot.Spec.Maintenance.ConfineSpecUpdateRollout = ptr.To(true)
}

func annotated(key, value string) func(*gardencorev1beta1.Shoot) {
	return func(shoot *gardencorev1beta1.Shoot) { metav1.SetMetaDataAnnotation(&shoot.ObjectMeta, key, value) }
}

func TestDue(t *testing.T) {
	t.Parallel()
	inWindow := time.Date(2026, time.March, 10, 22, 59, 59, 0, time.UTC)
	tonight := [2]time.Duration{10 * time.Hour, 11 * time.Hour}
	exactly := func(wait time.Duration) [2]time.Duration { return [2]time.Duration{wait, wait} }
	type changes []func(*gardencorev1beta1.Shoot)
	for _, c := range []struct {
		name     string
		shoot    changes
		cadence  Cadence
		now      time.Time // noon if zero
		want     [2]time.Duration
		confined bool
	}{
		{name: "nothing new", want: exactly(50 * time.Minute)},
		{name: "changed", shoot: changes{changed}},
		{name: "changed and confined", shoot: changes{changed, confined}, want: tonight, confined: true},
		{name: "changed and confined, in the window", shoot: changes{changed, confined}, now: inWindow},
		{name: "changed and confined, and asked for",
			shoot: changes{changed, confined, annotated("gardener.cloud/operation", "reconcile")}},
		{
			name: "changed and confined while it is created",
			shoot: changes{changed, confined, func(s *gardencorev1beta1.Shoot) {
				s.Status.LastOperation.Type = "Create"
				s.Status.LastOperation.State = "Error"
			}},
		},
		{name: "confined and not changed", shoot: changes{confined}, want: exactly(50 * time.Minute)},
		{name: "maintenance goes first", shoot: changes{annotated("gardener.cloud/operation", "reconcile;maintain")},
			want: exactly(50 * time.Minute)},
		{name: "one operation of several",
			shoot: changes{annotated("gardener.cloud/operation", "rotate-ssh-keypair;reconcile")}},
		{name: "an operation of others", shoot: changes{annotated("gardener.cloud/operation", "force-in-place-update")},
			want: exactly(50 * time.Minute)},
		{name: "pools are to be rolled",
			shoot: changes{annotated("gardener.cloud/operation", "rotate-ssh-keypair;rollout-workers=a")}},
		{name: "pools are to be rolled after maintenance",
			shoot: changes{annotated("gardener.cloud/operation", "maintain;rollout-workers=a")},
			want:  exactly(50 * time.Minute)},
		{name: "credentials are to be rotated", shoot: changes{annotated("gardener.cloud/operation", "rotate-ssh-keypair")}},
		{name: "credentials are to be rotated after maintenance",
			shoot: changes{annotated("gardener.cloud/operation", "maintain;rotate-ssh-keypair")},
			want:  exactly(50 * time.Minute)},
		{name: "a rotation that nobody carries out", shoot: changes{annotated("gardener.cloud/operation", "rotate-ca-start")},
			want: exactly(50 * time.Minute)},
		{name: "failed", shoot: changes{func(s *gardencorev1beta1.Shoot) {
			s.Status.LastOperation.State = "Failed"
		}}, want: exactly(time.Hour)},
		{
			name: "failed and asked to retry",
			shoot: changes{annotated("gardener.cloud/operation", "retry"), func(s *gardencorev1beta1.Shoot) {
				s.Status.LastOperation.State = "Failed"
			}},
		},
		{name: "a period of its own", shoot: changes{annotated("shoot.gardener.cloud/sync-period", "15m")},
			cadence: Cadence{RespectOverwrite: true}, want: exactly(5 * time.Minute)},
		{name: "a period of its own that does not count",
			shoot: changes{annotated("shoot.gardener.cloud/sync-period", "15m")}, want: exactly(50 * time.Minute)},
		{name: "no period", shoot: changes{annotated("shoot.gardener.cloud/sync-period", "often")},
			cadence: Cadence{RespectOverwrite: true}, want: exactly(50 * time.Minute)},
		{name: "in maintenance only", cadence: Cadence{InMaintenanceOnly: true}, want: tonight},
		{name: "in maintenance only, in the window", cadence: Cadence{InMaintenanceOnly: true}, now: inWindow},
		{
			name: "in maintenance only, done tonight", cadence: Cadence{InMaintenanceOnly: true}, now: inWindow,
			shoot: changes{func(s *gardencorev1beta1.Shoot) {
				s.Status.LastOperation.LastUpdateTime = metav1.NewTime(inWindow.Add(-5 * time.Minute))
			}},
			want: [2]time.Duration{23 * time.Hour, 24*time.Hour + time.Second},
		},
		{
			name: "in maintenance only, done at the very begin", cadence: Cadence{InMaintenanceOnly: true},
			now: noon.Add(10 * time.Hour),
			shoot: changes{func(s *gardencorev1beta1.Shoot) {
				s.Status.LastOperation.LastUpdateTime = metav1.NewTime(noon.Add(10 * time.Hour))
			}},
			want: [2]time.Duration{24 * time.Hour, 25 * time.Hour},
		},
		{name: "in maintenance only, changed", shoot: changes{changed}, cadence: Cadence{InMaintenanceOnly: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			shoot := settled(nil)
			for _, change := range c.shoot {
				change(shoot)
			}
			now := c.now
			if now.IsZero() {
				now = noon
			}
			c.cadence.Sync = time.Hour
			f := &Flows{Cadence: c.cadence}
			o := controlplane.New(&scope.Scope{Shoot: shoot, Clock: testingclock.NewFakeClock(now)})
			wait, confined := f.due(o, lifecycle.OperationType(shoot))
			if wait < c.want[0] || wait > c.want[1] || confined != c.confined {
				t.Errorf("waits %v (confined: %t), want between %v and %v (%t)", wait, confined, c.want[0], c.want[1], c.confined)
			}
		})
	}
}

// garden has one shoot, which has changed, and a clock that stands at noon.
type garden struct {
	client client.Client
	clock  *testingclock.FakeClock
}

func newGarden(t *testing.T) *garden {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := gardencorev1beta1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return &garden{
		client: fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&gardencorev1beta1.Shoot{}).
			WithObjects(settled(changed)).Build(),
		clock: testingclock.NewFakeClock(noon),
	}
}

// read the shoot as it is by now.
func (g *garden) read(t *testing.T) *controlplane.Operation {
	t.Helper()
	o := controlplane.New(&scope.Scope{Garden: g.client, Clock: g.clock, Shoot: &gardencorev1beta1.Shoot{}})
	if err := g.client.Get(t.Context(), client.ObjectKey{Namespace: "garden-p", Name: "alpha"}, o.Shoot); err != nil {
		t.Fatal(err)
	}
	return o
}

func TestWhatIsConfinedIsShown(t *testing.T) {
	t.Parallel()
	g := newGarden(t)
	look := func() *gardencorev1beta1.Shoot {
		o := g.read(t)
		if err := reportConfined(t.Context(), o, true, 10*time.Hour-g.clock.Since(noon)); err != nil {
			t.Fatal(err)
		}
		return o.Shoot
	}
	first := look()
	last := first.Status.LastOperation
	if last.State != "Pending" ||
		last.Description != "Changes of the specification are confined to the maintenance time window. Scheduled for "+
			"2026-03-10T22:00:00Z" {
		t.Errorf("lastOperation is %+v", last)
	}
	g.clock.Step(time.Minute)
	if second := look(); second.ResourceVersion != first.ResourceVersion {
		t.Error("the same is reported twice: each look would wake the next")
	}
}
