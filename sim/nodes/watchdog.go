package nodes

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
)

// watchdog remembers since when kwok leaves what undone. See the package comment for why it is needed.
type watchdog struct {
	overdue  time.Duration // since a lease's renewal: it should have been renewed again
	patience time.Duration // for how long, with the API server answering all the time, something may be left undone
	between  time.Duration // the shortest time between two restarts
	recount  time.Duration // between two looks at all pods, which are many; and how long a silence may be

	undone  map[string]time.Time
	renewed map[string]time.Time // last renewal seen of leases that nobody should renew
	bitten  time.Time
	counted time.Time // when the pods were looked at
	stuck   map[string]bool
}

// newWatchdog takes its times from the lease's: kwok renews after a quarter of it, and a node is declared lost a little
// after all of it.
func newWatchdog(lease time.Duration) watchdog {
	return watchdog{
		overdue: lease * 3 / 8, patience: lease * 5 / 8, between: lease * 3 / 2, recount: lease / 8,
		undone: map[string]time.Time{}, renewed: map[string]time.Time{},
	}
}

// blind forgets everything: while the API server does not answer, nobody can be blamed.
func (w *watchdog) blind() {
	clear(w.undone)
	clear(w.renewed)
	w.counted, w.stuck = time.Time{}, nil
}

// look says why kwok must be restarted, or nothing.
func (w *watchdog) look(now time.Time, undone map[string]bool) string {
	for what := range w.undone {
		if !undone[what] {
			delete(w.undone, what)
		}
	}
	for _, what := range slices.Sorted(maps.Keys(undone)) {
		since, known := w.undone[what]
		if !known {
			w.undone[what] = now
		} else if now.Sub(since) >= w.patience && now.Sub(w.bitten) >= w.between {
			w.bitten = now
			return fmt.Sprintf("%s, for %s", what, now.Sub(since).Round(time.Second))
		}
	}
	return ""
}

// zombies are leases of nodes that should be silent and are renewed all the same.
func (w *watchdog) zombies(nodes map[string]*corev1.Node, leases map[string]*coordinationv1.Lease) map[string]bool {
	found := map[string]bool{}
	for name, lease := range leases {
		node := nodes[name]
		if (node != nil && node.Labels[managedLabel] != "") || lease.Spec.RenewTime == nil {
			delete(w.renewed, name)
			continue
		}
		last, known := w.renewed[name]
		if known && lease.Spec.RenewTime.After(last) {
			found["the lease of "+name+", which should be silent, is renewed"] = true
			continue // stays in place, so that it is found until it really stops
		}
		w.renewed[name] = lease.Spec.RenewTime.Time
	}
	return found
}

// keepKwok starts kwok, again if it must.
func (s *shoot) keepKwok(ctx context.Context, machines []*machine, nodes map[string]*corev1.Node,
	leases map[string]*coordinationv1.Lease) error {
	if s.kwok.running() {
		undone, err := s.undone(ctx, machines, nodes, leases)
		if err != nil {
			return err
		}
		reason := s.watchdog.look(s.clock.Now(), undone)
		if reason == "" {
			return nil
		}
		s.log.Info("Kwok is started again", "reason", reason)
		if err := s.kwok.stop(); err != nil {
			return err
		}
	} else if s.kwok.process != nil {
		s.log.Info("Kwok has ended and is started again", "error", s.kwok.process.Err())
	}
	s.watchdog.blind()
	if err := s.freeLeases(ctx, nodesOf(machines, nodes), leases); err != nil {
		return err
	}
	return s.kwok.start(s.name, s.using)
}

// undone is what kwok should have done.
func (s *shoot) undone(ctx context.Context, machines []*machine, nodes map[string]*corev1.Node,
	leases map[string]*coordinationv1.Lease) (map[string]bool, error) {
	undone := s.watchdog.zombies(nodes, leases)
	for _, m := range machines {
		name := m.nodeName()
		node, there := nodes[name]
		if !there {
			continue
		}
		if !ready(node) {
			undone["node "+name+" is not ready"] = true
		}
		lease, there := leases[name]
		if !there || lease.Spec.HolderIdentity == nil || lease.Spec.RenewTime == nil ||
			s.clock.Since(lease.Spec.RenewTime.Time) > s.watchdog.overdue {
			undone["the lease of "+name+" is not renewed"] = true
		}
	}
	if s.clock.Since(s.watchdog.counted) >= s.watchdog.recount {
		stuck, err := s.stuckPods(ctx, nodes)
		if err != nil {
			return nil, err
		}
		s.watchdog.counted, s.watchdog.stuck = s.clock.Now(), stuck
	}
	maps.Copy(undone, s.watchdog.stuck)
	return undone, nil
}

func ready(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}
