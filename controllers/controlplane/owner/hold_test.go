package owner

import (
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
