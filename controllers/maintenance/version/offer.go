package version

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// ClassAt is the class of a version at a moment (docs/specification/versions.md#spec-4-1). A boundary belongs to what
// was before it: a version whose expirationDate is now has not expired, and a stage that starts now has not started
// (docs/specification/versions.md#spec-4-11-5).
func ClassAt(v gardencorev1beta1.ExpirableVersion, now time.Time) gardencorev1beta1.VersionClassification {
	class := gardencorev1beta1.ClassificationUnavailable
	for _, stage := range Stages(v) {
		if stage.StartTime == nil || stage.StartTime.Time.Before(now) {
			class = stage.Classification
		}
	}
	return class
}

// Stages are the classes of a version over time, whichever of the two forms it is written in: as a lifecycle, or as a
// classification (supported, if there is none) that may end with an expirationDate.
func Stages(v gardencorev1beta1.ExpirableVersion) []gardencorev1beta1.LifecycleStage {
	if len(v.Lifecycle) > 0 {
		return v.Lifecycle
	}
	first := gardencorev1beta1.LifecycleStage{Classification: gardencorev1beta1.ClassificationSupported}
	if v.Classification != nil {
		first.Classification = *v.Classification
	}
	stages := []gardencorev1beta1.LifecycleStage{first}
	if v.ExpirationDate != nil {
		stages = append(stages, gardencorev1beta1.LifecycleStage{
			Classification: gardencorev1beta1.ClassificationExpired, StartTime: v.ExpirationDate,
		})
	}
	return stages
}

// ExpiresAt is when a version expires or has expired; false if no end is known.
func ExpiresAt(v gardencorev1beta1.ExpirableVersion) (time.Time, bool) {
	for _, stage := range Stages(v) {
		if stage.Classification == gardencorev1beta1.ClassificationExpired && stage.StartTime != nil {
			return stage.StartTime.Time, true
		}
	}
	return time.Time{}, false
}

// Offer is a version as a profile offers it at one moment.
type Offer struct {
	// Text is the version as the profile writes it.
	Text string
	// Class is the version's class at that moment.
	Class gardencorev1beta1.VersionClassification
	// Expires is when the version expires or has expired; nil if no end is known.
	Expires *time.Time

	number *semver.Version
}

// Number is the version of the offer.
func (o Offer) Number() *semver.Version { return o.number }

// Offers are versions in ascending order, each readable. The order of a profile plays no role.
type Offers []Offer

// OffersAt are the versions of a profile at a moment, and those that cannot be read, as written.
func OffersAt(versions []gardencorev1beta1.ExpirableVersion, now time.Time) (offers Offers, unreadable []string) {
	for _, v := range versions {
		number, err := semver.NewVersion(v.Version)
		if err != nil {
			unreadable = append(unreadable, v.Version)
			continue
		}
		offer := Offer{Text: v.Version, Class: ClassAt(v, now), number: number}
		if expires, known := ExpiresAt(v); known {
			offer.Expires = &expires
		}
		offers = append(offers, offer)
	}
	slices.SortFunc(offers, func(a, b Offer) int {
		if order := a.number.Compare(b.number); order != 0 {
			return order
		}
		return strings.Compare(a.Text, b.Text)
	})
	slices.Sort(unreadable)
	return offers, unreadable
}

// Parse reads a version. A missing minor or patch counts as 0, as everywhere in a profile.
func Parse(text string) (*semver.Version, error) {
	number, err := semver.NewVersion(text)
	if err != nil {
		return nil, fmt.Errorf("read the version %q: %w", text, err)
	}
	return number, nil
}

// Find is the offer of a Kubernetes version: 1.33 and v1.33.0 are the same.
func (o Offers) Find(current *semver.Version) (Offer, bool) {
	return o.first(func(offer Offer) bool { return offer.number.Equal(current) })
}

// FindText is the offer that is written exactly so. Providers map machine images by their text.
func (o Offers) FindText(text string) (Offer, bool) {
	return o.first(func(offer Offer) bool { return offer.Text == text })
}

func (o Offers) first(fits func(Offer) bool) (Offer, bool) {
	if i := slices.IndexFunc(o, fits); i >= 0 {
		return o[i], true
	}
	return Offer{}, false
}

// Where are the offers that fit.
func (o Offers) Where(fits func(Offer) bool) Offers {
	var fitting Offers
	for _, offer := range o {
		if fits(offer) {
			fitting = append(fitting, offer)
		}
	}
	return fitting
}

// Latest is the highest offer.
func (o Offers) Latest() (Offer, bool) {
	if len(o) == 0 {
		return Offer{}, false
	}
	return o[len(o)-1], true
}
