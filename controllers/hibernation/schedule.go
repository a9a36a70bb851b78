package hibernation

import (
	"fmt"
	"time"

	"github.com/robfig/cron/v3"
	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// Deadline is how late a schedule still acts: who was away for longer does not put shoots to sleep in the middle of a
// day.
const Deadline = 2 * time.Hour

// schedules are the times at which a shoot goes to sleep and wakes up.
type schedules struct{ start, end []cron.Schedule }

// parse reads the schedules of a shoot. One that cannot be read makes all of them void: half a schedule might put a
// shoot to sleep and never wake it.
func parse(specs []gardencorev1beta1.HibernationSchedule) (schedules, error) {
	var s schedules
	for i, spec := range specs {
		location, err := time.LoadLocation(ptr.Deref(spec.Location, "UTC"))
		if err != nil {
			return schedules{}, fmt.Errorf("read spec.hibernation.schedules[%d].location: %w", i, err)
		}
		for _, side := range []struct {
			name string
			text *string
			into *[]cron.Schedule
		}{{"start", spec.Start, &s.start}, {"end", spec.End, &s.end}} {
			if side.text == nil {
				continue
			}
			parsed, err := cron.ParseStandard(*side.text)
			if err != nil {
				return schedules{}, fmt.Errorf("read spec.hibernation.schedules[%d].%s: %w", i, side.name, err)
			}
			*side.into = append(*side.into, in{parsed, location})
		}
	}
	return s, nil
}

// in is a schedule in a time zone.
type in struct {
	cron.Schedule
	location *time.Location
}

// Next is the first time after t.
func (s in) Next(t time.Time) time.Time { return s.Schedule.Next(t.In(s.location)) }

// trigger is a moment at which a shoot is to go to sleep, or to wake up.
type trigger struct {
	at    time.Time
	sleep bool
}

// last is the last trigger after one moment, and not after another; nil if there is none. Of two at the same moment the
// one that wakes the shoot counts: who sleeps by mistake serves nobody.
func (s schedules) last(after, until time.Time) *trigger {
	var found *trigger
	for _, side := range []struct {
		of    []cron.Schedule
		sleep bool
	}{{s.start, true}, {s.end, false}} {
		for _, schedule := range side.of {
			for at := schedule.Next(after); !at.IsZero() && !at.After(until); at = schedule.Next(at) {
				if found == nil || at.After(found.at) || at.Equal(found.at) && !side.sleep {
					found = &trigger{at: at, sleep: side.sleep}
				}
			}
		}
	}
	return found
}

// next is the first trigger after a moment; false if there is none.
func (s schedules) next(after time.Time) (time.Time, bool) {
	var first time.Time
	for _, schedule := range append(append([]cron.Schedule(nil), s.start...), s.end...) {
		if at := schedule.Next(after); !at.IsZero() && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	return first, !first.IsZero()
}
