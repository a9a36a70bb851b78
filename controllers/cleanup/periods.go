package cleanup

import (
	"fmt"
	"strconv"
	"time"

	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
)

const (
	// DefaultTimeout is after how long a step is given up for this run of the flow, with what is left as the error
	// (docs/specification/cleanup.md#spec-6-1).
	DefaultTimeout = 10 * time.Minute

	fiveMinutes = 5 * time.Minute

	// mostSeconds is more than anybody waits: what is written in an annotation may be longer than a Duration can be, and
	// would be less than nothing then.
	mostSeconds = int((100 * 365 * 24 * time.Hour) / time.Second)

	// noteOfStart is the annotation on the shoot's namespace in the seed with when the clean-up began.
	noteOfStart = constants.ShootCleanupKubernetesResourcesStartTime
)

// Periods are how long objects are given.
type Periods struct {
	// Grace is what they are given to end gracefully once deleted.
	Grace time.Duration
	// Finalize is how long after their deletion their finalizers are taken off them.
	Finalize time.Duration
}

// rule is the default of a step and the annotation of the Shoot that overrides it.
type rule struct {
	Periods
	// annotation is "" where none has a say.
	annotation string
	// share of the annotation's value is the grace period, where that is shorter than by default.
	share float64
}

// ruleOf is what holds for a step, in a clean-up that is skipped as well. The third annotation is for the third step
// only, as docs/specification/README.md#s3 has it (docs/specification/README.md#spec-0-0).
func ruleOf(step Step) rule {
	short, long := Periods{Grace: fiveMinutes, Finalize: fiveMinutes}, Periods{Grace: fiveMinutes, Finalize: time.Hour}
	switch step {
	case Webhooks:
		return rule{Periods: short, annotation: constants.ShootCleanupWebhooksFinalizeGracePeriodSeconds, share: 1}
	case ExtendedAPIs:
		return rule{Periods: long, annotation: constants.ShootCleanupExtendedAPIsFinalizeGracePeriodSeconds, share: 0.1}
	case KubernetesResources:
		return rule{
			Periods: short, annotation: constants.ShootCleanupKubernetesResourcesFinalizeGracePeriodSeconds, share: 1,
		}
	}
	return rule{Periods: long}
}

// PeriodsOf are the periods of a step for a Shoot with these annotations (docs/specification/cleanup.md#spec-6-3). An
// annotation overrides how long finalizers stay, be it for longer or less long than by default; "0" means at once. The
// grace period of a deletion only becomes shorter with it. An annotation that is no number is an error.
func PeriodsOf(step Step, annotations map[string]string) (Periods, error) {
	r := ruleOf(step)
	asked, found, err := r.asked(annotations)
	if err != nil || !found {
		return r.Periods, err
	}
	grace := time.Duration(float64(asked) * r.share).Truncate(time.Second)
	return Periods{Grace: min(grace, r.Grace), Finalize: asked}, nil
}

func (r rule) asked(annotations map[string]string) (time.Duration, bool, error) {
	text, found := annotations[r.annotation]
	if r.annotation == "" || !found {
		return 0, false, nil
	}
	seconds, err := strconv.Atoi(text)
	if err != nil || seconds < 0 {
		return 0, false, fmt.Errorf(
			"read annotation %s: %q is no number of seconds: write one such as \"300\", or \"0\" for at once", r.annotation,
			text)
	}
	return time.Duration(min(seconds, mostSeconds)) * time.Second, true, nil
}

// Skipped is whether a Shoot with these annotations asks to skip clean-up: of the third step only what holds on to
// something in the cloud is deleted then (docs/specification/cleanup.md#spec-6-5).
func Skipped(annotations map[string]string) bool {
	return annotations[constants.ShootSkipCleanup] == constants.LabelTrue
}

// Start is when the clean-up began, as noted on the shoot's namespace in the seed; now if it has not been noted yet, in
// which case the note to write is returned.
func Start(annotations map[string]string, now time.Time) (start time.Time, note string, err error) {
	text, found := annotations[noteOfStart]
	if !found {
		now = now.UTC().Truncate(time.Second)
		return now, now.Format(time.RFC3339), nil
	}
	if start, err = time.Parse(time.RFC3339, text); err != nil {
		return time.Time{}, "", fmt.Errorf("read annotation %s: %w", noteOfStart, err)
	}
	return start, "", nil
}
