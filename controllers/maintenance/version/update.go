package version

import "time"

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
	// Unchosen are the higher versions that were not chosen, the nearest first.
	Unchosen []Unchosen `json:"held,omitempty"`
}

// Unchosen is a version that was not chosen.
type Unchosen struct {
	Version string `json:"version"`
	Why     string `json:"why"`
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
	u.Unchosen = append([]Unchosen{{Version: to, Why: "has to wait: " + why}}, u.Unchosen...)
	if u.Class == Forced {
		return u.failed(why)
	}
	u.Class, u.Cause, u.Reason = None, "", u.Reason+", but it has to wait: "+why
	return u
}

// Changes is whether the version is another one afterwards.
func (u Update) Changes() bool { return u.Class == Automatic || u.Class == Forced }
