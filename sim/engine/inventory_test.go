package engine

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"

	"github.com/transplant-sim/transplant/sim/probe/inventory"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// hurried is a clock on which every wait is over at once, and has taken its time.
type hurried struct {
	clock.RealClock
	now time.Time
}

var _ clock.WithTicker = &hurried{}

func (h *hurried) Now() time.Time                  { return h.now }
func (h *hurried) Since(t time.Time) time.Duration { return h.now.Sub(t) }

func (h *hurried) After(d time.Duration) <-chan time.Time {
	h.now = h.now.Add(d)
	over := make(chan time.Time, 1)
	over <- h.now
	return over
}

// scripted looks see these processes, one look after the other, and the last again and again. One named "fail" is a
// look that fails.
func scripted(looks ...[]string) (look func(context.Context, *timeline.Journal) error, taken *int) {
	taken = new(int)
	return func(_ context.Context, to *timeline.Journal) error {
		now := looks[min(*taken, len(looks)-1)]
		*taken++
		seen := timeline.InventorySeen{When: timeline.Before}
		for _, name := range now {
			if name == "fail" {
				return errors.New("the gardenlet is not ready")
			}
			seen.Items = append(seen.Items, timeline.Item{Class: "process", Name: name})
		}
		to.Record(timeline.Event{Subject: "a", Payload: seen})
		return nil
	}, taken
}

func TestSettled(t *testing.T) {
	t.Parallel()
	one, two, fails := []string{"acme"}, []string{"acme", "acme-helper"}, []string{"fail"}
	for name, c := range map[string]struct {
		looks    [][]string
		versions [][]string // of these looks; nil for a rule without
		quiet    time.Duration
		want     int // looks
		last     []string
		err      string
	}{
		"TwoLooksAgree":          {looks: [][]string{one}, want: 2, last: one},
		"QuietForAWhile":         {looks: [][]string{one}, quiet: 3 * time.Second, want: 4, last: one},
		"HelperStartsLate":       {looks: [][]string{one, one, two}, quiet: 3 * time.Second, want: 6, last: two},
		"NotReadyAtFirst":        {looks: [][]string{fails, one}, want: 3, last: one},
		"FailureBetweenTwoLooks": {looks: [][]string{one, fails, one}, want: 4, last: one},
		"NeverReady":             {looks: [][]string{fails}, want: 11, err: "the gardenlet is not ready"},
		"QuietForTooLong": {
			looks: [][]string{one, two}, quiet: time.Hour, want: 21, last: two,
			err: "still changing after 20s: +process acme-helper on a",
		},
		"ChangesAtTheEnd": {
			looks: append(alternating(20, one, two), one), want: 21, last: one,
			err: "still changing after 20s: -process acme-helper on a; +process acme-helper on a",
		},
		"NobodyWrites": {looks: [][]string{one}, versions: [][]string{two}, quiet: time.Hour, want: 2, last: one},
		"WrittenToAtFirst": {
			looks: [][]string{one}, versions: [][]string{one, two}, quiet: time.Hour, want: 3, last: one,
		},
		"WrittenToAllTheTime": {
			looks: [][]string{one}, versions: alternating(20, one, two), quiet: 3 * time.Second, want: 4, last: one,
		},
		"WrittenToAndChanging": {
			looks: [][]string{one, two}, versions: [][]string{one, two}, quiet: time.Hour, want: 3, last: two,
		},
		"SettlesAtTheEnd": {looks: append(alternating(19, two, one), one), quiet: time.Second, want: 21, last: one},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			look, taken := scripted(c.looks...)
			var versions func() inventory.Versions
			if c.versions != nil {
				versions = func() inventory.Versions {
					all := inventory.Versions{}
					for _, name := range c.versions[min(*taken, len(c.versions))-1] {
						all[name] = "1"
					}
					return all
				}
			}
			memory, err := settleRule{
				look: look, names: lasting, versions: versions, quiet: c.quiet, failing: 10 * time.Second,
				changing: 20 * time.Second,
			}.settled(t.Context(), &hurried{now: time.Now()}, time.Second)
			if got := errorText(err); got != c.err || *taken != c.want {
				t.Errorf("after %d looks: %q, want %d: %q", *taken, got, c.want, c.err)
			}
			var last []string
			for _, p := range timeline.Of[timeline.InventorySeen](memory.Events()) {
				for _, item := range p.Items {
					last = append(last, item.Name)
				}
			}
			if diff := cmp.Diff(c.last, last); diff != "" {
				t.Errorf("the last look (-want +got):\n%s", diff)
			}
		})
	}
}

func alternating(count int, odd, even []string) (looks [][]string) {
	for i := range count {
		looks = append(looks, [][]string{odd, even}[i%2])
	}
	return looks
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestNames_OfBackupsAndEvents_AreAsBefore: they come although nobody is at work.
func TestNames_OfBackupsAndEvents_AreAsBefore(t *testing.T) {
	t.Parallel()
	look := func(items ...timeline.Item) []timeline.Event {
		for i := range items {
			items[i].Mentions = []string{"alpha"}
		}
		seen := timeline.InventorySeen{Items: items}
		return []timeline.Event{{Subject: "a", Kind: seen.Kind(), Payload: seen}}
	}
	pod := timeline.Item{Class: "pods", Namespace: "n", Name: "p"}
	first := timeline.Item{Class: "object", Name: "alpha/3/Full-1"}
	later := timeline.Item{Class: "object", Name: "alpha/3/Incr-2"}
	other := timeline.Item{Class: "object", Name: "alpha/4/Full-1"}
	event := timeline.Item{Class: "events.events.k8s.io", Namespace: "n", Name: "e"}
	for name, names := range map[string]func([]timeline.Event) []string{"lasting": lasting, "changing": changing} {
		before := names(look(pod, first))
		if now := names(look(pod, first, later, event)); !slices.Equal(before, now) {
			t.Errorf("%s: %q after %q", name, now, before)
		}
		if now := names(look(pod, first, other)); slices.Equal(before, now) {
			t.Errorf("%s: the backups of another epoch make no difference: %q", name, now)
		}
	}
}
