package forward

import (
	"context"
	"testing"
	"time"

	testingclock "k8s.io/utils/clock/testing"
)

func TestResolver_AddressThatDoesNotAnswer_IsAskedForTenTimesASecond(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ttl    time.Duration
		forget string
		want   int
	}{
		"it answers":              {ttl: time.Minute, want: 1},
		"it does not":             {ttl: time.Minute, forget: "192.0.2.1", want: 10},
		"another one does not":    {ttl: time.Minute, forget: "192.0.2.2", want: 1},
		"it may not be kept long": {ttl: 50 * time.Millisecond, forget: "192.0.2.1", want: 20},
		"it may not be kept":      {forget: "192.0.2.1", want: 100},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock, asked := testingclock.NewFakePassiveClock(time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)), 0
			r := NewResolver("alpha", func(context.Context, string) (string, time.Duration, error) {
				asked++
				return "192.0.2.1", c.ttl, nil
			}, clock)
			for range 100 { // a second
				if address, err := r.address(t.Context()); address != "192.0.2.1" || err != nil {
					t.Fatalf("address %q: %v", address, err)
				}
				r.forget(c.forget)
				clock.SetTime(clock.Now().Add(10 * time.Millisecond))
			}
			if asked != c.want {
				t.Errorf("asked %d times, want %d", asked, c.want)
			}
		})
	}
}
