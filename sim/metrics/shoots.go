package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/transplant-sim/transplant/sim/timeline"
)

// shootMetrics is how the shoots and their nodes are. What is over is 0, and not gone: in samples that are loaded
// nothing says that a series has ended, and Prometheus would go on with its last value for 5 minutes.
type shootMetrics struct {
	on, progress, condition, epoch, nodes, seeds *prometheus.GaugeVec

	seed      map[string]string            // of each shoot
	operation map[string]string            // type of the last one of each shoot
	ready     map[string]map[string]bool   // nodes of each shoot
	types     map[string]map[string]string // status of each condition of each shoot
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
		seed:  map[string]string{}, operation: map[string]string{}, ready: map[string]map[string]bool{},
		types: map[string]map[string]string{},
	}
}

func (s shootMetrics) all() []prometheus.Collector {
	return []prometheus.Collector{s.on, s.progress, s.condition, s.epoch, s.nodes, s.seeds}
}

func (s shootMetrics) take(e timeline.Event) {
	switch p := e.Payload.(type) {
	case timeline.LandscapeReady:
		for _, seed := range p.Seeds {
			s.seeds.WithLabelValues(seed).Add(0)
		}
	case timeline.ShootSeen:
		s.takeShoot(e.Subject, p)
	case timeline.EpochSeen:
		served := 0.0
		if p.Remaining > 0 {
			served = float64(p.Epoch)
		}
		s.epoch.WithLabelValues(e.Subject, p.Seed).Set(served)
	case timeline.NodeSeen:
		s.takeNode(e.Subject, p)
	}
}

func (s shootMetrics) takeShoot(shoot string, p timeline.ShootSeen) {
	if was := s.seed[shoot]; was != p.StatusSeed {
		if was != "" {
			s.on.WithLabelValues(shoot, was).Set(0)
			s.seeds.WithLabelValues(was).Dec()
		}
		if s.seed[shoot] = p.StatusSeed; p.StatusSeed != "" {
			s.on.WithLabelValues(shoot, p.StatusSeed).Set(1)
			s.seeds.WithLabelValues(p.StatusSeed).Inc()
		}
	}
	if was := s.operation[shoot]; was != "" && was != p.Operation.Type {
		s.progress.WithLabelValues(shoot, was).Set(0)
	}
	if s.operation[shoot] = p.Operation.Type; p.Operation.Type != "" {
		s.progress.WithLabelValues(shoot, p.Operation.Type).Set(float64(p.Operation.Progress) / 100)
	}
	before := s.types[shoot]
	s.types[shoot] = map[string]string{}
	for _, c := range p.Conditions {
		if was := before[c.Type]; was != "" && was != c.Status {
			s.condition.WithLabelValues(shoot, c.Type, was).Set(0)
		}
		delete(before, c.Type)
		s.condition.WithLabelValues(shoot, c.Type, c.Status).Set(1)
		s.types[shoot][c.Type] = c.Status
	}
	for gone, status := range before {
		s.condition.WithLabelValues(shoot, gone, status).Set(0)
	}
}

func (s shootMetrics) takeNode(shoot string, p timeline.NodeSeen) {
	if s.ready[shoot] == nil {
		s.ready[shoot] = map[string]bool{}
	}
	if s.ready[shoot][p.Name] = p.Ready == "True"; p.Gone {
		delete(s.ready[shoot], p.Name)
	}
	ready := 0
	for _, is := range s.ready[shoot] {
		if is {
			ready++
		}
	}
	s.nodes.WithLabelValues(shoot, "true").Set(float64(ready))
	s.nodes.WithLabelValues(shoot, "false").Set(float64(len(s.ready[shoot]) - ready))
}
