package run

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/controllers/controlplane/lifecycle"
	"github.com/transplant-sim/transplant/controllers/controlplane/objects"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
	"github.com/transplant-sim/transplant/controllers/errorcodes"
	"github.com/transplant-sim/transplant/controllers/flow"
	"github.com/transplant-sim/transplant/controllers/patch"
)

// Status is the shoot's status as one run of a flow writes it.
type Status struct{ *scope.Scope }

// Begin writes the start of a flow into the shoot's status (docs/specification/migration.md#spec-2-5-step-3). It fails
// with a conflict if somebody else wrote the status since the shoot was read, so that two gardenlets cannot both begin.
func (s *Status) Begin(ctx context.Context, operation gardencorev1beta1.LastOperationType, description,
	version string) error {
	s.Running = operation
	return s.PatchAsRead(ctx, true, func(status *gardencorev1beta1.ShootStatus) {
		now := metav1.NewTime(s.Clock.Now())
		if errorcodes.NewCycle(status, s.Shoot.Generation, version) {
			status.RetryCycleStartTime = &now
		}
		status.Gardener = gardencorev1beta1.Gardener{ID: s.SeedName, Name: "gardenlet", Version: version}
		status.ObservedGeneration = s.Shoot.Generation
		status.LastOperation = &gardencorev1beta1.LastOperation{
			Type: operation, State: gardencorev1beta1.LastOperationStateProcessing, LastUpdateTime: now,
			Description: description,
		}
	})
}

// Succeed writes the good end of a flow, with whatever else finish wants to change in the same patch.
func (s *Status) Succeed(ctx context.Context, description string,
	finish func(*gardencorev1beta1.ShootStatus)) error {
	return s.end(ctx, func(status *gardencorev1beta1.ShootStatus) {
		s.setLast(status, gardencorev1beta1.LastOperationStateSucceeded, 100, description)
		status.LastErrors, status.RetryCycleStartTime = nil, nil
		if finish != nil {
			finish(status)
		}
	})
}

// Fail writes the bad end of a flow: one lastError per failed task. The state is Failed when an error code is not
// retryable or the retry cycle is older than retryDuration, else Error (docs/specification/migration.md#spec-2-5,
// docs/specification/care.md#spec-5-9).
func (s *Status) Fail(ctx context.Context, err error, retryDuration time.Duration) error {
	return s.end(ctx, func(status *gardencorev1beta1.ShootStatus) {
		status.LastErrors = lastErrors(err, metav1.NewTime(s.Clock.Now()))
		state, _ := errorcodes.StateAfter(status.LastErrors, status.RetryCycleStartTime, s.Clock.Now(), retryDuration)
		progress := int32(0)
		if status.LastOperation != nil {
			progress = status.LastOperation.Progress
		}
		s.setLast(status, state, progress, "Flow failed: "+firstLine(err))
	})
}

func (s *Status) setLast(status *gardencorev1beta1.ShootStatus, state gardencorev1beta1.LastOperationState,
	progress int32, description string) {
	last := gardencorev1beta1.LastOperation{}
	if status.LastOperation != nil {
		last = *status.LastOperation
	}
	last.State, last.Progress, last.Description, last.LastUpdateTime = state, progress, description,
		metav1.NewTime(s.Clock.Now())
	status.LastOperation = &last
}

// Patch patches the shoot's status in the middle of a flow, unless the garden has said last that it is so. s.Shoot is
// left as it is: other tasks read it.
func (s *Status) Patch(ctx context.Context, mutate func(*gardencorev1beta1.ShootStatus)) error {
	if shoot := s.Confirmed.Shoot(); shoot != nil {
		before := shoot.Status.DeepCopy()
		if mutate(&shoot.Status); equality.Semantic.DeepEqual(before, &shoot.Status) {
			return nil
		}
	}
	_, err := s.patchOwned(ctx, mutate)
	return err
}

// PatchAsRead patches the status of the shoot as it was read, and takes over what comes back. No task may run
// meanwhile.
func (s *Status) PatchAsRead(ctx context.Context, lock bool, mutate func(*gardencorev1beta1.ShootStatus)) error {
	before, asked := s.Shoot.DeepCopy(), s.Clock.Now()
	mutate(&s.Shoot.Status)
	kind := client.MergeFrom
	if lock {
		kind = patch.AsRead
	}
	if err := s.Garden.Status().Patch(ctx, s.Shoot, kind(before)); err != nil {
		before.DeepCopyInto(s.Shoot)
		return fmt.Errorf("patch the status of shoot %q: %w", client.ObjectKeyFromObject(s.Shoot), err)
	}
	_ = s.answered(s.Shoot, asked) // it need not have begun yet
	return nil
}

// end patches the status when no task runs any more, and takes over what comes back.
func (s *Status) end(ctx context.Context, mutate func(*gardencorev1beta1.ShootStatus)) error {
	shoot, err := s.patchOwned(ctx, mutate)
	if err != nil {
		return err
	}
	s.Shoot = shoot
	return nil
}

