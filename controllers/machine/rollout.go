package machine

import (
	"cmp"
	"math"
	"slices"

	"k8s.io/apimachinery/pkg/util/intstr"

	machinev1alpha1 "github.com/transplant-sim/transplant/api/machine/v1alpha1"
)

// setSize is one MachineSet as a rollout sees it.
type setSize struct {
	name      string
	wanted    int32 // spec.replicas
	actual    int32 // machines that exist
	staying   int32 // those of them that are not being deleted
	available int32
	failed    int32 // machines that were given up, or cannot be made
}

// bounds of a rolling update, in machines.
type bounds struct{ surge, unavailable int32 }

// boundsOf resolves the numbers of a strategy: surge is rounded up, unavailability down, and if both came out as zero
// nothing could ever move, so one machine may then be unavailable.
func boundsOf(strategy machinev1alpha1.MachineDeploymentStrategy, replicas int32) bounds {
	var update machinev1alpha1.UpdateConfiguration
	switch {
	case strategy.RollingUpdate != nil:
		update = strategy.RollingUpdate.UpdateConfiguration
	case strategy.InPlaceUpdate != nil:
		update = strategy.InPlaceUpdate.UpdateConfiguration
	}
	b := bounds{surge: resolve(update.MaxSurge, 1, replicas, true), unavailable: resolve(update.MaxUnavailable, 0,
		replicas, false)}
	if b.surge == 0 && b.unavailable == 0 {
		b.unavailable = 1
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

// plan says how many machines each set should have next: the current set by its name, and the old ones by theirs. It
// is one step; the next follows when machines have come or gone.
func plan(replicas int32, strategy machinev1alpha1.MachineDeploymentStrategy, current setSize,
	old []setSize) map[string]int32 {
	next := map[string]int32{current.name: current.wanted}
	var oldWanted, oldActual int32
	for _, set := range old {
		next[set.name] = set.wanted
		oldWanted += set.wanted
		oldActual += set.actual
	}
	if oldWanted == 0 && oldActual == 0 {
		next[current.name] = replicas
		return next
	}
	if strategy.Type == machinev1alpha1.RecreateMachineDeploymentStrategyType {
		for _, set := range old {
			next[set.name] = 0
		}
		if oldActual > 0 {
			next[current.name] = 0
		}
		return next
	}
	b := boundsOf(strategy, replicas)
	next[current.name] = grow(replicas, b, current, oldWanted, oldActual)
	shrink(next, replicas, b, current, old)
	return next
}

// grow adds machines of the current set as far as the surge allows. Machines that still exist count, although their
// set does not want them any more: the cloud's quota is real.
func grow(replicas int32, b bounds, current setSize, oldWanted, oldActual int32) int32 {
	if current.wanted >= replicas {
		return replicas
	}
	// A surge may be as large as its type allows.
	room := int64(replicas) + int64(b.surge) -
		int64(max(current.wanted, current.actual)) - int64(max(oldWanted, oldActual))
	return int32(min(int64(replicas), int64(current.wanted)+max(room, 0)))
}

// shrink takes machines from old sets as far as enough available ones remain; failed ones go first, because nobody
// misses them. One whose node is only silent, or has not been looked at since a restoration, is neither: it may be the
// control plane that was away.
func shrink(next map[string]int32, replicas int32, b bounds, current setSize, old []setSize) {
	if current.available >= replicas { // old ones are not needed, whatever is known of them
		for _, set := range old {
			next[set.name] = 0
		}
		return
	}
	old = slices.Clone(old)
	slices.SortFunc(old, func(a, b setSize) int { return cmp.Compare(a.name, b.name) })
	needed := replicas - b.unavailable
	for _, set := range old {
		// Failed ones beyond those wanted go anyway, and none for them.
		next[set.name] = set.wanted - min(max(set.failed-max(set.staying-set.wanted, 0), 0), set.wanted)
	}
	available := current.available
	for _, set := range old {
		available += min(set.available, next[set.name])
	}
	spare := max(available-needed, 0)
	for _, set := range old {
		taken := min(spare, next[set.name])
		next[set.name] -= taken
		spare -= taken
	}
}
