package scope

import (
	"context"
	"errors"
	"testing"
	"time"

	testingclock "k8s.io/utils/clock/testing"
)

// A read serves those who ask within a second, counted from before it: not from its answer. An error serves nobody.
func TestShared_ServesForASecond(t *testing.T) {
	t.Parallel()
	clock := testingclock.NewFakePassiveClock(time.Unix(1000, 0))
	shared, reads, away := &Shared[int]{}, 0, errors.New("the garden is away")
	for i, step := range []struct {
		pass, takes time.Duration
		fails       bool
		want        int // of the reads, the one that serves; 0 for an error
		reads       int
	}{
		{fails: true, want: 0, reads: 1},
		{want: 2, reads: 2},
		{pass: 900 * time.Millisecond, want: 2, reads: 2},
		{pass: 100 * time.Millisecond, takes: 700 * time.Millisecond, want: 3, reads: 3},
		{pass: 200 * time.Millisecond, want: 3, reads: 3},
		{pass: 200 * time.Millisecond, fails: true, want: 0, reads: 4},
		{pass: -time.Hour, want: 5, reads: 5}, // a clock that was set back
		{want: 6, reads: 6},
	} {
		clock.SetTime(clock.Now().Add(step.pass))
		got, err := shared.Get(t.Context(), clock, func(context.Context) (int, error) {
			clock.SetTime(clock.Now().Add(step.takes))
			if reads++; step.fails {
				return 0, away
			}
			return reads, nil
		})
		if got != step.want || errors.Is(err, away) != step.fails || reads != step.reads {
			t.Errorf("step %d: got %d with %d reads, want %d with %d; %v", i, got, reads, step.want, step.reads, err)
		}
	}
}
