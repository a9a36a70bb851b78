package migration

import (
	"slices"
	"testing"
	"time"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/controlplane"
	"github.com/transplant-sim/transplant/controllers/controlplane/run"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
	"github.com/transplant-sim/transplant/controllers/operation"
)

// moving are the flows of the product.
func moving(release Releaser) operation.Table {
	flows := &Flows{Release: release}
	return operation.Table{"Migrate": flows.Migrate, "Restore": flows.Restore}
}

// A run whose last word did not reach the garden leaves Processing behind. Evacuation must not take that for work that
// goes on, when the destination is lost.
func TestAHandOverThatNobodyWorksOnIsCalledOff(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spec, operation, state, ready string
		busy                          bool
		want                          string
	}{
		"the destination is not ready": {"c", "Migrate", "Processing", "False", false, "c b Migrate/Aborted false"},
		"a run is alive":               {"c", "Migrate", "Processing", "False", true, "c b Migrate/Processing false"},
		"it has not begun":             {"c", "Reconcile", "Processing", "False", false, "c b Reconcile/Processing false"},
		"a restore was cut off":        {"c", "Restore", "Processing", "False", false, "c b Migrate/Aborted false"},
		"it has failed":                {"c", "Migrate", "Error", "False", false, "c b Migrate/Error false"},
		"it stays":                     {"b", "Migrate", "Processing", "False", false, "b b Migrate/Aborted false"},
		// no run takes it apart to give it to itself
		"it stays, and was ready":      {"b", "Migrate", "Error", "True", false, "b b Migrate/Aborted false"},
		"it stays, and had failed":     {"b", "Migrate", "Failed", "False", false, "b b Migrate/Aborted false"},
		"it stays, and a run is alive": {"b", "Migrate", "Processing", "False", true, "b b Migrate/Processing false"},
		// it has run, and found no profile
		"the destination is ready": {"c", "Migrate", "Processing", "True", false, "c b Migrate/Error false"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shoot := stranded("s", c.spec, "b", c.operation, c.state)
			shoot.Status.Constraints = []gardencorev1beta1.Condition{{Type: "ReadyForMigration",
				Status: gardencorev1beta1.ConditionStatus(c.ready)}}
			shoot.Spec.CloudProfileName = ptr.To("missing")
			garden := newGarden(t, "True", shoot)
			r := &operation.Reconciler{
				Factory: newFactory(t, garden, ownedBy("b", 3), shelves{}),
				Runner: &run.Runner{Version: "v1", Events: &eventLog{}, Periods: run.Periods{Retry: time.Hour,
					Progress: time.Millisecond}},
				Flows: moving(nil),
			}
			if c.busy {
				if _, free := r.Factory.TryLock(client.ObjectKeyFromObject(shoot)); !free {
					t.Fatal("somebody holds the lock")
				}
			}
			_, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(shoot)})
			if (err != nil) != (c.ready == "True" && c.spec != "b") {
				t.Fatal(err)
			}
			if got := state(t, garden)["s"]; got != c.want {
				t.Errorf("it is %s, want %s", got, c.want)
			}
		})
	}
}

// A seed whose operators have stopped the operations on its shoots neither gives one away nor takes one.
func TestNothingMovesInAnEmergency(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ spec, status, want string }{
		{"c", "b", "c b Migrate/Error false"}, // it would run, and find no profile
		{"b", "b", "b b Restore/Error false"},
	} {
		for _, stopped := range []bool{false, true} {
			shoot := stranded("s", c.spec, c.status, "Migrate", "Aborted")
			shoot.Status.Constraints = []gardencorev1beta1.Condition{{Type: "ReadyForMigration", Status: "True"}}
			shoot.Spec.CloudProfileName = ptr.To("missing")
			garden := newGarden(t, "True", shoot)
			before, want := state(t, garden)["s"], c.want
			if stopped {
				want = before
				seed := &gardencorev1beta1.Seed{}
				if err := garden.Get(t.Context(), client.ObjectKey{Name: "b"}, seed); err != nil {
					t.Fatal(err)
				}
				seed.Annotations = map[string]string{"shoot.gardener.cloud/emergency-stop-reconciliations": "true"}
				if err := garden.Update(t.Context(), seed); err != nil {
					t.Fatal(err)
				}
			}
			r := &operation.Reconciler{
				Factory: newFactory(t, garden, ownedBy("b", 3), shelves{}),
				Runner: &run.Runner{Version: "v1", Events: &eventLog{}, Periods: run.Periods{Retry: time.Hour,
					Progress: time.Millisecond}},
				Flows: moving(nil),
			}
			result, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(shoot)})
			if got := state(t, garden)["s"]; got != want || (err == nil) != stopped || (result.RequeueAfter > 0) != stopped {
				t.Errorf("stopped %t, to %s: it is %s, want %s; %+v, %v", stopped, c.spec, got, want, result, err)
			}
		}
	}
}

// The final snapshot needs etcd, and etcd sleeps until the wake-up has ended, whatever the specification says
// (docs/specification/migration.md#spec-2-6-wake).
func TestWhoSleepsIsWokenToBeMigrated(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ spec, status, owned, api, want bool }{
		"asleep":                     {true, true, true, true, true},
		"sleep wanted":               {true, false, true, true, true},
		"wake wanted":                {false, true, true, true, true},
		"awake":                      {false, false, true, true, false},
		"the backups are given away": {true, true, false, true, false},
		"the epoch may have ended":   {true, true, true, false, false},
	} {
		shoot := shootOn("c", "b", "Migrate", "Processing")
		shoot.Spec.Hibernation, shoot.Status.IsHibernated = &gardencorev1beta1.Hibernation{Enabled: &c.spec}, c.status
		m := &migrate{Operation: controlplane.New(&scope.Scope{Shoot: shoot}), owned: c.owned, api: c.api}
		if got := slices.Contains(m.graph().Tasks(),
			"Scaling Kubernetes API Server up and waiting until ready"); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
