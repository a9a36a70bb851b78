package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/controllers/controlplane/lifecycle"
	"github.com/transplant-sim/transplant/controllers/controlplane/objects"
	"github.com/transplant-sim/transplant/controllers/patch"
)

// ErrTakenOver says that the shoot is no longer this gardenlet's to act on: another run, of another gardenlet perhaps,
// has begun.
var ErrTakenOver = errors.New("the shoot has been taken over")

// StillMine returns why the shoot, read anew, is no longer in the hands of this run. It is for decisions that cannot be
// undone.
func (s *Status) StillMine(ctx context.Context) error {
	_, err := s.readOwned(ctx)
	return err
}

// mine returns an error unless the shoot, as read just now, is still in the hands of this run: it began the operation
// that the status shows, and nobody has begun another since. A gardenlet that stood still for a while finds out by it.
func (s *Status) mine(shoot *gardencorev1beta1.Shoot) error {
	last := shoot.Status.LastOperation
	switch {
	case shoot.UID != s.Shoot.UID:
		return fmt.Errorf("%w: it is another shoot of the same name", ErrTakenOver)
	case shoot.Status.Gardener.ID != s.SeedName || last == nil || last.Type != s.Running ||
		last.State != gardencorev1beta1.LastOperationStateProcessing:
		return fmt.Errorf("%w: its status is that of another run", ErrTakenOver)
	case lifecycle.ResponsibleSeedOf(shoot) != s.SeedName:
		return fmt.Errorf("%w: seed %q is responsible", ErrTakenOver, lifecycle.ResponsibleSeedOf(shoot))
	case s.Running == gardencorev1beta1.LastOperationTypeRestore && s.left(shoot):
		// What it waits for may never come.
		return fmt.Errorf("%w: it is bound to seed %q", ErrTakenOver, ptr.Deref(shoot.Spec.SeedName, ""))
	}
	return nil
}

// left reports whether the shoot is bound to another seed, which can take it, and this one would begin to hand it over.
func (s *Status) left(shoot *gardencorev1beta1.Shoot) bool {
	return ptr.Deref(shoot.Spec.SeedName, "") != s.SeedName && lifecycle.ReadyForMigration(shoot) &&
		!s.Stopped() && shoot.Annotations[constants.ShootIgnore] != constants.LabelTrue
}

// readOwned reads the shoot anew. It is an error if the shoot is no longer in the hands of this run, and then the run
// ends, whoever has asked.
func (s *Status) readOwned(ctx context.Context) (*gardencorev1beta1.Shoot, error) {
	shoot, asked := &gardencorev1beta1.Shoot{}, s.Clock.Now()
	if err := s.Garden.Get(ctx, client.ObjectKeyFromObject(s.Shoot), shoot); err != nil {
		s.Confirmed.Forget()
		return nil, err
	}
	err := s.answered(shoot, asked)
	if err != nil {
		s.Confirmed.Lose(err)
	}
	return shoot, err
}

// answered takes down what the garden has answered, if the shoot is in the hands of this run, or returns why it is not.
func (s *Status) answered(shoot *gardencorev1beta1.Shoot, asked time.Time) error {
	err := s.mine(shoot)
	if err == nil {
		s.Confirmed.Note(shoot, asked)
	} else {
		s.Confirmed.Forget()
	}
	return err
}

// patchOwned patches the status as it is in the garden, if the shoot is still in the hands of this run. It begins with
// the shoot as the garden last confirmed it, and reads only if that, by the lock, is not the newest.
func (s *Status) patchOwned(ctx context.Context,
	mutate func(*gardencorev1beta1.ShootStatus)) (*gardencorev1beta1.Shoot, error) {
	var patched *gardencorev1beta1.Shoot
	err := retry.RetryOnConflict(objects.ConflictBackoff, func() (err error) {
		shoot := s.Confirmed.Shoot()
		if shoot == nil {
			if shoot, err = s.readOwned(ctx); err != nil {
				return err
			}
		}
		before, asked := shoot.DeepCopy(), s.Clock.Now()
		mutate(&shoot.Status)
		if err := s.Garden.Status().Patch(ctx, shoot, patch.AsRead(before)); err != nil {
			s.Confirmed.Forget()
			return err
		}
		patched = shoot
		_ = s.answered(shoot, asked) // the end of the operation is what this may have written
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("patch the status of shoot %q: %w", client.ObjectKeyFromObject(s.Shoot), err)
	}
	return patched, nil
}

// watchedFor is for how many fallback intervals a cache is believed that shows the shoot in the hands of the run.
const watchedFor = 5

// watch cancels the run as soon as it sees the shoot in other hands. It asks when the garden has confirmed nothing for
// the fallback interval, or for several of them, while the cache shows the shoot as this run's. A garden that does not
// answer stops nothing.
func (s *Status) watch(ctx context.Context, cancel context.CancelCauseFunc) {
	tried := s.Clock.Now()
	for {
		last := s.Confirmed.Asked()
		if last.Before(tried) {
			last = tried
		}
		since := s.Clock.Now().Sub(last)
		wait := s.WaitInterval - since
		if wait <= 0 && since < watchedFor*s.WaitInterval && s.isSeenOwned(ctx) {
			wait = s.WaitInterval
		}
		if wait > 0 {
			if !s.sleep(ctx, wait) {
				return
			}
			continue // the garden may have confirmed it meanwhile
		}
		tried = s.Clock.Now()
		_, err := s.readOwned(ctx)
		if apierrors.IsNotFound(err) {
			cancel(fmt.Errorf("%w: it is gone", ErrTakenOver))
		}
		if ctx.Err() != nil {
			return
		}
	}
}

// isSeenOwned reports whether the cache shows the shoot in the hands of this run.
func (s *Status) isSeenOwned(ctx context.Context) bool {
	shoot := &gardencorev1beta1.Shoot{}
	return s.WatchedGarden != nil && s.WatchedGarden.Get(ctx, client.ObjectKeyFromObject(s.Shoot), shoot) == nil &&
		s.mine(shoot) == nil
}

// sleep returns false if ctx is done.
func (s *Status) sleep(ctx context.Context, wait time.Duration) bool {
	timer := s.Clock.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C():
		return true
	}
}
