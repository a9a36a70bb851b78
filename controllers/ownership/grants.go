package ownership

import "slices"

// grants remembers what holders were given, so that a fence knows for whom it has to wait (O3 (3)). Instants are the
// guard's own, with the drift of the holders' clocks added. The zero value is empty.
type grants struct {
	until map[string]Instant
}

func (g *grants) add(holder string, until Instant) {
	if g.until == nil {
		g.until = map[string]Instant{}
	}
	g.until[holder] = max(g.until[holder], until)
}

// restarted assumes the worst of what was granted by an earlier process: to somebody unknown, until the bound.
func (g *grants) restarted(bound Instant, served bool) {
	if served {
		g.add("", bound)
	}
}

// confirm forgets a holder that has given up. Nobody can speak for the anonymous ones.
func (g *grants) confirm(holder string) bool {
	_, known := g.until[holder]
	if holder != "" {
		delete(g.until, holder)
	}
	return known
}

// pending names the holders that may still be valid at the instant.
func (g *grants) pending(now Instant) []string {
	var names []string
	for name, until := range g.until {
		if until.Sub(now) <= 0 {
			continue
		}
		if name == "" {
			name = "holders of before the guard's start"
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// last is the latest instant at which anybody may still be valid.
func (g *grants) last() Instant {
	var last Instant
	for _, until := range g.until {
		last = max(last, until)
	}
	return last
}
