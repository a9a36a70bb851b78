package backoff

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestDelay_Failures_Doubles(t *testing.T) {
	t.Parallel()
	b := Delay{Base: time.Second, Max: 5 * time.Second}
	for round := range 2 {
		var got []time.Duration
		for range 6 {
			got = append(got, b.Next())
		}
		want := []time.Duration{0, time.Second, 2 * time.Second, 4 * time.Second, 5 * time.Second, 5 * time.Second}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("round %d: %s", round, diff)
		}
		b.Reset()
	}
}
