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

// Reschedule sets a shoot's maintenance time window, counted from now: a file cannot know
// when it is run.
type Reschedule struct {
	// Shoot whose maintenance it is.
	Shoot string `json:"shoot"`
	// EndsIn is when the window ends. No maintenance begins in its last 15 minutes
	// (docs/specification/versions.md#spec-4-6).
	EndsIn metav1.Duration `json:"endsIn"`
	// Lasts is how long the window is open, half an hour when not given.
	Lasts metav1.Duration `json:"lasts,omitzero"`
}

var _ Step = &Reschedule{}

// Default fills in the shortest window that there may be.
func (r *Reschedule) Default() {
	r.Lasts.Duration = cmp.Or(r.Lasts.Duration, 30*time.Minute)
}

// Subject is the shoot.
func (r *Reschedule) Subject() string { return r.Shoot }

func (r *Reschedule) String() string {
	return fmt.Sprintf("reschedule the maintenance of %s: a window of %s that ends in %s", r.Shoot, r.Lasts.Duration,
		r.EndsIn.Duration)
}

// Check wants an existing shoot. How long a window may be is for admission to say.
func (r *Reschedule) Check(path *field.Path, state *dryrun.State) field.ErrorList {
	_, errs := state.Shoot(path.Child("shoot"), r.Shoot, dryrun.Exists)
	errs = append(errs, state.Garden(path)...)
	errs = append(errs, positive(path.Child("endsIn"), r.EndsIn)...)
	return append(errs, positive(path.Child("lasts"), r.Lasts)...)
}

// Run patches the window.
func (r *Reschedule) Run(ctx context.Context, env *Environment) error {
	const layout = "150405-0700"
	end := env.Clock.Now().UTC().Add(r.EndsIn.Duration)
	window := map[string]any{"begin": end.Add(-r.Lasts.Duration).Format(layout), "end": end.Format(layout)}
	return env.patchShoot(ctx, r.Shoot,
		map[string]any{"spec": map[string]any{"maintenance": map[string]any{"timeWindow": window}}})
}
