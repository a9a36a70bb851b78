package rollingupdate

import (
	"cmp"
	"slices"

	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
)

// InPlace reports whether the machines of a deployment are updated in place.
func InPlace(d *machinev1alpha1.MachineDeployment) bool {
	return d.Spec.Strategy.Type == machinev1alpha1.InPlaceUpdateMachineDeploymentStrategyType &&
		d.Spec.Strategy.InPlaceUpdate != nil
}

func manual(d *machinev1alpha1.MachineDeployment) bool {
	return InPlace(d) && d.Spec.Strategy.InPlaceUpdate.OrchestrationType == machinev1alpha1.OrchestrationTypeManual
}

// Selected counts candidates that are selected and not moved yet.
type Selected struct {
	All int32 // also those that were updated in vain
	// Available ones nobody has begun with: they will not be available for long.
	Available int32
}

// PlanInPlace is Plan for updates in place: as many machines as the surge allows are made anew, the rest is to be
// selected, as far as enough available ones remain, and old ones that are too many in the end go. Where users select,
// nothing is made anew and nothing goes but what the number of replicas asks for. take is how many more machines are
// to be selected.
func PlanInPlace(d *machinev1alpha1.MachineDeployment, current Size, old []Size,
	selected Selected) (next map[string]int32, take int32) {
	next = map[string]int32{current.Name: current.Wanted}
	replicas, available := d.Spec.Replicas, current.Available-selected.Available
	var oldWanted, oldActual int32
	for _, set := range old {
		next[set.Name] = set.Wanted
		oldWanted, oldActual, available = oldWanted+set.Wanted, oldActual+set.Actual, available+set.Available
	}
	if oldWanted == 0 && oldActual == 0 {
		next[current.Name] = replicas
		return next, 0
	}
	b := Bounds{Unavailable: replicas} // users know what they select
	if !manual(d) {
		b = BoundsOf(d.Spec.Strategy, replicas)
	}
	next[current.Name] = grow(replicas, b, current, oldWanted, oldActual)
	if next[current.Name] >= replicas {
		shrink(next, replicas, b, current, old)
		return next, 0
	}
	if manual(d) {
		drop(next, old, current.Wanted+oldWanted-replicas)
		return next, 0
	}
	missing := replicas - next[current.Name] - selected.All
	return next, min(max(missing, 0), max(available-(replicas-b.Unavailable), 0))
}

// drop takes machines off old sets, by name, when there are more than are wanted in all.
func drop(next map[string]int32, old []Size, surplus int32) {
	old = slices.SortedFunc(slices.Values(old), func(a, b Size) int { return cmp.Compare(a.Name, b.Name) })
	for _, set := range old {
		taken := min(max(surplus, 0), next[set.Name])
		next[set.Name] -= taken
		surplus -= taken
	}
}
