package placement

import (
	"testing"

	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/maintenance/oracletest"
)

func TestTaints(t *testing.T) {
	t.Parallel()
	change := func(taints []gardencorev1beta1.SeedTaint, tolerations ...gardencorev1beta1.Toleration) func(*Question,
		*gardencorev1beta1.Seed) {
		return func(q *Question, b *gardencorev1beta1.Seed) {
			b.Spec.Taints, q.Shoot.Spec.Tolerations = taints, tolerations
		}
	}
	key, valued := gardencorev1beta1.SeedTaint{Key: "key"}, gardencorev1beta1.SeedTaint{Key: "key", Value: ptr.To("v")}
	testRule(t, taintsTolerated, []ruleCase{
		{name: "no taints", change: change(nil, gardencorev1beta1.Toleration{Key: "key"})},
		{name: "key, any value", change: change([]gardencorev1beta1.SeedTaint{key}, gardencorev1beta1.Toleration{Key: "key",
			Value: ptr.To("x")})},
		{name: "same value", change: change([]gardencorev1beta1.SeedTaint{valued}, gardencorev1beta1.Toleration{Key: "key",
			Value: ptr.To("v")})},
		{
			name: "other value", change: change([]gardencorev1beta1.SeedTaint{valued}, gardencorev1beta1.Toleration{Key: "key",
				Value: ptr.To("w")}),
			want: `has taints that spec.tolerations does not tolerate: "key=v"`,
		},
		{
			name: "absent value", change: change([]gardencorev1beta1.SeedTaint{valued},
				gardencorev1beta1.Toleration{Key: "key"}),
			want: `has taints that spec.tolerations does not tolerate: "key=v"`,
		},
		{
			name: "no toleration", change: change([]gardencorev1beta1.SeedTaint{key, valued}),
			want: `has taints that spec.tolerations does not tolerate: "key", "key=v"`,
		},
		{
			name: "more taints than tolerations", change: change([]gardencorev1beta1.SeedTaint{key, key},
				gardencorev1beta1.Toleration{Key: "key"}),
			want: "has 2 taints, more than the shoot's 1 tolerations",
		},
	})
}

// TestOracleTolerated asks the cases whose answers the field's own implementation gave.
func TestOracleTolerated(t *testing.T) {
	t.Parallel()
	type question struct {
		ID, Kind         string
		SeedTaints       []gardencorev1beta1.SeedTaint
		ShootTolerations []gardencorev1beta1.Toleration
	}
	type answer struct{ Tolerated bool }
	asked := 0
	for _, c := range oracletest.Read[question, answer](t, "testdata/tolerations.jsonl.gz") {
		if c.In.Kind != "seedTaints" {
			continue
		}
		asked++
		if got := Tolerated(c.In.SeedTaints, c.In.ShootTolerations); got != c.Want.Tolerated {
			t.Errorf("%s: tolerated %t, want %t: taints %+v, tolerations %+v", c.In.ID, got, c.Want.Tolerated, c.In.SeedTaints,
				c.In.ShootTolerations)
		}
	}
	if asked != 35 {
		t.Errorf("%d cases were asked, want 35", asked)
	}
}
