package window_test

import (
	"math/rand/v2"
	"testing"
	"time"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/maintenance/window"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ begin, end, err string }{
		{"220000+0100", "230000+0100", ""},
		{"", "230000+0100", `read the begin of the time window: "" is no time of the form HHMMSS+ZZZZ, for example ` +
			`220000+0100`},
		{"220000+0100", "250000+0100",
			`read the end of the time window: "250000+0100" is no time of the form HHMMSS+ZZZZ, for example 220000+0100`},
		{"220000", "230000+0100",
			`read the begin of the time window: "220000" is no time of the form HHMMSS+ZZZZ, for example 220000+0100`},
	} {
		_, err := window.Parse(c.begin, c.end)
		if (err == nil) != (c.err == "") || err != nil && err.Error() != c.err {
			t.Errorf("%s–%s: error %v", c.begin, c.end, err)
		}
	}
}

// TestMomentsLieInTheNextWindow holds moments of random windows that admission accepts to what they are for.
func TestMomentsLieInTheNextWindow(t *testing.T) {
	t.Parallel()
	dice := rand.New(rand.NewPCG(1, 2))
	day := time.Date(2026, time.November, 21, 0, 0, 0, 0, time.UTC)
	for range 5000 {
		begin := day.Add(time.Duration(dice.IntN(24*60)) * time.Minute)
		end := begin.Add(window.Minimum + time.Duration(dice.IntN(331))*time.Minute)
		raw, err := window.Parse(begin.Format(window.Layout), end.Format(window.Layout))
		if err != nil {
			t.Fatal(err)
		}
		w := raw.Effective()
		now := day.Add(time.Duration(dice.IntN(24*60*60)) * time.Second)
		next, moment := w.Next(now), w.Moment(now, dice.Float64())
		if !w.Contains(next) || !w.Contains(moment) || moment.Before(next) || moment.Sub(now) > 30*time.Hour {
			t.Errorf("%s at %s: the next begins at %s, with the moment %s", w, now, next, moment)
		}
		if !w.Contains(now) && moment.Before(now) {
			t.Errorf("%s at %s: the moment %s is over", w, now, moment)
		}
		if soon := w.MomentFromNow(now, dice.Float64()); !w.Contains(soon) || soon.Before(now) {
			t.Errorf("%s at %s: the moment from now on is %s", w, now, soon)
		}
		if length := raw.Duration(); length < window.Minimum || length > window.Maximum ||
			w.Duration() != length-window.Margin {
			t.Errorf("%s is %s long, %s of them effective", raw, length, w.Duration())
		}
	}
}

func TestAShootWithoutAWindowMayAlwaysBeMaintained(t *testing.T) {
	t.Parallel()
	shoot := &gardencorev1beta1.Shoot{}
	if w := window.EffectiveOf(shoot); !w.Always() || w.String() != "at any time" ||
		!w.Contains(time.Date(2026, 11, 21, 23, 59, 59, 999, time.UTC)) {
		t.Errorf("%s", w)
	}
	shoot.Spec.Maintenance = &gardencorev1beta1.Maintenance{TimeWindow: &gardencorev1beta1.MaintenanceTimeWindow{
		Begin: "220030+0100", End: "000000+0100"}}
	if w := window.EffectiveOf(shoot); w.Always() || w.String() != "21:00:30–22:45 UTC" {
		t.Errorf("%s", w)
	}
}

// TestWhatIsLeftOfAWindow holds MomentFromNow to the field's implementation where a window is longer than admission
// lets it be: within the hour in which it ends and begins anew, what is left is the next occurrence.
func TestWhatIsLeftOfAWindow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ begin, end, now, want string }{
		{"233000+0000", "003000+0000", "2026-11-21T00:00:00Z", "2026-11-21T00:15:00Z"},
		{"233000+0000", "003000+0000", "2026-11-21T23:45:00Z", "2026-11-22T00:07:30Z"},
		{"195600+0000", "195400+0000", "2026-11-21T18:54:00Z", "2026-11-21T19:24:00Z"},
		{"195600+0000", "195400+0000", "2026-11-21T19:54:00Z", "2026-11-22T07:54:00Z"},
		{"195600+0000", "195400+0000", "2026-11-21T19:56:00Z", "2026-11-22T07:55:00Z"},
	} {
		w, err := window.Parse(c.begin, c.end)
		if err != nil {
			t.Fatal(err)
		}
		now, err := time.Parse(time.RFC3339, c.now)
		if err != nil {
			t.Fatal(err)
		}
		if got := w.MomentFromNow(now, 0.5).Format(time.RFC3339); got != c.want {
			t.Errorf("%s at %s: %s, want %s", w, c.now, got, c.want)
		}
	}
}
