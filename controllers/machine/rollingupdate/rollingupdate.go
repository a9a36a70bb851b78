// Package rollingupdate is the arithmetic of updates: how many machines each set of a deployment should have next, and
// how many nodes may be updated in place. It is pure, and knows counts only; which machines go or are chosen is for
// package machine to say.
package rollingupdate

import (
	"cmp"
	"math"
	"slices"

	"k8s.io/apimachinery/pkg/util/intstr"

	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
)

// Size is one MachineSet as an update sees it, in machines.
type Size struct {
	Name      string
	Wanted    int32 // spec.replicas
	Actual    int32 // machines that exist
	Staying   int32 // those of them that are not being deleted
	Available int32
	Failed    int32 // machines that were given up, or cannot be made
}

// Bounds of a rolling update, in machines.
type Bounds struct{ Surge, Unavailable int32 }

// BoundsOf resolves the numbers of a strategy: surge is rounded up, unavailability down, and if both came out as zero
// nothing could ever move, so one machine may then be unavailable.
func BoundsOf(strategy machinev1alpha1.MachineDeploymentStrategy, replicas int32) Bounds {
	var update machinev1alpha1.UpdateConfiguration
	switch {
	case strategy.RollingUpdate != nil:
		update = strategy.RollingUpdate.UpdateConfiguration
	case strategy.InPlaceUpdate != nil:
		update = strategy.InPlaceUpdate.UpdateConfiguration
	}
	b := Bounds{Surge: resolve(update.MaxSurge, 1, replicas, true), Unavailable: resolve(update.MaxUnavailable, 0,
		replicas, false)}
	if b.Surge == 0 && b.Unavailable == 0 {
		b.Unavailable = 1
	}
	return b
}

func resolve(value *intstr.IntOrString, otherwise, of int32, up bool) int32 {
	if value == nil {
		return otherwise
	}
	resolved, err := intstr.GetScaledValueFromIntOrPercent(value, int(of), up)
	if err != nil || resolved < 0 {
		return otherwise
	}
	return int32(min(resolved, math.MaxInt32))
}

// Plan says how many machines each set should have next: the current set by its name, and the old ones by theirs. It
// is one step; the next follows when machines have come or gone.
func Plan(replicas int32, strategy machinev1alpha1.MachineDeploymentStrategy, current Size,
	old []Size) map[string]int32 {
	next := map[string]int32{current.Name: current.Wanted}
	var oldWanted, oldActual int32
	for _, set := range old {
		next[set.Name] = set.Wanted
		oldWanted += set.Wanted
		oldActual += set.Actual
	}
	if oldWanted == 0 && oldActual == 0 {
		next[current.Name] = replicas
		return next
	}
	if strategy.Type == machinev1alpha1.RecreateMachineDeploymentStrategyType {
		for _, set := range old {
			next[set.Name] = 0
		}
		if oldActual > 0 {
			next[current.Name] = 0
		}
		return next
	}
	b := BoundsOf(strategy, replicas)
	next[current.Name] = grow(replicas, b, current, oldWanted, oldActual)
	shrink(next, replicas, b, current, old)
	return next
}

// grow adds machines of the current set as far as the surge allows. Machines that still exist count, although their
// set does not want them any more: the cloud's quota is real.
func grow(replicas int32, b Bounds, current Size, oldWanted, oldActual int32) int32 {
	if current.Wanted >= replicas {
		return replicas
	}
	// A surge may be as large as its type allows.
	room := int64(replicas) + int64(b.Surge) -
		int64(max(current.Wanted, current.Actual)) - int64(max(oldWanted, oldActual))
	return int32(min(int64(replicas), int64(current.Wanted)+max(room, 0)))
}

// shrink takes machines from old sets as far as enough available ones remain; failed ones go first, because nobody
// misses them. One whose node is only silent, or has not been looked at since a restoration, is neither: it may be the
// control plane that was away.
func shrink(next map[string]int32, replicas int32, b Bounds, current Size, old []Size) {
	if current.Available >= replicas { // old ones are not needed, whatever is known of them
		for _, set := range old {
			next[set.Name] = 0
		}
		return
	}
	old = slices.Clone(old)
	slices.SortFunc(old, func(a, b Size) int { return cmp.Compare(a.Name, b.Name) })
	needed := replicas - b.Unavailable
	for _, set := range old {
		// Failed ones beyond those wanted go anyway, and none for them.
		next[set.Name] = set.Wanted - min(max(set.Failed-max(set.Staying-set.Wanted, 0), 0), set.Wanted)
	}
	available := current.Available
	for _, set := range old {
		available += min(set.Available, next[set.Name])
	}
	spare := max(available-needed, 0)
	for _, set := range old {
		taken := min(spare, next[set.Name])
		next[set.Name] -= taken
		spare -= taken
	}
}
