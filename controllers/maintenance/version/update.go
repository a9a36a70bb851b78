package version

import (
	"fmt"
	"time"

	"github.com/Masterminds/semver/v3"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
)

// Class is what kind of update was decided.
type Class string

// Cause is why an update is due.
type Cause string

const (
	// None means that the version stays.
	None Class = "none"
	// Automatic is an update because automatic updates are on.
	Automatic Class = "auto"
	// Forced is an update that happens whether automatic updates are on or not.
	Forced Class = "forced"
	// Failed means that an update is due and there is nothing to update to.
	Failed Class = "failed"

	// BecauseAutomatic means that automatic updates are on.
	BecauseAutomatic Cause = "auto"
	// BecauseExpired means that the version has expired.
	BecauseExpired Cause = "expired"
	// BecauseUnknown means that the profile does not have the version.
	BecauseUnknown Cause = "notInCloudProfile"
)

// Update is what maintenance does to one version, and why.
type Update struct {
	// From is the version before, To the one after; they are equal unless something is updated.
	From string `json:"from"`
	To   string `json:"to"`
	// Class is the kind of update, Cause why it is due; no cause if none is.
	Class Class `json:"class"`
	Cause Cause `json:"cause,omitempty"`
	// Reason is a sentence without a full stop: why the version is updated, or why it stays.
	Reason string `json:"reason"`
	// Failure is why a due update cannot be made.
	Failure string `json:"failure,omitempty"`
	// Expires is when the version before expires or has expired; nil if no end is known.
	Expires *time.Time `json:"expires,omitempty"`
	// Held are the higher versions that were not chosen, the nearest first.
	Held []Held `json:"held,omitempty"`
}

// Held is a version that was not chosen.
type Held struct {
	Version string `json:"version"`
	Why     string `json:"why"`
}

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
	Unfit  []Held
	// Strategy is how far updates go, AutoUpdate whether automatic ones are on.
	Strategy   Strategy
	AutoUpdate bool
	// Misfit is why the current version cannot stay although the profile has it, or "".
	Misfit string
	// Limit is what else keeps automatic updates from going further, as a clause, or "".
	Limit string
}

// Decide says what maintenance does to the component (SPEC 4.4).
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
		update.Held = c.held(current, update)
		return update
	}
	chosen, found := c.Offers.Auto(current, c.Strategy)
	if !found && update.Cause == BecauseAutomatic && c.Misfit != "" {
		update.Cause, update.Reason = BecauseUnknown, c.misfit()
	}
	forced := update.Cause != BecauseAutomatic
	if !found && forced {
		chosen, found = c.Offers.Force(current, c.Strategy)
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
	update.Held = c.held(current, update)
	return update
}

func (u Update) failed(why string) Update {
	u.Class, u.Failure = Failed, why
	if u.Cause == "" {
		u.Cause, u.Reason = BecauseUnknown, "Version does not exist in CloudProfile"
	}
	return u
}

// Refused is the update that cannot be made because of something that is no matter of versions. An automatic one is
// simply left for later; a forced one has failed.
func (u Update) Refused(why string) Update {
	to := u.To
	u.To = u.From
	u.Held = append([]Held{{Version: to, Why: "has to wait: " + why}}, u.Held...)
	if u.Class == Forced {
		return u.failed(why)
	}
	u.Class, u.Cause, u.Reason = None, "", u.Reason+", but it has to wait: "+why
	return u
}

// Changes is whether the version is another one afterwards.
func (u Update) Changes() bool { return u.Class == Automatic || u.Class == Forced }

// cause is why an update is due, if one is.
func (c Component) cause() (Cause, string) {
	image := c.Strategy != Kubernetes
	switch {
	case c.Known == nil:
		return BecauseUnknown, "Version does not exist in CloudProfile"
	case c.Known.Class == gardencorev1beta1.ClassificationExpired && image:
		return BecauseExpired, fmt.Sprintf("Machine image version expired - force update required (image update strategy: %s)", c.Strategy)
	case c.Known.Class == gardencorev1beta1.ClassificationExpired:
		return BecauseExpired, "Kubernetes version expired - force update required"
	case c.AutoUpdate && image:
		return BecauseAutomatic, fmt.Sprintf("Automatic update of the machine image version is configured (image update strategy: %s)", c.Strategy)
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
	if reach == "" {
		reach = "the newest of all"
	}
	return "Automatic updates are on, and the version is already " + reach + " that they go to"
}

// failure is why nothing can be forced.
func (c Component) failure() string {
	switch c.Strategy {
	case Kubernetes:
		return fmt.Sprintf("the CloudProfile has no higher patch of %s and no version of the consecutive minor version that is not a preview: add one, minor versions are never skipped", c.Current)
	case Patch:
		return fmt.Sprintf("the CloudProfile has no higher patch of %s and none of a higher minor version of the same major version that fits and is not a preview", c.Current)
	case Minor:
		return fmt.Sprintf("the CloudProfile has no higher version of the same major version and none of a higher major version than %s that fits and is not a preview", c.Current)
	default:
		return fmt.Sprintf("the %s has reached its end of life, or the CloudProfile is misconfigured: it has no version above %s that fits, has not expired and is not a preview; add one, or move the pool to another image", c.Noun, c.Current)
	}
}

// held are the higher versions that were not chosen and why, the nearest first.
func (c Component) held(current *semver.Version, update Update) []Held {
	floor := current
	if to, err := semver.NewVersion(update.To); err == nil && to.GreaterThan(floor) {
		floor = to
	}
	var held []Held
	for _, offer := range c.Offers {
		if offer.number.GreaterThan(floor) {
			held = append(held, Held{Version: offer.Text, Why: c.why(offer, current, update)})
		}
	}
	for _, unfit := range c.Unfit {
		if number, err := semver.NewVersion(unfit.Version); err == nil && number.GreaterThan(floor) {
			held = append(held, unfit)
		}
	}
	sortHeld(held)
	return held
}
