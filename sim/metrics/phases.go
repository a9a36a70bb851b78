package metrics

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/transplant-sim/transplant/sim/measure"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// phaseMeter measures the parts of migrations, each when it has ended.
type phaseMeter struct {
	duration *prometheus.HistogramVec

	shoots map[string]*movedShoot
}

// movedShoot is what is known of a shoot and its migration.
type movedShoot struct {
	seen   []timeline.Event // since the migration was asked for
	told   map[string]bool  // parts that have been observed
	nodes  int
	steady bool
	forced bool
	from   string
	asleep bool
}

func newPhaseMeter() *phaseMeter {
	return &phaseMeter{
		shoots: map[string]*movedShoot{},
		duration: histogram("transplant_migration_phase_duration_seconds",
			"Parts of migrations: asked (until Migrate begins), migrate, handOver, restore, total. Planned, or forced when Migrate was given up.",
			durations, "phase", "mode", "source", "destination", "workerless", "hibernated"),
	}
}

func (m *phaseMeter) of(shoot string) *movedShoot {
	if m.shoots[shoot] == nil {
		m.shoots[shoot] = &movedShoot{told: map[string]bool{}}
	}
	return m.shoots[shoot]
}

func (m *phaseMeter) take(e timeline.Event) {
	switch p := e.Payload.(type) {
	case timeline.ShootSteady:
		s := m.of(e.Subject)
		s.nodes, s.steady = p.Nodes, true
	case timeline.ShootSeen:
		m.takeShoot(m.of(e.Subject), e, p)
	}
}

func (m *phaseMeter) takeShoot(s *movedShoot, e timeline.Event, p timeline.ShootSeen) {
	moving := !p.Absent && p.StatusSeed != "" && p.SpecSeed != p.StatusSeed
	if len(s.seen) == 0 && !moving {
		return
	}
	if len(s.seen) == 0 {
		s.from, s.asleep, s.forced, s.told = p.StatusSeed, p.Hibernated, false, map[string]bool{}
	}
	s.seen = append(s.seen, e)
	s.forced = s.forced || p.Operation.Type == "Migrate" && p.Operation.State == "Aborted"
	all := measure.Migrations(s.seen)
	if len(all) == 0 {
		return
	}
	for name, part := range all[0].Parts() {
		// Until Migrate is over it is not known whether it is given up.
		if s.told[name] || part.From == 0 || part.To == 0 || name == "asked" && all[0].Left == 0 && !s.forced {
			continue
		}
		s.told[name] = true
		mode := "planned"
		if s.forced {
			mode = "forced"
		}
		m.duration.WithLabelValues(name, mode, s.from, p.SpecSeed, fmt.Sprint(s.steady && s.nodes == 0), fmt.Sprint(s.asleep)).Observe(part.Length().Seconds())
	}
	if all[0].Ended > 0 || p.Absent {
		s.seen = nil
	}
}
