package owner

import (
	"errors"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/transplant-sim/transplant/controllers/controlplane/controlplanetest"
	"github.com/transplant-sim/transplant/controllers/ownership"
	"github.com/transplant-sim/transplant/controllers/ownership/ownershiptest"
	"github.com/transplant-sim/transplant/controllers/ownership/tenure"
)

// Only DNS says that what is here belongs to an epoch that is over (docs/ownership.md#o10).
func TestHasLeftovers(t *testing.T) {
	t.Parallel()
	const claimed = tenure.Claimed
	for name, c := range map[string]struct {
		here   tenure.Phase
		record ownership.Record
		down   bool
		want   bool
		err    error
	}{
		"nothing is here, DNS is not asked": {down: true},
		"DNS does not answer":               {here: claimed, down: true, err: ownershiptest.ErrDown},
		"nobody has ever owned it":          {here: claimed},
		"it is this seed's":                 {here: claimed, record: controlplanetest.Owned("uid-a", 2)},
		"it is another's":                   {here: claimed, record: controlplanetest.Owned("uid-b", 3), want: true},
		"it is nobody's any more":           {here: claimed, record: controlplanetest.Owned(ownership.Nobody, 4), want: true},
		"it is another's, and is cleaned up": {
			here: tenure.Abandoned, record: controlplanetest.Owned("uid-b", 3), want: true,
		},
		"it was the seed's former self's": {
			here: claimed, record: ownership.Record{Owner: "uid-a-before", Epoch: 5, Seed: "a"}, want: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onA, owners := controlplanetest.OnSeedA(t, "Reconcile", nil, interceptor.Funcs{})
			o := New(onA)
			if !c.record.Absent() {
				owners.DNS.Set(c.record)
			}
			owners.DNS.Down(c.down)
			here := &Survey{Tenure: tenure.Tenure{Phase: c.here}, o: o}
			got, err := here.HasLeftovers(t.Context())
			if got != c.want || !errors.Is(err, c.err) {
				t.Errorf("got %t, %v; want %t, %v", got, err, c.want, c.err)
			}
		})
	}
}
