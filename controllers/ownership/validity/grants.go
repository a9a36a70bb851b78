package validity

import (
	"maps"
	"slices"

	"github.com/transplant-sim/transplant/controllers/ownership"
)

// maxInstances is how many holders of one identity a guard distinguishes.
const maxInstances = 32

// HolderName is that of a holder: an identity that the guard has proof of, and which of its processes it is. Without an
// instance nobody can confirm for it.
type HolderName struct{ Identity, Instance string }

// String is for people.
func (n HolderName) String() string {
	switch {
	case n == HolderName{}:
		return "holders of before the guard's start"
	case n.Instance == "":
		return n.Identity
	}
	return n.Identity + "/" + n.Instance
}

// grants remembers what holders were given, so that a fence knows for whom it has to wait (docs/ownership.md#o3-3).
// Instants are the guard's own, with the drift of the holders' clocks added. The zero value is empty.
//
// It keeps at most maxInstances holders of an identity. Those beyond share one grant, for which nobody can confirm: a
// fence waits until it has lapsed, as for a holder that is silent.
type grants struct {
	until map[HolderName]ownership.Instant
}

func (g *grants) add(holder HolderName, until, now ownership.Instant) {
	if g.until == nil {
		g.until = map[HolderName]ownership.Instant{}
	}
	if _, known := g.until[holder]; !known {
		maps.DeleteFunc(g.until, func(_ HolderName, until ownership.Instant) bool { return until.Sub(now) <= 0 })
		if g.instances(holder.Identity) >= maxInstances {
			holder.Instance = ""
		}
	}
	g.until[holder] = max(g.until[holder], until)
}

func (g *grants) instances(identity string) (n int) {
	for name := range g.until {
		if name.Identity == identity && name.Instance != "" {
			n++
		}
	}
	return n
}

// restarted assumes the worst of what was granted by an earlier process: to somebody unknown, until the bound.
func (g *grants) restarted(bound, now ownership.Instant, served bool) {
	if served {
		g.add(HolderName{}, bound, now)
	}
}

// confirm forgets a holder that has given up. Nobody can speak for the anonymous ones.
func (g *grants) confirm(holder HolderName) bool {
	_, known := g.until[holder]
	if holder.Instance != "" {
		delete(g.until, holder)
	}
	return known
}

// pending names the holders that may still be valid at the instant.
func (g *grants) pending(now ownership.Instant) []string {
	var names []string
	for name, until := range g.until {
		if until.Sub(now) > 0 {
			names = append(names, name.String())
		}
	}
	slices.Sort(names)
	return names
}

// last is the latest instant at which anybody may still be valid.
func (g *grants) last() ownership.Instant {
	var last ownership.Instant
	for _, until := range g.until {
		last = max(last, until)
	}
	return last
}
