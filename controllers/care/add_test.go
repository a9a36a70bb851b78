package care

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

func TestNews(t *testing.T) {
	t.Parallel()
	shoot := func(change func(*gardencorev1beta1.Shoot)) *gardencorev1beta1.Shoot {
		s := &gardencorev1beta1.Shoot{}
		s.Status.SeedName = ptr.To("a")
		s.Status.LastOperation = &gardencorev1beta1.LastOperation{Type: "Restore", State: "Processing"}
		if change != nil {
			change(s)
		}
		return s
	}
	for name, c := range map[string]struct {
		before, after func(*gardencorev1beta1.Shoot)
		want          bool
	}{
		"progress": {after: func(s *gardencorev1beta1.Shoot) { s.Status.LastOperation.Progress = 50 }},
		"an error": {after: func(s *gardencorev1beta1.Shoot) { s.Status.LastOperation.State = "Error" }},
		"success": {after: func(s *gardencorev1beta1.Shoot) {
			s.Status.LastOperation.State = "Succeeded"
		}, want: true},
		"still successful": {before: func(s *gardencorev1beta1.Shoot) {
			s.Status.LastOperation.State = "Succeeded"
		}, after: func(s *gardencorev1beta1.Shoot) { s.Status.LastOperation.State = "Succeeded" }},
		"given to a seed first": {before: func(s *gardencorev1beta1.Shoot) { s.Status.SeedName = nil }, want: true},
		"given to another seed": {before: func(s *gardencorev1beta1.Shoot) { s.Status.SeedName = ptr.To("b") }, want: true},
		"put to sleep": {after: func(s *gardencorev1beta1.Shoot) {
			s.Spec.Hibernation = &gardencorev1beta1.Hibernation{Enabled: ptr.To(true)}
		}, want: true},
	} {
		if got := news(shoot(c.before), shoot(c.after)); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestSpread: a gardenlet with many shoots does not look at all of them at once.
func TestSpread(t *testing.T) {
	t.Parallel()
	quarters := map[time.Duration]int{}
	for i := range 200 {
		s := &gardencorev1beta1.Shoot{}
		s.UID = types.UID(rune('a'+i%26)) + types.UID(rune('a'+i/26))
		at := spread(s, time.Minute)
		if at < 0 || at >= time.Minute || at != spread(s, time.Minute) {
			t.Errorf("looked at after %s", at)
		}
		quarters[at/(15*time.Second)]++
	}
	for quarter := range time.Duration(4) {
		if quarters[quarter] < 20 {
			t.Errorf("quarter %d of the period has %d of 200 shoots", quarter, quarters[quarter])
		}
	}
	if spread(&gardencorev1beta1.Shoot{}, 0) != 0 {
		t.Error("without a period there is nothing to spread over")
	}
}
