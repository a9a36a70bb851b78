package step

import (
	"cmp"
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/transplant-sim/transplant/sim/step/dryrun"
)

// Expect is liveness: a condition that must become true in time. If it is false at the last look, the run has failed.
// If that look cannot see whether it is true, the run is inconclusive.
type Expect struct {
	// That is a CEL condition.
	That string `json:"that"`
	// Within is the deadline, one minute when not given.
	Within metav1.Duration `json:"within,omitzero"`
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
	return fmt.Sprintf("expect %s within %s", e.That, e.Within.Duration)
}

// Check wants a condition about what is on the landscape, and a deadline.
func (e *Expect) Check(path *field.Path, state *dryrun.State) field.ErrorList {
	return append(state.Visible(path.Child("that"), e.That), positive(path.Child("within"), e.Within)...)
}

// Run waits until the condition is true. The error is Unmet when it did not become so in time, and Unknown when nobody
// can see whether it did.
func (e *Expect) Run(ctx context.Context, env *Environment) error {
	return env.Await(ctx, e.That, e.Within.Duration)
}
