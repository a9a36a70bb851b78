package seed

import (
	"maps"
	"sync"
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

	mu     sync.Mutex
	heard  map[string]hearing
	hinted map[string]time.Time // the last hint
	listen time.Time
}

type hearing struct {
	renewal time.Time // by the clock of the seed
	at      time.Time
}

// hint notes the renewals that a watch has shown. Only one that it has not shown before, and that is later than what is
// known, says anything: a seed was heard, and whoever listens could hear. Else the watch may be late or stuck.
func (s *silence) hint(shown map[string]time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	news, renewals := false, maps.Clone(shown)
	for name, renewal := range shown {
		before, known := s.heard[name]
		if known && (renewal.Equal(s.hinted[name]) || !renewal.After(before.renewal)) {
			renewals[name] = before.renewal
		} else {
			news = true
		}
	}
	for name, known := range s.heard {
		if _, is := shown[name]; !is {
			renewals[name] = known.renewal // the watch may be behind with the seed
		}
	}
	s.hinted = shown
	if news {
		s.note(renewals)
	}
}

// isAhead reports whether more is known than the watch has shown by now: it is late, or stuck.
func (s *silence) isAhead() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, known := range s.heard {
		if shown, is := s.hinted[name]; !is || known.renewal.After(shown) {
			return true
		}
	}
	return false
}

// take notes the renewals of all seeds, as read just now.
func (s *silence) take(renewals map[string]time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.note(renewals)
}

func (s *silence) note(renewals map[string]time.Time) {
	now := s.clock.Now()
	missed := s.listen.IsZero() || now.Sub(s.listen) > s.gap
	heard := make(map[string]hearing, len(renewals))
	for name, renewal := range renewals {
		before, known := s.heard[name]
		if !known || missed || !before.renewal.Equal(renewal) {
			before = hearing{renewal: renewal, at: now}
		}
		heard[name] = before
	}
	s.heard, s.listen = heard, now
}

// of is how long the seed has been silent; zero for one that is not known.
func (s *silence) of(name string) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	hearing, known := s.heard[name]
	if !known {
		return 0
	}
	return s.clock.Since(hearing.at)
}

// last is when a seed was heard, or the garden was read.
func (s *silence) last() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.listen
}

// renewal is the last one that is known of the seed, by its own clock.
func (s *silence) renewal(name string) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.heard[name].renewal
}
