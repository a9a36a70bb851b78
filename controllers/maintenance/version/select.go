package version

import (
	"github.com/Masterminds/semver/v3"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// Strategy is how far updates go.
type Strategy string

const (
	// Kubernetes is the strategy of Kubernetes versions: automatic updates stay in the minor version, forced ones go to
	// the consecutive minor version and never skip one.
	Kubernetes Strategy = "kubernetes"
	// Patch keeps automatic updates in the minor version; forced ones go to the next minor version there is.
	Patch = Strategy(gardencorev1beta1.UpdateStrategyPatch)
	// Minor keeps automatic updates in the major version; forced ones go to the next major version there is.
	Minor = Strategy(gardencorev1beta1.UpdateStrategyMinor)
	// Major has automatic updates to the latest version. There is nothing that could be forced beyond that.
	Major = Strategy(gardencorev1beta1.UpdateStrategyMajor)
)

// ImageStrategy is the strategy of a machine image; major, if it names none.
func ImageStrategy(image *gardencorev1beta1.MachineImage) Strategy {
	if image.UpdateStrategy == nil {
		return Major
	}
	return Strategy(*image.UpdateStrategy)
}

// Auto is what an automatic update goes to: the latest patch of the same minor version, and only where there is none
// the latest of what the strategy allows. Supported versions are preferred to deprecated ones; previews, expired and
// not yet available ones never qualify.
func (o Offers) Auto(current *semver.Version, strategy Strategy) (Offer, bool) {
	for _, reach := range []func(Offer) bool{
		func(offer Offer) bool { return sameMinor(offer.number, current) },
		func(offer Offer) bool { return autoReaches(offer.number, current, strategy) },
	} {
		inReach := o.Where(func(offer Offer) bool {
			return offer.number.GreaterThan(current) && reach(offer) && qualifies(offer, false)
		})
		recommended := inReach.Where(func(offer Offer) bool {
			return offer.Class != gardencorev1beta1.ClassificationDeprecated
		})
		if offer, found := recommended.Latest(); found {
			return offer, true
		}
		if offer, found := inReach.Latest(); found {
			return offer, true
		}
	}
	return Offer{}, false
}

// Force is what a forced update goes to once there is nothing for an automatic one: the latest of the next minor
// version (Kubernetes, patch) or major version (minor) that has any version to go to. Versions that have not expired
// are preferred, but a next minor or major version is not skipped only because all of its versions have expired: the
// next maintenance goes on from there. Kubernetes goes to the consecutive minor version only.
func (o Offers) Force(current *semver.Version, strategy Strategy) (Offer, bool) {
	ahead := o.Where(func(offer Offer) bool {
		return forceReaches(offer.number, current, strategy) && qualifies(offer, true)
	})
	if len(ahead) == 0 {
		return Offer{}, false
	}
	next := ahead[0].number
	step := ahead.Where(func(offer Offer) bool { return sameStep(offer.number, next, strategy) })
	fresh := step.Where(func(offer Offer) bool { return qualifies(offer, false) })
	if offer, found := fresh.Latest(); found {
		return offer, true
	}
	return step.Latest()
}

// forced is what a forced update goes to where Auto has found nothing. If all versions that qualify have expired, the
// way of a machine image is as without: the latest patch of the same minor version first, then the latest of the same
// major version (minor), and only then the step of Force (docs/specification/README.md#s1: "If all qualifying versions
// are expired, update to the latest expired version").
func (o Offers) forced(current *semver.Version, strategy Strategy) (Offer, bool) {
	step, found := o.Force(current, strategy)
	if found && qualifies(step, false) || strategy != Patch && strategy != Minor {
		return step, found
	}
	ahead := o.Where(func(offer Offer) bool { return offer.number.GreaterThan(current) && qualifies(offer, true) })
	for _, reach := range []func(Offer) bool{
		func(offer Offer) bool { return sameMinor(offer.number, current) },
		func(offer Offer) bool { return autoReaches(offer.number, current, strategy) },
	} {
		if offer, expired := ahead.Where(reach).Latest(); expired {
			return offer, true
		}
	}
	return step, found
}

// qualifies is whether maintenance may go to an offer. What is not available yet would be refused by admission
// (docs/specification/versions.md#spec-4-11-2).
func qualifies(offer Offer, expiredToo bool) bool {
	switch offer.Class {
	case gardencorev1beta1.ClassificationSupported, gardencorev1beta1.ClassificationDeprecated:
		return true
	case gardencorev1beta1.ClassificationExpired:
		return expiredToo
	default:
		return false
	}
}

// Qualifies is whether an automatic update may go to the offer.
func (o Offer) Qualifies() bool { return qualifies(o, false) }

// UpTo are the offers that are not above a version.
func (o Offers) UpTo(limit *semver.Version) Offers {
	return o.Where(func(offer Offer) bool { return !offer.number.GreaterThan(limit) })
}

func autoReaches(candidate, current *semver.Version, strategy Strategy) bool {
	switch strategy {
	case Minor:
		return candidate.Major() == current.Major()
	case Major:
		return true
	default:
		return sameMinor(candidate, current)
	}
}

func forceReaches(candidate, current *semver.Version, strategy Strategy) bool {
	switch strategy {
	case Kubernetes:
		return candidate.Major() == current.Major() && candidate.Minor() == current.Minor()+1
	case Patch:
		return candidate.Major() == current.Major() && candidate.Minor() > current.Minor()
	case Minor:
		return candidate.Major() > current.Major()
	default:
		return false
	}
}

// sameStep is whether a forced update of this strategy takes both versions for one step.
func sameStep(a, b *semver.Version, strategy Strategy) bool {
	if strategy == Minor {
		return a.Major() == b.Major()
	}
	return sameMinor(a, b)
}

func sameMinor(a, b *semver.Version) bool {
	return a.Major() == b.Major() && a.Minor() == b.Minor()
}
