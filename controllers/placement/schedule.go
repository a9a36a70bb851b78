package placement

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// Schedule chooses the seed for a shoot (docs/specification/nodes-and-seeds.md#spec-7-2), and returns for each other
// seed why it was left out. Of the seeds that fit, one in the shoot's region wins, else the nearest, then the one with
// the fewest shoots, then by name. If no seed fits, the error is a *NoSeedFitsError.
func Schedule(q *Question) (seed string, excluded map[string]string, err error) {
	excluded = map[string]string{}
	var candidates []candidate
	for i := range q.Seeds {
		if why := q.exclude(&q.Seeds[i]); why != "" {
			excluded[q.Seeds[i].Name] = why
			continue
		}
		candidates = append(candidates, q.rank(&q.Seeds[i]))
	}
	if len(candidates) == 0 {
		return "", excluded, &NoSeedFitsError{Excluded: excluded}
	}
	best := slices.MinFunc(candidates, candidate.compare)
	for _, other := range candidates {
		if other.name != best.name {
			excluded[other.name] = other.lostTo(best)
		}
	}
	return best.name, excluded, nil
}

// exclude is the first filter that the seed does not pass.
func (q *Question) exclude(seed *gardencorev1beta1.Seed) string {
	if seed.Name == q.Source {
		return "is the seed that the shoot is to leave"
	}
	for _, r := range q.with(schedulingRules()) {
		if why := r(q, seed); why != "" {
			return why
		}
	}
	return ""
}

// candidate is a seed that fits, with what it is compared by.
type candidate struct {
	name string
	// foreign seeds are of another provider: names of their regions say nothing about the distance.
	foreign  int
	distance int
	shoots   int
}

func (q *Question) rank(seed *gardencorev1beta1.Seed) candidate {
	c := candidate{name: seed.Name, distance: Distance(q.Shoot.Spec.Region, seed.Spec.Provider.Region),
		shoots: q.Usage[seed.Name]}
	if seed.Spec.Provider.Type != q.Shoot.Spec.Provider.Type {
		c.foreign = 1
	}
	return c
}

func (c candidate) compare(d candidate) int {
	return cmp.Or(cmp.Compare(c.foreign, d.foreign), cmp.Compare(c.distance, d.distance), cmp.Compare(c.shoots, d.shoots),
		cmp.Compare(c.name, d.name))
}

func (c candidate) lostTo(best candidate) string {
	switch {
	case c.foreign != best.foreign:
		return fmt.Sprintf("fits, but seed %q is of the shoot's provider", best.name)
	case c.distance != best.distance && best.distance == 0:
		return fmt.Sprintf("fits, but seed %q is in the shoot's region", best.name)
	case c.distance != best.distance:
		return fmt.Sprintf("fits, but seed %q is nearer", best.name)
	case c.shoots != best.shoots:
		return fmt.Sprintf("fits, but seed %q has fewer shoots", best.name)
	}
	return fmt.Sprintf("fits, but seed %q comes first by name", best.name)
}

// NoSeedFitsError says that every seed is excluded, and by which rule.
type NoSeedFitsError struct {
	// Excluded is the reason by seed.
	Excluded map[string]string
}

// Error lists the reasons, each with its seeds.
func (e *NoSeedFitsError) Error() string {
	if len(e.Excluded) == 0 {
		return "no seed fits: there is none"
	}
	return "no seed fits: " + Reasons(e.Excluded)
}

// Reasons lists why seeds were left out, each reason once with its seeds.
func Reasons(excluded map[string]string) string {
	byReason := map[string][]string{}
	var reasons []string // in the order of their first seeds
	for _, seed := range sets.List(sets.KeySet(excluded)) {
		reason := excluded[seed]
		if byReason[reason] == nil {
			reasons = append(reasons, reason)
		}
		byReason[reason] = append(byReason[reason], seed)
	}
	for i, reason := range reasons {
		reasons[i] = strings.Join(byReason[reason], ", ") + " " + reason
	}
	return strings.Join(reasons, "; ")
}
