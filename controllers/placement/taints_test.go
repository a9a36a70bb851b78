package placement

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"os"
	"testing"

	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

func TestTaints(t *testing.T) {
	t.Parallel()
	change := func(taints []gardencorev1beta1.SeedTaint, tolerations ...gardencorev1beta1.Toleration) func(*Question, *gardencorev1beta1.Seed) {
		return func(q *Question, b *gardencorev1beta1.Seed) {
			b.Spec.Taints, q.Shoot.Spec.Tolerations = taints, tolerations
		}
	}
	key, valued := gardencorev1beta1.SeedTaint{Key: "key"}, gardencorev1beta1.SeedTaint{Key: "key", Value: ptr.To("v")}
	testRule(t, taintsTolerated, []ruleCase{
		{name: "no taints", change: change(nil, gardencorev1beta1.Toleration{Key: "key"})},
		{name: "key, any value", change: change([]gardencorev1beta1.SeedTaint{key}, gardencorev1beta1.Toleration{Key: "key", Value: ptr.To("x")})},
		{name: "same value", change: change([]gardencorev1beta1.SeedTaint{valued}, gardencorev1beta1.Toleration{Key: "key", Value: ptr.To("v")})},
		{
			name: "other value", change: change([]gardencorev1beta1.SeedTaint{valued}, gardencorev1beta1.Toleration{Key: "key", Value: ptr.To("w")}),
			want: `has taints that spec.tolerations does not tolerate: "key=v"`,
		},
		{
			name: "absent value", change: change([]gardencorev1beta1.SeedTaint{valued}, gardencorev1beta1.Toleration{Key: "key"}),
			want: `has taints that spec.tolerations does not tolerate: "key=v"`,
		},
		{
			name: "no toleration", change: change([]gardencorev1beta1.SeedTaint{key, valued}),
			want: `has taints that spec.tolerations does not tolerate: "key", "key=v"`,
		},
		{
			name: "more taints than tolerations", change: change([]gardencorev1beta1.SeedTaint{key, key}, gardencorev1beta1.Toleration{Key: "key"}),
			want: "has 2 taints, more than the shoot's 1 tolerations",
		},
	})
}

// TestToleratedAsKnown asks the cases whose answers the field's own implementation gave.
func TestToleratedAsKnown(t *testing.T) {
	t.Parallel()
	file, err := os.Open("testdata/tolerations.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	lines := bufio.NewScanner(unzipped)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var known struct {
			In struct {
				ID, Kind         string
				SeedTaints       []gardencorev1beta1.SeedTaint
				ShootTolerations []gardencorev1beta1.Toleration
			}
			Want struct{ Tolerated bool }
		}
		if err := json.Unmarshal(lines.Bytes(), &known); err != nil {
			t.Fatal(err)
		}
		if known.In.Kind != "seedTaints" {
			continue
		}
		asked++
		if got := Tolerated(known.In.SeedTaints, known.In.ShootTolerations); got != known.Want.Tolerated {
			t.Errorf("%s: tolerated %t, want %t: taints %+v, tolerations %+v", known.In.ID, got, known.Want.Tolerated, known.In.SeedTaints, known.In.ShootTolerations)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	if asked != 35 {
		t.Errorf("%d cases were asked, want 35", asked)
	}
}
