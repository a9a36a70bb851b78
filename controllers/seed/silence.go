package seed

import (
	"time"

	"k8s.io/utils/clock"
)

// silence counts for how long each seed has not been heard of, by the clock of who listens: the times in Leases are
// those of other machines. Who has not listened for a while (the garden was away, the process stood still) begins
// anew: it cannot know what it has missed.
type silence struct {
	clock clock.PassiveClock
	// gap is how long one may fail to listen before that.
	gap time.Duration

	heard  map[string]hearing
	listen time.Time
}

type hearing struct {
	renewal string
	at      time.Time
}

// take notes the renewals of all seeds, as read just now.
func (s *silence) take(renewals map[string]string) {
	now := s.clock.Now()
	missed := s.listen.IsZero() || now.Sub(s.listen) > s.gap
	heard := make(map[string]hearing, len(renewals))
	for name, renewal := range renewals {
		before, known := s.heard[name]
		if !known || missed || before.renewal != renewal {
			before = hearing{renewal: renewal, at: now}
		}
		heard[name] = before
	}
	s.heard, s.listen = heard, now
}

// of is how long the seed has been silent; zero for one that is not known.
func (s *silence) of(name string) time.Duration {
	hearing, known := s.heard[name]
	if !known {
		return 0
	}
	return s.clock.Since(hearing.at)
}
