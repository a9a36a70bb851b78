package observe

import (
	"cmp"
	"context"
	"os"
	"slices"
	"strings"

	"github.com/transplant-sim/transplant/clusters/link"
	"github.com/transplant-sim/transplant/sim/timeline"
)

// Cost implements world.Meter.
func (o *Observer) Cost(context.Context) (timeline.CostSeen, error) {
	used, err := o.Landscape.Usage()
	seen := timeline.CostSeen{Requests: map[string]int64{}}
	for _, u := range used {
		if seen.CPU += timeline.Length(u.Ended); u.PID != os.Getpid() {
			seen.CPU += timeline.Length(u.CPU)
		}
		seen.Processes = append(seen.Processes, timeline.ProcessSeen{
			PID: u.PID, Birth: u.Birth, Program: u.Program, Parent: u.Parent, CPU: timeline.Length(u.CPU),
			Ended: timeline.Length(u.Ended), WakeUps: u.WakeUps,
		})
	}
	for _, t := range o.Landscape.Links().Traffic() {
		seen.Requests[t.Actor] += t.Requests
		seen.Links = append(seen.Links, timeline.LinkSeen{
			From: t.Actor, To: t.Target, Requests: t.Requests, BytesToServer: t.BytesToServer, BytesToClient: t.BytesToClient,
			Errors: t.Errors, Faults: t.Faults, Kinds: kindsOf(t.Kinds),
		})
	}
	return seen, err
}

func kindsOf(counted link.Kinds) []timeline.RequestsSeen {
	var all []timeline.RequestsSeen
	for kind, n := range counted {
		all = append(all, timeline.RequestsSeen{Verb: kind.Verb, Resource: kind.Resource, Requests: n})
	}
	slices.SortFunc(all, func(a, b timeline.RequestsSeen) int {
		return cmp.Or(strings.Compare(a.Resource, b.Resource), strings.Compare(a.Verb, b.Verb))
	})
	return all
}
