package controlplane

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/controllers/errorcodes"
	"github.com/transplant-sim/transplant/controllers/flow"
)

// Begin writes the start of a flow into the shoot's status (docs/specification/migration.md#spec-2-5-step-3). It fails
// with a conflict if somebody else wrote the status since the shoot was read, so that two gardenlets cannot both begin.
func (o *Operation) Begin(ctx context.Context, operation gardencorev1beta1.LastOperationType, description,
	version string) error {
	o.running = operation
	return o.patchStatus(ctx, true, func(status *gardencorev1beta1.ShootStatus) {
		now := metav1.NewTime(o.Clock.Now())
		if errorcodes.NewCycle(status, o.Shoot.Generation, version) {
			status.RetryCycleStartTime = &now
		}
		status.Gardener = gardencorev1beta1.Gardener{ID: o.SeedName, Name: "gardenlet", Version: version}
		status.ObservedGeneration = o.Shoot.Generation
		status.LastOperation = &gardencorev1beta1.LastOperation{
			Type: operation, State: gardencorev1beta1.LastOperationStateProcessing, LastUpdateTime: now,
			Description: description,
		}
	})
}

// Succeed writes the good end of a flow, with whatever else finish wants to change in the same patch.
func (o *Operation) Succeed(ctx context.Context, description string,
	finish func(*gardencorev1beta1.ShootStatus)) error {
	return o.end(ctx, func(status *gardencorev1beta1.ShootStatus) {
		o.setLast(status, gardencorev1beta1.LastOperationStateSucceeded, 100, description)
		status.LastErrors, status.RetryCycleStartTime = nil, nil
		if finish != nil {
			finish(status)
		}
	})
}

// Fail writes the bad end of a flow: one lastError per failed task. The state is Failed when an error code is not
// retryable or the retry cycle is older than retryDuration, else Error (docs/specification/migration.md#spec-2-5,
// docs/specification/care.md#spec-5-9).
func (o *Operation) Fail(ctx context.Context, err error, retryDuration time.Duration) error {
	return o.end(ctx, func(status *gardencorev1beta1.ShootStatus) {
		status.LastErrors = lastErrors(err, metav1.NewTime(o.Clock.Now()))
		state, _ := errorcodes.StateAfter(status.LastErrors, status.RetryCycleStartTime, o.Clock.Now(), retryDuration)
		progress := int32(0)
		if status.LastOperation != nil {
			progress = status.LastOperation.Progress
		}
		o.setLast(status, state, progress, "Flow failed: "+firstLine(err))
	})
}

func (o *Operation) setLast(status *gardencorev1beta1.ShootStatus, state gardencorev1beta1.LastOperationState,
	progress int32, description string) {
	last := gardencorev1beta1.LastOperation{}
	if status.LastOperation != nil {
		last = *status.LastOperation
	}
	last.State, last.Progress, last.Description, last.LastUpdateTime = state, progress, description,
		metav1.NewTime(o.Clock.Now())
	status.LastOperation = &last
}

// PatchStatus patches the shoot's status in the middle of a flow. o.Shoot stays as it is: other tasks read it.
func (o *Operation) PatchStatus(ctx context.Context, mutate func(*gardencorev1beta1.ShootStatus)) error {
	_, err := o.patchOwnStatus(ctx, mutate)
	return err
}

// patchStatus patches the status of the shoot as it was read, and takes over what comes back. No task may run
// meanwhile.
func (o *Operation) patchStatus(ctx context.Context, lock bool, mutate func(*gardencorev1beta1.ShootStatus)) error {
	before := o.Shoot.DeepCopy()
	mutate(&o.Shoot.Status)
	patch := client.MergeFrom(before)
	if lock {
		patch = client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	}
	if err := o.Garden.Status().Patch(ctx, o.Shoot, patch); err != nil {
		before.DeepCopyInto(o.Shoot)
		return fmt.Errorf("patch the status of shoot %q: %w", client.ObjectKeyFromObject(o.Shoot), err)
	}
	return nil
}

// ErrTakenOver says that the shoot is no longer this gardenlet's to act on: another run, of another gardenlet perhaps,
// has begun.
var ErrTakenOver = errors.New("the shoot has been taken over")

// ConflictBackoff is for patches of a status that others write too: about two seconds.
var ConflictBackoff = wait.Backoff{Steps: 9, Duration: 10 * time.Millisecond, Factor: 2, Jitter: 0.2}

