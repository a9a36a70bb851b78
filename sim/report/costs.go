package report

import (
	"fmt"

	"github.com/transplant-sim/transplant/sim/profile"
)

// mostKinds is how many kinds of requests a phase shows; transplant profile prints all.
const mostKinds = 25

// cost is where the work of a phase went.
type cost struct {
	Name     string
	Seconds  float64
	CPU      float64 // seconds
	Requests int64
	// CPUShare and RequestShare compare the phase with the one that cost most, in percent.
	CPUShare, RequestShare float64
	Harness                profile.Share
	Programs, Links, Kinds []part
	// Left is how many kinds of requests are not shown.
	Left int
}

// part is one row of a cost. Share compares it with the first row, in percent.
type part struct {
	Name, Value, More string
	Share             float64
}

func costsOf(run *Run) []cost {
	var all []cost
	var mostCPU, mostRequests float64
	for _, p := range profile.Of(run.Events) {
		c := costOf(p)
		mostCPU, mostRequests = max(mostCPU, c.CPU), max(mostRequests, float64(c.Requests))
		all = append(all, c)
	}
	for i := range all {
		all[i].CPUShare = percentOf(all[i].CPU, mostCPU)
		all[i].RequestShare = percentOf(float64(all[i].Requests), mostRequests)
	}
	return all
}

func costOf(p profile.Phase) cost {
	c := cost{Name: p.Name, Seconds: p.Seconds, Left: max(0, len(p.Requests)-mostKinds), Harness: profile.ShareOf(p)}
	for _, u := range p.Programs {
		c.CPU += u.CPUSeconds
		c.Programs = append(c.Programs, part{below(u.Program, u.Parent), fmt.Sprintf("%.2f", u.CPUSeconds),
			fmt.Sprint(u.WakeUps), percentOf(u.CPUSeconds, p.Programs[0].CPUSeconds)})
	}
	for _, l := range p.Links {
		c.Requests += l.Requests
		c.Links = append(c.Links, part{l.From + " → " + l.To, fmt.Sprint(l.Requests), fmt.Sprint(l.Bytes),
			percentOf(float64(l.Requests), float64(p.Links[0].Requests))})
	}
	for _, r := range p.Requests[:len(p.Requests)-c.Left] {
		c.Kinds = append(c.Kinds, part{r.Verb + " " + r.Resource, fmt.Sprint(r.Requests), r.From + " → " + r.To,
			percentOf(float64(r.Requests), float64(p.Requests[0].Requests))})
	}
	return c
}

func below(program, parent string) string {
	if parent == "" {
		return program
	}
	return program + " of " + parent
}

func percentOf(part, most float64) float64 {
	if most <= 0 {
		return 0
	}
	return max(0, 100*part/most)
}
