package contract

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/cmd/transplant/environment"
	"github.com/transplant-sim/transplant/sim/contract"
	"github.com/transplant-sim/transplant/sim/diagnosis"
	"github.com/transplant-sim/transplant/sim/world"
)

const (
	// beginWait is how long an extension may leave all objects without a success, while it answers none, has errors alone,
	// or ends again and again. By one that never begins no clause can be judged.
	beginWait = time.Minute
	// lookEvery is between two looks at how far it has come.
	lookEvery = time.Second
)

// whileItBegins does something with the extension. If the extension brings none of its first objects to its end, that
// is ended, and the error is a *diagnosis.NeverUpError. If what is done may have no object that is to succeed, makeOne
// makes one before that; else it is nil.
func (k *kit) whileItBegins(ctx context.Context, makeOne func(context.Context) error,
	do func(context.Context, *kit) error) error {
	watched, cancel := context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	watching.Go(func() {
		f := k.awaitBeginning(watched)
		if f != nil && makeOne != nil {
			watching.Go(func() {
				if err := makeOne(watched); err != nil {
					cancel(fmt.Errorf("make an undisturbed object: %w", err))
				}
			})
			f = k.awaitBeginning(watched)
		}
		if f != nil {
			cancel(&diagnosis.NeverUpError{Findings: []diagnosis.Finding{*f}})
		}
	})
	err := do(watched, k)
	cancel(nil)
	watching.Wait()
	if never := (*diagnosis.NeverUpError)(nil); err != nil && errors.As(context.Cause(watched), &never) {
		return never
	}
	return err
}

// awaitBeginning waits until an object has succeeded, or ctx is done. If that does not come, it says why.
func (k *kit) awaitBeginning(ctx context.Context) *diagnosis.Finding {
	at, wait := k.source(), beginWait*time.Duration(k.multiplier)
	owner := world.PodOwner{Actor: at.actor, Extension: k.extension().Name}
	clinic, err := diagnosis.NewClinic(at.name, at.config, environment.Owners{}, clock.RealClock{})
	if err != nil {
		return &diagnosis.Finding{Owner: owner, Cluster: at.name, What: "the kit cannot look at its pods: " + err.Error()}
	}
	begun, last := time.Now(), diagnosis.Fine // when it came to the last state
	for {
		state, what := at.beginning()
		if state == diagnosis.Fine || sleep(ctx, lookEvery) != nil {
			return nil
		}
		if state != last {
			begun, last = time.Now(), state
		}
		if time.Since(begun) < wait {
			continue
		}
		crashing := func(f diagnosis.Finding) bool { return f.Owner == owner && f.State.Hopeless() }
		if found, _ := clinic.Look(ctx); state.Hopeless() || slices.ContainsFunc(found, crashing) {
			return new(clinic.OfExtension(ctx, owner, state, fmt.Sprintf("after %s %s", wait, what)))
		}
	}
}

// beginning is how far the extension has come with the first objects on a seed: Fine if one has succeeded, and Suspect
// while one may.
func (at *side) beginning() (state diagnosis.State, what string) {
	asked, failing := 0, []string{}
	var inWork bool
	for kind, o := range at.objects {
		for key, v := range o.all() {
			is := contract.Look(v.object.Object)
			switch asked++; {
			case is.LastState == string(gardencorev1beta1.LastOperationStateSucceeded):
				return diagnosis.Fine, ""
			case is.LastError != "":
				failing = append(failing, fmt.Sprintf("%s %s has its error: %s", kind, key,
					strings.Join(strings.Fields(is.LastError), " ")))
			case is.LastType != "" || is.Observed > 0 || len(is.Finalizers) > 0:
				inWork = true
			}
		}
	}
	slices.Sort(failing)
	switch {
	case asked == 0 || inWork:
		return diagnosis.Suspect, fmt.Sprintf("none of %d objects has succeeded", asked)
	case len(failing) > 0:
		return diagnosis.Failing, failing[0]
	}
	return diagnosis.Silent, fmt.Sprintf("none of %d objects has an answer", asked)
}