// mine returns an error unless the shoot, as read just now, is still in the hands of this run: it began the operation
// that the status shows, and nobody has begun another since. A gardenlet that stood still for a while finds out by it.
func (o *Operation) mine(shoot *gardencorev1beta1.Shoot) error {
	last := shoot.Status.LastOperation
	switch {
	case shoot.UID != o.Shoot.UID:
		return fmt.Errorf("%w: it is another shoot of the same name", ErrTakenOver)
	case shoot.Status.Gardener.ID != o.SeedName || last == nil || last.Type != o.running ||
		last.State != gardencorev1beta1.LastOperationStateProcessing:
		return fmt.Errorf("%w: its status is that of another run", ErrTakenOver)
	case ResponsibleSeed(shoot.Spec.SeedName, shoot.Status.SeedName) != o.SeedName:
		return fmt.Errorf("%w: seed %q is responsible", ErrTakenOver,
			ResponsibleSeed(shoot.Spec.SeedName, shoot.Status.SeedName))
	case o.running == gardencorev1beta1.LastOperationTypeRestore && o.left(shoot):
		// What it waits for may never come.
		return fmt.Errorf("%w: it is bound to seed %q", ErrTakenOver, ptr.Deref(shoot.Spec.SeedName, ""))
	}
	return nil
}

// left reports whether the shoot is bound to another seed, which can take it, and this one would begin to hand it over.
func (o *Operation) left(shoot *gardencorev1beta1.Shoot) bool {
	return ptr.Deref(shoot.Spec.SeedName, "") != o.SeedName && ReadyForMigration(shoot) &&
		!o.Stopped() && shoot.Annotations[constants.ShootIgnore] != constants.LabelTrue
}

// ReadyForMigration is the garden's word that the seed to which a shoot is bound can take it
// (docs/specification/migration.md#spec-2-4).
func ReadyForMigration(shoot *gardencorev1beta1.Shoot) bool {
	for _, constraint := range shoot.Status.Constraints {
		if constraint.Type == gardencorev1beta1.ShootReadyForMigration {
			return constraint.Status == gardencorev1beta1.ConditionTrue
		}
	}
	return false
}

// patchOwnStatus patches the status as it is in the garden now, if the shoot is still in the hands of this run.
func (o *Operation) patchOwnStatus(ctx context.Context,
	mutate func(*gardencorev1beta1.ShootStatus)) (*gardencorev1beta1.Shoot, error) {
	key := client.ObjectKeyFromObject(o.Shoot)
	var patched *gardencorev1beta1.Shoot
	err := retry.RetryOnConflict(ConflictBackoff, func() error {
		shoot := &gardencorev1beta1.Shoot{}
		if err := o.Garden.Get(ctx, key, shoot); err != nil {
			return err
		}
		if err := o.mine(shoot); err != nil {
			return err
		}
		before := shoot.DeepCopy()
		mutate(&shoot.Status)
		if err := o.Garden.Status().Patch(ctx, shoot,
			client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
			return err
		}
		patched = shoot
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("patch the status of shoot %q: %w", key, err)
	}
	return patched, nil
}

// end patches the status when no task runs any more, and takes over what comes back.
func (o *Operation) end(ctx context.Context, mutate func(*gardencorev1beta1.ShootStatus)) error {
	shoot, err := o.patchOwnStatus(ctx, mutate)
	if err != nil {
		return err
	}
	o.Shoot = shoot
	return nil
}

func lastErrors(err error, now metav1.Time) []gardencorev1beta1.LastError {
	var last []gardencorev1beta1.LastError
	for _, failed := range flow.Errors(err) {
		last = append(last, gardencorev1beta1.LastError{
			Description: failed.Error(), TaskID: ptr.To(string(failed.Task)), Codes: codes(failed.Err), LastUpdateTime: &now,
		})
	}
	if len(last) == 0 {
		last = append(last, gardencorev1beta1.LastError{Description: err.Error(), Codes: codes(err), LastUpdateTime: &now})
	}
	return last
}

// codes are those of an error and of all that it wraps, each once.
func codes(err error) []gardencorev1beta1.ErrorCode {
	var found []gardencorev1beta1.ErrorCode
	add := func(more []gardencorev1beta1.ErrorCode) {
		for _, code := range more {
			if !slices.Contains(found, code) {
				found = append(found, code)
			}
		}
	}
	if coded, is := err.(*CodedError); is { //nolint:errorlint // what it wraps comes next
		add(coded.Codes)
	}
	switch wrapping := err.(type) { //nolint:errorlint // the same
	case interface{ Unwrap() error }:
		add(codes(wrapping.Unwrap()))
	case interface{ Unwrap() []error }:
		for _, wrapped := range wrapping.Unwrap() {
			add(codes(wrapped))
		}
	}
	return found
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}
