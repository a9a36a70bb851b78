package backup

import (
	"cmp"
	"fmt"
	"slices"
)

// chainsOf orders objects into the chains that a restore can use: a full snapshot and the deltas behind it, in order.
// The chain of the newest snapshot comes first. A gap between deltas is left in: checkChain finds it.
func chainsOf(objects []Object) [][]Object {
	var fulls, deltas []Object
	for _, object := range objects {
		if object.Kind == Full {
			fulls = append(fulls, object)
		} else {
			deltas = append(deltas, object)
		}
	}
	// A final snapshot wins over an ordinary one of the same revision.
	slices.SortStableFunc(fulls, func(a, b Object) int {
		return cmp.Or(cmp.Compare(b.Last, a.Last), cmp.Compare(final(b), final(a)))
	})
	slices.SortStableFunc(deltas, func(a, b Object) int {
		return cmp.Or(cmp.Compare(a.First, b.First), cmp.Compare(b.Last, a.Last))
	})
	chains := make([][]Object, 0, len(fulls))
	for _, full := range fulls {
		chain := []Object{full}
		end := full.Last
		for _, delta := range deltas {
			// Behind a final snapshot there is nothing: it ends its epoch.
			if delta.Last > end && !full.Final {
				chain = append(chain, delta)
				end = delta.Last
			}
		}
		chains = append(chains, chain)
	}
	return chains
}

func final(o Object) int {
	if o.Final {
		return 1
	}
	return 0
}

// GapError says which revisions no object of a chain covers.
type GapError struct{ First, Last int64 }

func (e *GapError) Error() string {
	return fmt.Sprintf("no object holds the revisions %d to %d", e.First, e.Last)
}

// checkChain finds the first gap. The error names the object that should have continued the chain.
func checkChain(chain []Object) error {
	for i := 1; i < len(chain); i++ {
		if next := chain[i-1].Last + 1; chain[i].First > next {
			return &DamageError{
				Key: fmt.Sprintf("%sdelta-%020d-…", epochPrefix(chain[i].Epoch), next),
				Err: &GapError{First: next, Last: chain[i].First - 1},
			}
		}
	}
	return nil
}

// beforeGap is the part of the chain before its first gap.
func beforeGap(chain []Object) []Object {
	for i := 1; i < len(chain); i++ {
		if chain[i].First > chain[i-1].Last+1 {
			return chain[:i]
		}
	}
	return chain
}
