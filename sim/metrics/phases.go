package metrics

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/transplant-sim/transplant/sim/measure"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// phaseMeter measures the parts of migrations, each when it has ended, and those of recoveries when they have been
// judged.
type phaseMeter struct {
	duration, recovery *prometheus.HistogramVec

	shoots  map[string]*movedShoot
	faulted bool // there was a fault
}

// movedShoot is what is known of a shoot and its migration.
type movedShoot struct {
	seen    []timeline.Event // since the migration was asked for
	counted map[string]bool  // parts that have been observed
	nodes   int
	ready   bool
	forced  bool
	from    string
	asleep  bool

	seed      string    // in the last status
	struck    string    // that seed, at the first fault
	recovered *movement // that brought the shoot back: the first after the first fault in which Migrate was given up
	over      bool      // that one has ended
}

// movement is the labels of a migration.
type movement struct{ mode, source, destination, workerless, hibernated string }

func (s *movedShoot) movement(destination string) movement {
	mode := "planned"
	if s.forced {
		mode = "forced"
	}
	return movement{mode, s.from, destination, fmt.Sprint(s.ready && s.nodes == 0), fmt.Sprint(s.asleep)}
}

func observe(h *prometheus.HistogramVec, phase string, m movement, seconds float64) {
	h.WithLabelValues(phase, m.mode, m.source, m.destination, m.workerless, m.hibernated).Observe(seconds)
}

func newPhaseMeter() *phaseMeter {
	return &phaseMeter{
		shoots: map[string]*movedShoot{},
		duration: histogram("transplant_migration_phase_duration_seconds",
			"Parts of migrations: asked (until Migrate begins), migrate, handOver, restore, total. Planned, or forced when "+
				"Migrate was given up.",
			durations, "phase", "mode", "source", "destination", "workerless", "hibernated"),
		recovery: histogram("transplant_recovery_phase_duration_seconds",
			"Parts of recoveries, each from the moment before it, the first from the fault: detected, ownerMoved, "+
				"etcdRestored, firstWrite, extensions, steady; and total.",
			durations, "phase", "mode", "source", "destination", "workerless", "hibernated"),
	}
}

func (m *phaseMeter) of(shoot string) *movedShoot {
	if m.shoots[shoot] == nil {
		m.shoots[shoot] = &movedShoot{counted: map[string]bool{}}
	}
	return m.shoots[shoot]
}

func (m *phaseMeter) take(e timeline.Event) {
	switch p := e.Payload.(type) {
	case timeline.FaultInjected:
		for _, s := range m.shoots {
			if !m.faulted {
				s.struck = s.seed
			}
		}
		m.faulted = true
	case timeline.ShootReady:
		s := m.of(e.Subject)
		s.nodes, s.ready = p.Nodes, true
	case timeline.ShootSeen:
		m.takeShoot(m.of(e.Subject), e, p)
	}
}

func (m *phaseMeter) takeShoot(s *movedShoot, e timeline.Event, p timeline.ShootSeen) {
	s.seed = p.StatusSeed
	moving := !p.Absent && p.StatusSeed != "" && p.SpecSeed != p.StatusSeed
	if len(s.seen) == 0 && !moving {
		return
	}
	if len(s.seen) == 0 {
		s.from, s.asleep, s.forced, s.counted = p.StatusSeed, p.Hibernated, false, map[string]bool{}
	}
	s.seen = append(s.seen, e)
	s.forced = s.forced || p.Operation.Type == "Migrate" && p.Operation.State == "Aborted"
	all := measure.Migrations(s.seen)
	if len(all) == 0 {
		return
	}
	for name, part := range all[0].Parts() {
		// Until Migrate is over it is not known whether it is given up.
		if s.counted[name] || part.From == 0 || part.To == 0 || name == "asked" && all[0].Left == 0 && !s.forced {
			continue
		}
		s.counted[name] = true
		observe(m.duration, name, s.movement(p.SpecSeed), part.Length().Seconds())
	}
	ended := all[0].Ended > 0 || p.Absent
	if m.faulted && s.forced && !s.over {
		now := s.movement(p.SpecSeed)
		s.recovered, s.over = &now, ended
	}
	if ended {
		s.seen = nil
	}
}

// judged measures the recoveries, whose moments the verdict has.
func (m *phaseMeter) judged(phases map[string]float64) {
	var ready []string
	for name, s := range m.shoots {
		if s.ready {
			ready = append(ready, name)
		}
	}
	for _, name := range ready {
		prefix := "recovery."
		if len(ready) > 1 {
			prefix = name + ".recovery."
		}
		m.recovered(m.shoots[name], momentsOf(phases, prefix))
	}
}

func (m *phaseMeter) recovered(s *movedShoot, moments []moment) {
	if len(moments) == 0 {
		return
	}
	how := s.movement(cmp.Or(s.struck, s.seed))
	if how.mode, how.source = "stayed", how.destination; s.recovered != nil {
		how = *s.recovered
	}
	before := 0.0
	for _, moment := range moments {
		observe(m.recovery, moment.name, how, moment.seconds-before)
		before = moment.seconds
	}
	observe(m.recovery, "total", how, before)
}

// moment of a recovery, since the fault.
type moment struct {
	name    string
	seconds float64
}

// momentsOf a recovery, in the order in which they came.
func momentsOf(phases map[string]float64, prefix string) []moment {
	var all []moment
	for name, seconds := range phases {
		if name, is := strings.CutPrefix(name, prefix); is {
			all = append(all, moment{name, seconds})
		}
	}
	slices.SortFunc(all, func(a, b moment) int {
		return cmp.Or(cmp.Compare(a.seconds, b.seconds), cmp.Compare(a.name, b.name))
	})
	return all
}
