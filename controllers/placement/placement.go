// Package placement holds the rules about which seeds may run a shoot's control plane
// (docs/specification/migration.md#spec-2-2, docs/specification/nodes-and-seeds.md#spec-7-2), as pure functions:
// admission asks them about the seed that somebody chose, the scheduler and evacuation about all seeds.
//
// It reads and writes no objects, and does not know who asks. A rule is one function in the file of its family, and a
// line in the lists below.
package placement

import (
	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// Question is where a shoot's control plane may go.
type Question struct {
	Shoot *gardencorev1beta1.Shoot
	// Profile is the shoot's CloudProfile; nil if it names none.
	Profile *gardencorev1beta1.CloudProfile
	// Seeds are all seeds of the landscape.
	Seeds []gardencorev1beta1.Seed
	// Usage is how many shoots other than this one each seed has.
	Usage Usage
	// Hosts are the seeds that are shoots themselves; nil if none is.
	Hosts Hosts
	// Source is the seed that holds the control plane, for a shoot that is to be moved; empty for a first binding.
	Source string
}

// rule returns why a seed does not do, as the rest of a sentence that begins with the seed, or "" if it does.
type rule func(q *Question, seed *gardencorev1beta1.Seed) string

// bindingRules hold for every seed that a shoot is bound to, whoever chose it
// (docs/specification/migration.md#spec-2-2).
func bindingRules() []rule {
	return []rule{
		notInDeletion, taintsTolerated, restrictionsSupported, roomLeft, profileSelects, profileProvider,
		defaultDomainOffered, zonesEnough, networksDisjoint, noCircle, oneMemberEach,
	}
}

// movingRules hold beside the others when a control plane moves.
func movingRules() []rule { return []rule{backedUp, sameInternalDomain} }

// schedulingRules are the scheduler's filters, in the order of docs/specification/nodes-and-seeds.md#spec-7-2.
func schedulingRules() []rule {
	return []rule{
		notInDeletion, visible, ready, profileSelects, shootSelects, providerFits, zonesEnough, zonesOverlap,
		restrictionsSupported, defaultDomainOffered, notStopped, taintsTolerated, roomLeft, networksDisjoint,
		noCircle, oneMemberEach, hostsWell,
	}
}

// Misfits returns everything that speaks against binding the shoot to the seed that somebody chose; nothing if the seed
// may be chosen. The health of the seed and of its hosts is not asked: that is the constraint ReadyForMigration's
// (docs/specification/migration.md#spec-2-4).
func (q *Question) Misfits(seed *gardencorev1beta1.Seed) []string {
	var why []string
	for _, r := range q.with(bindingRules()) {
		if reason := r(q, seed); reason != "" {
			why = append(why, reason)
		}
	}
	return why
}

func (q *Question) with(rules []rule) []rule {
	if q.Source == "" {
		return rules
	}
	return append(rules, movingRules()...)
}

// Seed finds a seed by name; nil if there is none.
func (q *Question) Seed(name string) *gardencorev1beta1.Seed {
	for i := range q.Seeds {
		if q.Seeds[i].Name == name {
			return &q.Seeds[i]
		}
	}
	return nil
}
