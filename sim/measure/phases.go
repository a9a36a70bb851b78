package measure

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/transplant-sim/transplant/sim/timeline"
)

// Migration is one change of seed of a shoot, with the moments that were seen of it; 0 when not seen.
type Migration struct {
	Shoot string
	// Asked is when spec.seedName changed, Began when Migrate began, Left when Migrate succeeded, Taken when Restore
	// began, Ended when Restore succeeded.
	Asked, Began, Left, Taken, Ended time.Duration
}

// Migrations of all shoots, in order.
func Migrations(events []timeline.Event) []*Migration {
	var all []*Migration
	open := map[string]*Migration{}
	for e, p := range timeline.Of[timeline.ShootSeen](events) {
		m := open[e.Subject]
		if m == nil {
			if p.Absent || p.StatusSeed == "" || p.SpecSeed == p.StatusSeed {
				continue
			}
			m = &Migration{Shoot: e.Subject, Asked: e.At}
			open[e.Subject] = m
			all = append(all, m)
		}
		m.take(e.At, p)
		if m.Ended > 0 || p.Absent {
			delete(open, e.Subject)
		}
	}
	return all
}

func (m *Migration) take(at time.Duration, p timeline.ShootSeen) {
	note := func(moment *time.Duration, is bool) {
		if is && *moment == 0 {
			*moment = at
		}
	}
	ended := p.Operation.State == "Succeeded"
	note(&m.Began, p.Operation.Type == "Migrate")
	note(&m.Left, p.Operation.Type == "Migrate" && ended)
	// A Restore that succeeded before the change of seed still stands there until the next operation begins.
	restores := p.Operation.Type == "Restore" && (!ended || p.SpecSeed == p.StatusSeed)
	note(&m.Taken, restores)
	note(&m.Ended, restores && ended)
}

// Parts of a migration, by name: asked, migrate, handOver, restore, total. An end that was not seen is 0.
func (m *Migration) Parts() map[string]Interval {
	return map[string]Interval{
		"asked": {m.Asked, m.Began}, "migrate": {m.Began, m.Left}, "handOver": {m.Left, m.Taken},
		"restore": {m.Taken, m.Ended}, "total": {m.Asked, m.Ended},
	}
}

// Phases are the parts of all migrations in seconds: asked (until Migrate begins), migrate, handOver (until Restore
// begins), restore, total; and, as apiDown.<part>, how long of each the API was unreachable. When there is more than
// one migration, the names begin with the shoot and the number of its migration. Parts that were not seen are absent.
func Phases(events []timeline.Event) map[string]float64 {
	all := Migrations(events)
	phases := map[string]float64{}
	count := map[string]int{}
	for _, m := range all {
		prefix := ""
		if count[m.Shoot]++; len(all) > 1 {
			prefix = fmt.Sprintf("%s.%d.", m.Shoot, count[m.Shoot])
		}
		seen := AvailabilityOf(events, m.Shoot)
		for name, part := range m.Parts() {
			if part.To == 0 || part.From == 0 {
				continue
			}
			phases[prefix+name] = Seconds(part.Length())
			if !seen.Attempted || name == "total" {
				continue
			}
			var down time.Duration
			for _, o := range seen.Outages {
				down += o.Overlap(part)
			}
			phases[prefix+"apiDown."+name] = Seconds(down)
		}
	}
	if len(phases) == 0 {
		return nil
	}
	return phases
}

// order is that in which phases follow each other: the parts of a migration, the moments of a recovery.
var order = []string{"asked", "migrate", "handOver", "restore", "total", "detected", "ownerMoved", "etcdRestored",
	"firstWrite", "extensions", "steady"}

// InOrder are the names of phases as they follow each other, those of each migration and each recovery together;
// apiDown is left out, which belongs to phases and is none.
func InOrder(phases map[string]float64) []string {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(phases)), func(name string) bool {
		return strings.Contains(name, "apiDown.")
	})
	slices.SortStableFunc(names, func(a, b string) int {
		dotA, dotB := strings.LastIndex(a, ".")+1, strings.LastIndex(b, ".")+1
		return cmp.Or(cmp.Compare(a[:dotA], b[:dotB]), cmp.Compare(slices.Index(order, a[dotA:]),
			slices.Index(order, b[dotB:])))
	})
	return names
}
