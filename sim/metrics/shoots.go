package metrics

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/transplant-sim/transplant/sim/state"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// shootMetrics is how the shoots and their nodes are. What is over is 0, and not gone: in samples that are loaded
// nothing says that a series has ended, and Prometheus would go on with its last value for 5 minutes.
type shootMetrics struct {
	on, progress, condition, epoch, nodes, seeds *prometheus.GaugeVec

	known *state.State
}

func newShootMetrics() shootMetrics {
	return shootMetrics{
		on: gauge("transplant_shoot_on_seed", "1 for the seed in a shoot's status, 0 for those that were in it.",
			"shoot", "seed"),
		progress: gauge("transplant_shoot_operation_progress_ratio",
			"Progress of a shoot's last operation, by its type; 1 when it is done, 0 for types that it had before.", "shoot",
			"operation"),
		condition: gauge("transplant_shoot_condition",
			"1 for the status that a condition or constraint of a shoot has, 0 for those that it had before.", "shoot", "type",
			"status"),
		epoch: gauge("transplant_shoot_epoch",
			"Owner epoch that the control plane on a seed serves; 0 when it serves none.", "shoot", "seed"),
		nodes: gauge("transplant_shoot_nodes", "Nodes of a shoot, ready and not.", "shoot", "ready"),
		seeds: gauge("transplant_seed_shoots", "Shoots whose status names a seed.", "seed"),
		known: state.New(),
	}
}

func (s shootMetrics) all() []prometheus.Collector {
	return []prometheus.Collector{s.on, s.progress, s.condition, s.epoch, s.nodes, s.seeds}
}

func (s shootMetrics) take(e timeline.Event) {
	was := s.known.Shoots[e.Subject]
	s.known.Take(e)
	switch p := e.Payload.(type) {
	case timeline.LandscapeReady:
		for _, seed := range p.Seeds {
			s.seeds.WithLabelValues(seed).Add(0)
		}
	case timeline.ShootSeen:
		s.takeShoot(e.Subject, was, p)
	case timeline.EpochSeen:
		served := 0.0
		if p.Remaining > 0 {
			served = float64(p.Epoch)
		}
		s.epoch.WithLabelValues(e.Subject, p.Seed).Set(served)
	case timeline.NodeSeen:
		ready, all := s.known.Nodes(e.Subject)
		s.nodes.WithLabelValues(e.Subject, "true").Set(float64(ready))
		s.nodes.WithLabelValues(e.Subject, "false").Set(float64(all - ready))
	}
}

func (s shootMetrics) takeShoot(shoot string, was, is timeline.ShootSeen) {
	if was.StatusSeed != is.StatusSeed {
		if was.StatusSeed != "" {
			s.on.WithLabelValues(shoot, was.StatusSeed).Set(0)
			s.seeds.WithLabelValues(was.StatusSeed).Dec()
		}
		if is.StatusSeed != "" {
			s.on.WithLabelValues(shoot, is.StatusSeed).Set(1)
			s.seeds.WithLabelValues(is.StatusSeed).Inc()
		}
	}
	if was.Operation.Type != "" && was.Operation.Type != is.Operation.Type {
		s.progress.WithLabelValues(shoot, was.Operation.Type).Set(0)
	}
	if is.Operation.Type != "" {
		s.progress.WithLabelValues(shoot, is.Operation.Type).Set(float64(is.Operation.Progress) / 100)
	}
	for _, c := range was.Conditions {
		if !slices.ContainsFunc(is.Conditions, func(now timeline.ConditionIs) bool {
			return now.Type == c.Type && now.Status == c.Status
		}) {
			s.condition.WithLabelValues(shoot, c.Type, c.Status).Set(0)
		}
	}
	for _, c := range is.Conditions {
		s.condition.WithLabelValues(shoot, c.Type, c.Status).Set(1)
	}
}
