package hibernation

import (
	"strings"
	"testing"
	"time"

	"k8s.io/utils/ptr"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// saturday is 2026-11-21, a Saturday.
func saturday(clock string) time.Time { return day("2026-11-21", clock) }

func day(date, clock string) time.Time {
	at, err := time.Parse("2006-01-02 15:04", date+" "+clock)
	if err != nil {
		panic(err)
	}
	return at
}

func schedule(start, end, location string) gardencorev1beta1.HibernationSchedule {
	s := gardencorev1beta1.HibernationSchedule{}
	for text, into := range map[string]**string{start: &s.Start, end: &s.End, location: &s.Location} {
		if text != "" {
			*into = ptr.To(text)
		}
	}
	return s
}

func TestLast(t *testing.T) {
	t.Parallel()
	nightly := schedule("0 20 * * *", "0 6 * * *", "")
	for name, c := range map[string]struct {
		schedules    []gardencorev1beta1.HibernationSchedule
		after, until time.Time
		want         string
	}{
		"nothing in between": {schedules: []gardencorev1beta1.HibernationSchedule{nightly}, after: saturday("07:00"),
			until: saturday("19:59"), want: "nothing"},
		"sleep": {schedules: []gardencorev1beta1.HibernationSchedule{nightly}, after: saturday("19:00"),
			until: saturday("20:00"), want: "sleep at 20:00"},
		"acted on already": {schedules: []gardencorev1beta1.HibernationSchedule{nightly}, after: saturday("20:00"),
			until: saturday("20:30"), want: "nothing"},
		"wake": {schedules: []gardencorev1beta1.HibernationSchedule{nightly}, after: saturday("05:00"),
			until: saturday("06:30"), want: "wake at 06:00"},
		"the later of two": {schedules: []gardencorev1beta1.HibernationSchedule{nightly}, after: saturday("05:00"),
			until: saturday("21:00"), want: "sleep at 20:00"},
		"at the same moment it wakes": {schedules: []gardencorev1beta1.HibernationSchedule{schedule("0 8 * * *", "0 8 * * *",
			"")}, after: saturday("07:00"), until: saturday("08:00"), want: "wake at 08:00"},
		"only an end": {schedules: []gardencorev1beta1.HibernationSchedule{schedule("", "0 6 * * *", "")},
			after: saturday("05:00"), until: saturday("21:00"), want: "wake at 06:00"},
		"two schedules": {schedules: []gardencorev1beta1.HibernationSchedule{nightly,
			schedule("0 13 * * 6", "", "")}, after: saturday("12:00"), until: saturday("14:00"), want: "sleep at 13:00"},
		"not on this weekday": {schedules: []gardencorev1beta1.HibernationSchedule{schedule("0 13 * * 1-5", "", "")},
			after: saturday("12:00"), until: saturday("14:00"), want: "nothing"},
		"in a time zone": {schedules: []gardencorev1beta1.HibernationSchedule{schedule("0 20 * * *", "",
			"Asia/Kolkata")}, after: saturday("14:00"), until: saturday("15:00"), want: "sleep at 14:30"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := parse(c.schedules)
			if err != nil {
				t.Fatal(err)
			}
			got := "nothing"
			if last := s.last(c.after, c.until); last != nil {
				got = map[bool]string{true: "sleep", false: "wake"}[last.sleep] + " at " + last.at.UTC().Format("15:04")
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]gardencorev1beta1.HibernationSchedule{
		"spec.hibernation.schedules[0].start":    schedule("noon", "0 6 * * *", ""),
		"spec.hibernation.schedules[0].end":      schedule("0 20 * * *", "61 6 * * *", ""),
		"spec.hibernation.schedules[0].location": schedule("0 20 * * *", "", "Nowhere/Land"),
	} {
		if _, err := parse([]gardencorev1beta1.HibernationSchedule{s}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func TestNext(t *testing.T) {
	t.Parallel()
	s, err := parse([]gardencorev1beta1.HibernationSchedule{schedule("0 20 * * *", "0 6 * * *", "")})
	if err != nil {
		t.Fatal(err)
	}
	if next, found := s.next(saturday("20:00")); !found || !next.Equal(day("2026-11-22", "06:00")) {
		t.Errorf("%s, %t", next, found)
	}
	if _, found := (schedules{}).next(saturday("20:00")); found {
		t.Error("without schedules there is no next moment")
	}
}
