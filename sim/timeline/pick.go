package timeline

import (
	"iter"
	"maps"
	"slices"
)

// Of yields the events that carry a payload of type P, with that payload.
func Of[P Payload](events []Event) iter.Seq2[Event, P] {
	return func(yield func(Event, P) bool) {
		for _, e := range events {
			if payload, is := e.Payload.(P); is && !yield(e, payload) {
				return
			}
		}
	}
}

// About yields those of them that are about a subject.
func About[P Payload](events []Event, subject string) iter.Seq2[Event, P] {
	return func(yield func(Event, P) bool) {
		for e, payload := range Of[P](events) {
			if e.Subject == subject && !yield(e, payload) {
				return
			}
		}
	}
}

// Subjects are those of events with a payload of type P, sorted.
func Subjects[P Payload](events []Event) []string {
	seen := map[string]bool{}
	for e := range Of[P](events) {
		seen[e.Subject] = true
	}
	return slices.Sorted(maps.Keys(seen))
}

// First returns the first event with a payload of type P.
func First[P Payload](events []Event) (Event, P, bool) {
	for e, payload := range Of[P](events) {
		return e, payload, true
	}
	var none P
	return Event{}, none, false
}
