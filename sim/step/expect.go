package step

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/transplant-sim/transplant/sim/expression"
	"github.com/transplant-sim/transplant/sim/step/dryrun"
)

// Expect is liveness: a condition that must become true in time. If it is false at the last look, the run has failed.
// If that look cannot see whether it is true, the run is inconclusive. With Samples there is one look, at all of them.
type Expect struct {
	// That is a CEL condition.
	That string `json:"that"`
	// Within is the deadline, one minute when not given.
	Within metav1.Duration `json:"within,omitzero"`
	// Samples is how often answerTimes are taken before the condition is judged, once, by all of them together; without
	// it, the first of many observations that fits is enough. All else is as it is with the last of them.
	Samples int `json:"samples,omitempty"`
}

var _ Step = &Expect{}

// Default fills in the deadline.
func (e *Expect) Default() {
	e.Within.Duration = cmp.Or(e.Within.Duration, time.Minute)
}

func (e *Expect) deadline() *metav1.Duration { return &e.Within }

// Subject is nothing in particular.
func (e *Expect) Subject() string { return "" }

func (e *Expect) String() string {
	if e.Samples > 0 {
		return fmt.Sprintf("expect %s of %d samples within %s", e.That, e.Samples, e.Within.Duration)
	}
	return fmt.Sprintf("expect %s within %s", e.That, e.Within.Duration)
}

// maxSamples bounds what one evaluation looks at, and what is recorded of it.
const maxSamples = 25

// Check wants a condition about what is on the landscape, and a deadline; and with samples, one about what they are of.
func (e *Expect) Check(path *field.Path, state *dryrun.State) field.ErrorList {
	errs := append(state.Visible(path.Child("that"), e.That), positive(path.Child("within"), e.Within)...)
	if e.Samples < 0 || e.Samples > maxSamples {
		errs = append(errs, field.Invalid(path.Child("samples"), e.Samples,
			fmt.Sprintf("must be from 1 to %d; leave it out to observe until the condition is true", maxSamples)))
	}
	if condition, err := expression.Compile(e.That); err == nil && e.Samples > 0 &&
		!slices.Contains(condition.Fields(), expression.Sampled) {
		errs = append(errs, field.Invalid(path.Child("samples"), e.Samples,
			fmt.Sprintf("samples are of %s, which the condition does not ask for: leave it out", expression.Sampled)))
	}
	return errs
}

// Run waits until the condition is true. The error is Unmet when it did not become so in time, and Unknown when nobody
// can see whether it did. With Samples it takes them, and judges the condition once.
func (e *Expect) Run(ctx context.Context, env *Environment) error {
	if e.Samples > 0 {
		return env.sample(ctx, e.That, e.Samples, e.Within.Duration)
	}
	return env.Await(ctx, e.That, e.Within.Duration)
}