func lastErrors(err error, now metav1.Time) []gardencorev1beta1.LastError {
	var last []gardencorev1beta1.LastError
	for _, failed := range flow.Errors(err) {
		last = append(last, gardencorev1beta1.LastError{
			Description: failed.Error(), TaskID: ptr.To(string(failed.Task)), Codes: errorcodes.Of(failed.Err),
			LastUpdateTime: &now,
		})
	}
	if len(last) == 0 {
		last = append(last,
			gardencorev1beta1.LastError{Description: err.Error(), Codes: errorcodes.Of(err), LastUpdateTime: &now})
	}
	return last
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// consume takes annotations off the shoot, if it is still in the hands of this run. Of its tasks it takes those off
// that end with the run: others were added later, and are for the next run.
func (s *Status) consume(ctx context.Context, annotations []string) error {
	err := s.patchAnnotations(ctx, func(shoot *gardencorev1beta1.Shoot) {
		for _, name := range annotations {
			if name == constants.ShootTasks {
				lifecycle.RemoveTasks(shoot, s.endingTasks())
				continue
			}
			delete(shoot.Annotations, name)
		}
	})
	if err != nil {
		return fmt.Errorf("take %v off shoot %q: %w", annotations, client.ObjectKeyFromObject(s.Shoot), err)
	}
	return nil
}

// patchAnnotations of the shoot as it is in the garden now, if it is still in the hands of this run. s.Shoot stays as
// it is: tasks read it.
func (s *Status) patchAnnotations(ctx context.Context, change func(*gardencorev1beta1.Shoot)) error {
	return retry.RetryOnConflict(objects.ConflictBackoff, func() error {
		shoot, err := s.readOwned(ctx)
		if err != nil {
			return err
		}
		before, asked := shoot.DeepCopy(), s.Clock.Now()
		if change(shoot); maps.Equal(shoot.Annotations, before.Annotations) {
			return nil
		}
		if err := s.Garden.Patch(ctx, shoot, patch.AsRead(before)); err != nil {
			return err
		}
		return s.answered(shoot, asked)
	})
}

// endingTasks are the tasks that the run has found and that end with it. Restarts have been taken off when they were
// done: one that is there again was added later.
func (s *Status) endingTasks() []string {
	return slices.DeleteFunc(lifecycle.Tasks(s.Shoot), s.Restarts)
}

// FinishTask takes a task off the shoot in the middle of a flow.
func (s *Status) FinishTask(ctx context.Context, task string) error {
	err := s.patchAnnotations(ctx, func(shoot *gardencorev1beta1.Shoot) {
		if slices.Contains(lifecycle.Tasks(shoot), task) {
			lifecycle.RemoveTasks(shoot, []string{task})
		}
	})
	if err != nil {
		return fmt.Errorf("take the task %q off shoot %q: %w", task, client.ObjectKeyFromObject(s.Shoot), err)
	}
	return nil
}

// lastRequestTimeout bounds the request with which the shoot ceases to exist.
const lastRequestTimeout = 30 * time.Second

// RemoveFinalizer lets the shoot go. The shoot is read anew: its status has been written since the flow began.
func (s *Status) RemoveFinalizer(ctx context.Context) error {
	key := client.ObjectKeyFromObject(s.Shoot)
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		shoot := &gardencorev1beta1.Shoot{}
		if err := s.Garden.Get(ctx, key, shoot); err != nil {
			return client.IgnoreNotFound(err)
		}
		if shoot.UID != s.Shoot.UID {
			return nil
		}
		before := shoot.DeepCopy()
		controllerutil.RemoveFinalizer(shoot, constants.GardenerFinalizer)
		// The watch of the run sees that the shoot is gone, perhaps before the answer is here: it must not end the wait.
		answered, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastRequestTimeout)
		defer cancel()
		return client.IgnoreNotFound(s.Garden.Patch(answered, shoot, patch.AsRead(before)))
	})
	if err != nil {
		return fmt.Errorf("remove the finalizer of shoot %q: %w", key, err)
	}
	return nil
}

// EnsureIdentity gives a new shoot what stays the same for life: technical id, uid and cluster identity
// (docs/specification/api.md#spec-1-2).
func (s *Status) EnsureIdentity(ctx context.Context) error {
	if s.Shoot.Status.TechnicalID != "" && s.Shoot.Status.UID != "" {
		return nil
	}
	namespace := &corev1.Namespace{}
	if err := s.Garden.Get(ctx, client.ObjectKey{Name: s.Shoot.Namespace}, namespace); err != nil {
		return fmt.Errorf("read the project namespace %q: %w", s.Shoot.Namespace, err)
	}
	return s.PatchAsRead(ctx, false, func(status *gardencorev1beta1.ShootStatus) {
		status.TechnicalID = scope.TechnicalID(namespace, s.Shoot.Name)
		status.UID = s.Shoot.UID
		identity := status.TechnicalID + "-" + string(s.Shoot.UID)
		status.ClusterIdentity = &identity
	})
}
