package rollout_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/maintenance/oracletest"
	"github.com/transplant-sim/transplant/controllers/rollout"
)

type question struct {
	ID       string                  `json:"id"`
	Changes  []string                `json:"changes"`
	OldShoot gardencorev1beta1.Shoot `json:"oldShoot"`
	NewShoot gardencorev1beta1.Shoot `json:"newShoot"`
}

type answer struct {
	Pools map[string]any `json:"pools"`
}

func TestOracleRollout(t *testing.T) {
	t.Parallel()
	for _, c := range oracletest.Read[question, answer](t, "testdata/rollout.jsonl.gz") {
		verdicts, err := rollout.Compare(&c.In.OldShoot, &c.In.NewShoot)
		if err != nil {
			t.Errorf("%s: %v", c.In.ID, err)
			continue
		}
		got := map[string]any{}
		for _, v := range verdicts {
			switch v.Kind {
			case rollout.Added, rollout.Removed:
				got[v.Pool] = string(v.Kind)
			default:
				got[v.Pool] = v.Due()
			}
		}
		if diff := cmp.Diff(c.Want.Pools, got); diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s%v", c.In.ID, c.In.Changes, diff, verdicts)
		}
	}
}
