package version

import (
	"fmt"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// why is the reason for which a higher version was not chosen: first what excludes it for all, then what keeps this
// update from going so far.
func (c Component) why(offer Offer, current *semver.Version, update Update) string {
	switch {
	case offer.Class == gardencorev1beta1.ClassificationPreview:
		return "is a preview; maintenance never updates to one"
	case offer.Class == gardencorev1beta1.ClassificationUnavailable:
		return "is not available yet"
	case update.Cause == "" && !c.AutoUpdate && offer.Class != gardencorev1beta1.ClassificationExpired &&
		autoReaches(offer.number, current, c.Strategy):
		return "waits until automatic updates are on or the present version expires"
	case update.Cause == "":
		return c.beyond(offer, current)
	case update.Changes() && sameMinor(offer.number, current):
		return c.passedOver(offer, update)
	case update.Changes() && sameMinorText(update.To, current):
		return fmt.Sprintf("is beyond %d.%d, whose newest patch comes first", current.Major(), current.Minor())
	case update.Changes() && autoReaches(offer.number, current, c.Strategy):
		return c.passedOver(offer, update)
	case update.Class == Automatic || update.Class == Failed:
		return c.beyond(offer, current)
	default:
		return c.beyondStep(offer, update)
	}
}

// beyond is why no update goes so far as long as the current version has not expired, or none at all.
func (c Component) beyond(offer Offer, current *semver.Version) string {
	switch {
	case offer.Class == gardencorev1beta1.ClassificationExpired:
		return "has expired itself"
	case c.Strategy == Kubernetes && !forceReaches(offer.number, current, Kubernetes):
		return "would skip a minor version"
	case c.Strategy == Kubernetes:
		return "is another minor version; only an expired version is updated to the next one"
	case c.Strategy == Patch && offer.number.Major() != current.Major(), c.Strategy == Minor && !forceReaches(offer.number,
		current, Minor):
		return fmt.Sprintf("is out of reach of the update strategy %q", c.Strategy)
	default:
		return fmt.Sprintf("is beyond what the update strategy %q updates to before the present version has expired",
			c.Strategy)
	}
}

// beyondStep is why a forced update stops before the version.
func (c Component) beyondStep(offer Offer, update Update) string {
	to, err := semver.NewVersion(update.To)
	switch {
	case err == nil && sameStep(offer.number, to, c.Strategy):
		return c.passedOver(offer, update)
	case c.Strategy == Kubernetes:
		return "would skip a minor version; maintenance goes one minor version at a time"
	case c.Strategy == Patch:
		return "is of a later minor version; maintenance goes to the next one first"
	default:
		return "is of a later major version; maintenance goes to the next one first"
	}
}

// passedOver is why a version in reach was not chosen although it is higher than the chosen one.
func (c Component) passedOver(offer Offer, update Update) string {
	switch offer.Class {
	case gardencorev1beta1.ClassificationExpired:
		return fmt.Sprintf("has expired; %s has not", update.To)
	case gardencorev1beta1.ClassificationDeprecated:
		return fmt.Sprintf("is deprecated; %s is not", update.To)
	default:
		return fmt.Sprintf("comes after %s", update.To)
	}
}

func sameMinorText(text string, other *semver.Version) bool {
	number, err := semver.NewVersion(text)
	return err == nil && sameMinor(number, other)
}

// sortUnchosen puts the nearest version first.
func sortUnchosen(unchosen []Unchosen) {
	slices.SortStableFunc(unchosen, func(a, b Unchosen) int {
		left, leftErr := semver.NewVersion(a.Version)
		right, rightErr := semver.NewVersion(b.Version)
		if leftErr != nil || rightErr != nil || left.Equal(right) {
			return strings.Compare(a.Version, b.Version)
		}
		return left.Compare(right)
	})
}
