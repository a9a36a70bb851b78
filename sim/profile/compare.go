package profile

import (
	"fmt"
	"slices"
)

// slack is by how many requests of a kind two runs may differ however few there are: nobody counts chance.
const slack = 10

// Doubled says which requests a run sent at least twice as often as another run of the same scenario, in the order of
// this run's profile. Where a phase took longer than in the other run, so many more are expected: what is sent
// regularly depends on time.
func Doubled(before, now []Phase) []string {
	var found []string
	for _, p := range now {
		i := slices.IndexFunc(before, func(b Phase) bool { return b.Name == p.Name })
		if i < 0 {
			found = append(found, fmt.Sprintf("phase %q: the other profile does not have it", p.Name))
			continue
		}
		expected, longer := map[Request]int64{}, 1.0
		for _, r := range before[i].Requests {
			expected[r.kind()] = r.Requests
		}
		if before[i].Seconds > 0 {
			longer = max(1, p.Seconds/before[i].Seconds)
		}
		for _, r := range p.Requests {
			most := longer * float64(expected[r.kind()])
			if n := float64(r.Requests); n >= 2*most && n >= most+slack {
				found = append(found, fmt.Sprintf("phase %q: %s sent %d × %s %s to %s; expected about %.0f", p.Name, r.From,
					r.Requests, r.Verb, r.Resource, r.To, most))
			}
		}
	}
	for _, p := range before {
		if !slices.ContainsFunc(now, func(n Phase) bool { return n.Name == p.Name }) {
			found = append(found, fmt.Sprintf("phase %q: this run does not have it", p.Name))
		}
	}
	return found
}

// kind is the request without its number.
func (r Request) kind() Request {
	r.Requests = 0
	return r
}
