package rollout_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/rollout"
)

func twoPools() *gardencorev1beta1.Shoot {
	s := shoot(gardencorev1beta1.AutoRollingUpdate)
	b := *s.Spec.Provider.Workers[0].DeepCopy()
	b.Name = "b"
	s.Spec.Provider.Workers = append(s.Spec.Provider.Workers, b)
	return s
}

func TestRequested(t *testing.T) {
	t.Parallel()
	for operation, want := range map[string]struct {
		is             bool
		pools, unknown []string
	}{
		"rollout-workers=b":         {true, []string{"b"}, nil},
		"rollout-workers=b, a,b":    {true, []string{"a", "b"}, nil},
		"rollout-workers=*":         {true, []string{"a", "b"}, nil},
		"rollout-workers=z,a,y":     {true, []string{"a"}, []string{"y", "z"}},
		"rollout-workers=":          {true, nil, nil},
		"rollout-workers":           {},
		"rollout-workersome=a":      {},
		"rotate-credentials-start":  {},
		"Rollout-Workers=a":         {},
		"x;rollout-workers=a":       {}, // several operations: callers split them
		"rollout-workers=a;retry":   {true, nil, []string{"a;retry"}},
		"rollout-workers=*,nowhere": {true, []string{"a", "b"}, []string{"nowhere"}},
	} {
		pools, unknown := rollout.Requested(twoPools(), []string{"reconcile", operation})
		if is := rollout.IsRequest(operation); is != want.is || !cmp.Equal(pools, want.pools) || !cmp.Equal(unknown,
			want.unknown) {
			t.Errorf("%q: %t, %q, unknown %q, want %+v", operation, is, pools, unknown, want)
		}
	}
}

// A pool is rolled once for each time that somebody asks, and none for another's sake.
func TestNotesOfRolls(t *testing.T) {
	t.Parallel()
	before := twoPools()
	first, second := before.DeepCopy(), before.DeepCopy()
	noon := time.Date(2026, time.November, 21, 12, 0, 0, 0, time.UTC)
	for shoot, at := range map[*gardencorev1beta1.Shoot]time.Time{first: noon, second: noon.Add(time.Millisecond)} {
		if err := rollout.Note(shoot, []string{"a"}, at); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name     string
		from, to *gardencorev1beta1.Shoot
		a        rollout.Kind
	}{
		{"asked for", before, first, rollout.Rolls}, {"once more", first, second, rollout.Rolls},
		{"nothing new", second, second.DeepCopy(), rollout.Stays},
	} {
		verdicts, err := rollout.Compare(c.from, c.to)
		if err != nil {
			t.Fatal(err)
		}
		if verdicts[0].Kind != c.a || verdicts[1].Kind != rollout.Stays {
			t.Errorf("%s: %v", c.name, verdicts)
		}
	}
	second.Spec.Provider.Workers = second.Spec.Provider.Workers[1:]
	if err := rollout.Note(second, nil, noon); err != nil {
		t.Fatal(err)
	}
	if len(second.Annotations) > 0 {
		t.Errorf("a pool that is gone is remembered: %v", second.Annotations)
	}
}
