// Package rollout says whether a change of a shoot makes the nodes of a worker pool roll, or be updated in place
// (docs/specification/versions.md#spec-4-8, docs/specification/versions.md#spec-4-9; shoot updates). It is pure and
// shared ground: it looks at shoots only, replaces no node, and knows nothing of what else a provider may roll for.
package rollout

import (
	"cmp"
	"slices"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// Kind is what happens to the nodes of a pool.
type Kind string

const (
	// Stays means that the nodes stay as they are; what has changed is applied to them as it is.
	Stays Kind = "stays"
	// Rolls means that every node is drained and replaced.
	Rolls Kind = "rolls"
	// InPlace means that every node is drained and updated, and kept.
	InPlace Kind = "in-place"
	// Added and Removed are pools that only one of the shoots has.
	Added   Kind = "added"
	Removed Kind = "removed"
)

// Verdict is what a change means for a pool.
type Verdict struct {
	// Pool is the pool's name.
	Pool string `json:"pool"`
	// Kind is what happens to its nodes.
	Kind Kind `json:"kind"`
	// Triggers are why, if anything does: all of them.
	Triggers []Trigger `json:"triggers,omitempty"`
}

// Trigger is a change that makes nodes roll or be updated in place.
type Trigger struct {
	// Field is the path of what has changed; that of a pool has the pool's name for an index.
	Field string `json:"field"`
	// From and To are the values that count; "" means that nothing is set.
	From string `json:"from"`
	To   string `json:"to"`
}

// Due is whether the pool's nodes are rolled or updated in place.
func (v Verdict) Due() bool { return v.Kind == Rolls || v.Kind == InPlace }

// Compare judges every pool of two states of a shoot, by name. It is an error if a Kubernetes version that counts
// cannot be read.
func Compare(before, after *gardencorev1beta1.Shoot) ([]Verdict, error) {
	var verdicts []Verdict
	for i := range before.Spec.Provider.Workers {
		old := &before.Spec.Provider.Workers[i]
		updated := find(after, old.Name)
		if updated == nil {
			verdicts = append(verdicts, Verdict{Pool: old.Name, Kind: Removed})
			continue
		}
		verdict, err := comparePool(before, old, after, updated)
		if err != nil {
			return nil, err
		}
		verdicts = append(verdicts, verdict)
	}
	for _, worker := range after.Spec.Provider.Workers {
		if find(before, worker.Name) == nil {
			verdicts = append(verdicts, Verdict{Pool: worker.Name, Kind: Added})
		}
	}
	slices.SortFunc(verdicts, func(a, b Verdict) int { return cmp.Compare(a.Pool, b.Pool) })
	return verdicts, nil
}

func find(shoot *gardencorev1beta1.Shoot, name string) *gardencorev1beta1.Worker {
	workers := shoot.Spec.Provider.Workers
	if i := slices.IndexFunc(workers, func(w gardencorev1beta1.Worker) bool { return w.Name == name }); i >= 0 {
		return &workers[i]
	}
	return nil
}

func comparePool(before *gardencorev1beta1.Shoot, old *gardencorev1beta1.Worker, after *gardencorev1beta1.Shoot,
	updated *gardencorev1beta1.Worker) (Verdict, error) {
	was, err := ingredients(before, old)
	if err != nil {
		return Verdict{}, err
	}
	is, err := ingredients(after, updated)
	if err != nil {
		return Verdict{}, err
	}
	verdict := Verdict{Pool: old.Name, Kind: Stays}
	inPlace := updated.UpdatesInPlace()
	if old.UpdatesInPlace() != inPlace {
		// Admission refuses it; if it were to happen, nothing of the old nodes could be kept.
		verdict.Kind = Rolls
		verdict.Triggers = []Trigger{{Field: poolField(old, "updateStrategy"), From: strategy(old), To: strategy(updated)}}
		return verdict, nil
	}
	for i := range was {
		if was[i].value != is[i].value && (!inPlace || was[i].inPlace) {
			verdict.Triggers = append(verdict.Triggers, Trigger{Field: is[i].field, From: was[i].value, To: is[i].value})
		}
	}
	if len(verdict.Triggers) > 0 {
		verdict.Kind = Rolls
		if inPlace {
			verdict.Kind = InPlace
		}
	}
	return verdict, nil
}

func strategy(worker *gardencorev1beta1.Worker) string {
	if worker.UpdateStrategy == nil {
		return string(gardencorev1beta1.AutoRollingUpdate)
	}
	return string(*worker.UpdateStrategy)
}
