package version

import (
	"cmp"
	"fmt"

	"github.com/Masterminds/semver/v3"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// Component is something that has a version to be maintained.
type Component struct {
	// Noun names what has the version, for example "Kubernetes" or `machine image "flatcar"`.
	Noun string
	// Switch is the field that turns automatic updates on and off.
	Switch string
	// Current is the version as the shoot writes it.
	Current string
	// Known is the current version's offer, if the profile has it.
	Known *Offer
	// Offers are what may be chosen, Unfit what may not be for a reason that is no matter of versions.
	Offers Offers
	Unfit  []Unchosen
	// Strategy is how far updates go, AutoUpdate whether automatic ones are on.
	Strategy   Strategy
	AutoUpdate bool
	// Misfit is why the current version cannot stay although the profile has it, or "".
	Misfit string
	// Limit is what else keeps automatic updates from going further, as a clause, or "".
	Limit string
}

// Decide says what maintenance does to the component (docs/specification/versions.md#spec-4-4).
func (c Component) Decide() Update {
	update := Update{From: c.Current, To: c.Current, Class: None}
	if c.Known != nil {
		update.Expires = c.Known.Expires
	}
	update.Cause, update.Reason = c.cause()
	current, err := Parse(c.Current)
	if err != nil {
		return update.failed(fmt.Sprintf("%s: correct it to a version of the CloudProfile", err))
	}
	if update.Cause == "" {
		update.Unchosen = c.unchosen(current, update)
		return update
	}
	chosen, found := c.Offers.Auto(current, c.Strategy)
	if !found && update.Cause == BecauseAutomatic && c.Misfit != "" {
		update.Cause, update.Reason = BecauseUnknown, c.misfit()
	}
	forced := update.Cause != BecauseAutomatic
	if !found && forced {
		chosen, found = c.Offers.forced(current, c.Strategy)
	}
	switch {
	case found && forced:
		update.Class, update.To = Forced, chosen.Text
	case found:
		update.Class, update.To = Automatic, chosen.Text
	case forced:
		update = update.failed(c.failure())
	case c.Limit != "":
		update.Cause, update.Reason = "", update.Reason+", but "+c.Limit
	default:
		update.Cause, update.Reason = "", c.latest()
	}
	update.Unchosen = c.unchosen(current, update)
	return update
}

// cause is why an update is due, if one is.
func (c Component) cause() (Cause, string) {
	image := c.Strategy != Kubernetes
	switch {
	case c.Known == nil:
		return BecauseUnknown, "Version does not exist in CloudProfile"
	case c.Known.Class == gardencorev1beta1.ClassificationExpired && image:
		return BecauseExpired,
			fmt.Sprintf("Machine image version expired - force update required (image update strategy: %s)", c.Strategy)
	case c.Known.Class == gardencorev1beta1.ClassificationExpired:
		return BecauseExpired, "Kubernetes version expired - force update required"
	case c.AutoUpdate && image:
		return BecauseAutomatic,
			fmt.Sprintf("Automatic update of the machine image version is configured (image update strategy: %s)", c.Strategy)
	case c.AutoUpdate:
		return BecauseAutomatic, "Automatic update of Kubernetes version configured"
	case c.Misfit != "":
		return BecauseUnknown, c.misfit()
	default:
		return "", fmt.Sprintf("Automatic updates are off (%s), and the version has not expired", c.Switch)
	}
}

func (c Component) misfit() string {
	return "Version does not fit the worker pool any more: " + c.Misfit
}

// latest is why an automatic update has nothing to do.
func (c Component) latest() string {
	reach := map[Strategy]string{
		Kubernetes: "the newest patch of its minor version",
		Patch:      "the newest patch of its minor version",
		Minor:      "the newest of its major version",
	}[c.Strategy]
	reach = cmp.Or(reach, "the newest of all")
	return "Automatic updates are on, and the version is already " + reach + " that they go to"
}

// failure is why nothing can be forced.
func (c Component) failure() string {
	switch c.Strategy {
	case Kubernetes:
		return fmt.Sprintf("the CloudProfile has no higher patch of %s that has not expired, and no version of the "+
			"consecutive minor version that is not a preview: add one, minor versions are never skipped", c.Current)
	case Patch:
		return fmt.Sprintf("the CloudProfile has no higher patch of %s and none of a higher minor version of the same "+
			"major version that fits and is not a preview", c.Current)
	case Minor:
		return fmt.Sprintf("the CloudProfile has no higher version of the same major version and none of a higher major "+
			"version than %s that fits and is not a preview", c.Current)
	default:
		return fmt.Sprintf("the %s has reached its end of life, or the CloudProfile is misconfigured: it has no version "+
			"above %s that fits, has not expired and is not a preview; add one, or move the pool to another image", c.Noun,
			c.Current)
	}
}

// unchosen are the higher versions that were not chosen and why, the nearest first.
func (c Component) unchosen(current *semver.Version, update Update) []Unchosen {
	floor := current
	if to, err := semver.NewVersion(update.To); err == nil && to.GreaterThan(floor) {
		floor = to
	}
	var unchosen []Unchosen
	for _, offer := range c.Offers {
		if offer.number.GreaterThan(floor) {
			unchosen = append(unchosen, Unchosen{Version: offer.Text, Why: c.why(offer, current, update)})
		}
	}
	for _, unfit := range c.Unfit {
		if number, err := semver.NewVersion(unfit.Version); err == nil && number.GreaterThan(floor) {
			unchosen = append(unchosen, unfit)
		}
	}
	sortUnchosen(unchosen)
	return unchosen
}
