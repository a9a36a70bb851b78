package step

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/transplant-sim/transplant/sim/step/dryrun"
)

// Wait blocks until a condition is true, which is a precondition of the scenario and no promise of the product, or for
// a time that the scenario needs.
type Wait struct {
	// Until is a CEL condition. If it does not become true in time, the run ends with an error.
	Until string `json:"until,omitempty"`
	// Within is the deadline of until, one minute when not given.
	Within metav1.Duration `json:"within,omitzero"`
	// For is how long to wait without a condition.
	For metav1.Duration `json:"for,omitzero"`
	// Because says what the scenario needs the time for.
	Because string `json:"because,omitempty"`
}

var _ Step = &Wait{}

// Default fills in the deadline.
func (w *Wait) Default() {
	if w.Until != "" && w.Within.Duration == 0 {
		w.Within.Duration = time.Minute
	}
}

func (w *Wait) deadline() *metav1.Duration { return &w.Within }

// Subject is nothing in particular.
func (w *Wait) Subject() string { return "" }

func (w *Wait) String() string {
	if w.Until != "" {
		return fmt.Sprintf("wait until %s, at most %s", w.Until, w.Within.Duration)
	}
	return fmt.Sprintf("wait for %s because %s", w.For.Duration, w.Because)
}

// Check wants either a condition with a deadline, or a time with a reason.
func (w *Wait) Check(path *field.Path, state *dryrun.State) field.ErrorList {
	switch {
	case w.Until != "" && w.For.Duration == 0:
		return append(state.Visible(path.Child("until"), w.Until), positive(path.Child("within"), w.Within)...)
	case w.Until == "" && w.For.Duration > 0 && w.Within.Duration == 0:
		if w.Because == "" {
			return field.ErrorList{field.Required(path.Child("because"),
				"a wait for a time needs its reason; better wait until a condition is true")}
		}
		return nil
	}
	return field.ErrorList{field.Invalid(path, w.String(), "must have until and within, or for and because")}
}

// Run waits.
func (w *Wait) Run(ctx context.Context, env *Environment) error {
	if w.Until != "" {
		err := env.Await(ctx, w.Until, w.Within.Duration)
		if errors.As(err, &Unmet{}) || errors.As(err, &Unknown{}) { // neither is about a promise
			return errors.New(err.Error())
		}
		return err
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-env.Clock.After(w.For.Duration):
		return nil
	}
}

// Lasts is how long a wait for a time takes; 0 for every other step.
func (s *Spec) Lasts() time.Duration {
	if s.Wait == nil {
		return 0
	}
	return s.Wait.For.Duration
}

// Once says whether the step's condition is judged once, and not until it is true.
func (s *Spec) Once() bool { return s.Expect != nil && s.Expect.Samples > 0 }

// Condition is the one that an expect or a wait is for, with its deadline; empty for every other step.
func (s *Spec) Condition() (that string, within time.Duration) {
	switch {
	case s.Expect != nil:
		return s.Expect.That, s.Expect.Within.Duration
	case s.Wait != nil:
		return s.Wait.Until, s.Wait.Within.Duration
	}
	return "", 0
}
