package owner

import (
	"errors"
	"testing"
	"time"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/transplant-sim/transplant/controllers/controlplane/controlplanetest"
	"github.com/transplant-sim/transplant/controllers/ownership"
)

// An epoch that this seed has ended is not used again, with or without a final snapshot (docs/ownership.md#o11).
func TestHold_EpochHasEndedHere_ClaimsANewOne(t *testing.T) {
	t.Parallel()
	for phase, want := range map[string]int64{"Deployed": 3, "Begun": 3, "Ended": 4, "Saved": 4} {
		onA, owners := controlplanetest.OnSeedA(t, "Restore", nil, interceptor.Funcs{}, controlplanetest.EtcdOf("3"),
			controlplanetest.AlphasNamespace(nil,
				map[string]string{"transplant.dev/epoch": "3", "transplant.dev/phase": phase}))
		onA.Shoot.Spec.SeedName = ptr.To("a")
		if err := onA.Garden.Create(t.Context(), onA.Shoot.DeepCopy()); client.IgnoreAlreadyExists(err) != nil {
			t.Fatal(err)
		}
		onA.Takeover, onA.Boottime = &ownership.Takeover{}, ownership.BootClock{}
		onA.OwnerCheckInterval, onA.OwnerCheckTimeout = 10*time.Millisecond, time.Second
		owners.DNS.Set(controlplanetest.Owned("uid-a", 3))
		owners.Lease.Set(controlplanetest.Owned("uid-a", 3))
		if err := New(onA).Hold(t.Context()); err != nil || onA.Epoch != want {
			t.Errorf("%s: it acts in epoch %d, %v; want %d", phase, onA.Epoch, err, want)
		}
	}
}

// A gardenlet that stood still in a restore does not take the shoot from an operator who runs it outside any seed
// by now, unless he hands it over by force.
func TestHold_ShootIsRunOutsideAnySeed_IsNotBound(t *testing.T) {
	t.Parallel()
	for force, want := range map[string]bool{"false": false, "true": true} {
		onA, owners := controlplanetest.OnSeedA(t, "Restore", nil, interceptor.Funcs{}, controlplanetest.EtcdOf("3"),
			controlplanetest.AlphasNamespace(nil, nil))
		onA.Shoot.Spec.SeedName, onA.Shoot.Status.SeedName = ptr.To("a"), ptr.To("outside")
		onA.Shoot.Annotations = map[string]string{"shoot.gardener.cloud/force-restore": force}
		if err := client.IgnoreNotFound(onA.Garden.Delete(t.Context(), onA.Shoot.DeepCopy())); err != nil {
			t.Fatal(err)
		}
		inGarden := onA.Shoot.DeepCopy()
		inGarden.ResourceVersion = ""
		if err := onA.Garden.Create(t.Context(), inGarden); err != nil {
			t.Fatal(err)
		}
		onA.Takeover, onA.Boottime = &ownership.Takeover{}, ownership.BootClock{}
		onA.OwnerCheckInterval, onA.OwnerCheckTimeout = 10*time.Millisecond, time.Second
		owners.DNS.Set(controlplanetest.Owned("uid-of-the-operator", 4))
		owners.Lease.Set(controlplanetest.Owned("uid-of-the-operator", 4))
		err := New(onA).Hold(t.Context())
		if notBound, is := errors.AsType[*ownership.NotBoundError](err); want != (err == nil) ||
			!want && (!is || notBound.Bound != "outside") {
			t.Errorf("handed over by force: %s: %v", force, err)
		}
	}
}
