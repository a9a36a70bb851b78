package seed

import (
	"context"
	"errors"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/controllers/patch"
)

// ReasonSilent is the reason of the conditions of a seed whose gardenlet is not heard of.
const ReasonSilent = "SeedSilent"

// Lifecycle says of seeds that have gone silent that nobody knows how they are: their conditions become Unknown. It
// runs in the garden-controller-manager, and decides nothing about shoots (docs/ownership.md#spec-9-4).
type Lifecycle struct {
	// Garden is an uncached client.
	Garden client.Client
	Clock  clock.PassiveClock
	// Monitor is how long a Lease may stay as it is.
	Monitor time.Duration
	// Interval is between two looks at all Leases.
	Interval time.Duration

	silence silence
}

// AddToManager adds the Lifecycle to a manager on the garden.
func (l *Lifecycle) AddToManager(mgr manager.Manager) error {
	if err := mgr.Add(l); err != nil {
		return fmt.Errorf("add the lifecycle of seeds: %w", err)
	}
	return nil
}

// Start looks at the seeds until ctx is done.
func (l *Lifecycle) Start(ctx context.Context) error {
	logger := log.FromContext(ctx).WithName("seed-lifecycle")
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		if err := l.look(ctx); err != nil && ctx.Err() == nil {
			logger.Error(err, "The seeds could not be looked at")
		}
	}, l.Interval)
	return nil
}

func (l *Lifecycle) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, l.Monitor)
	defer cancel()
	seeds, leases := &gardencorev1beta1.SeedList{}, &coordinationv1.LeaseList{}
	if err := l.Garden.List(ctx, seeds); err != nil {
		return fmt.Errorf("list the seeds: %w", err)
	}
	if err := l.Garden.List(ctx, leases, client.InNamespace(constants.SeedLeaseNamespace)); err != nil {
		return fmt.Errorf("list the leases of seeds: %w", err)
	}
	l.silence.clock, l.silence.gap = l.Clock, l.Monitor
	l.silence.take(renewals(seeds.Items, leases.Items))
	var errs []error
	for i := range seeds.Items {
		if seed := &seeds.Items[i]; l.silence.of(seed.Name) > l.Monitor {
			errs = append(errs, l.setUnknown(ctx, seed))
		}
	}
	return errors.Join(errs...)
}

// renewals are what changes with every heartbeat. A Lease that another Seed of the same name has had is none.
func renewals(seeds []gardencorev1beta1.Seed, leases []coordinationv1.Lease) map[string]string {
	all := make(map[string]string, len(seeds))
	uids := make(map[string]string, len(seeds))
	for _, seed := range seeds {
		all[seed.Name], uids[seed.Name] = "", string(seed.UID)
	}
	for _, lease := range leases {
		if uid, known := uids[lease.Name]; known && uid == ptr.Deref(lease.Spec.HolderIdentity, "") &&
			lease.Spec.RenewTime != nil {
			all[lease.Name] = lease.Spec.RenewTime.String()
		}
	}
	return all
}

// setUnknown makes the conditions that the gardenlet keeps Unknown. A seed that never had any is only waited for.
func (l *Lifecycle) setUnknown(ctx context.Context, seed *gardencorev1beta1.Seed) error {
	now, changed := metav1.NewTime(l.Clock.Now()), false
	err := patch.LockedStatus(ctx, l.Garden, seed, func() {
		for i := range seed.Status.Conditions {
			condition := &seed.Status.Conditions[i]
			kept := condition.Type == gardencorev1beta1.SeedGardenletReady ||
				condition.Type == gardencorev1beta1.SeedSystemComponentsHealthy
			if !kept || condition.Status == gardencorev1beta1.ConditionUnknown {
				continue
			}
			changed = true
			condition.Status, condition.Reason = gardencorev1beta1.ConditionUnknown, ReasonSilent
			condition.Message = fmt.Sprintf("The gardenlet has not renewed its lease for more than %v.", l.Monitor)
			condition.LastTransitionTime, condition.LastUpdateTime = now, now
		}
	})
	if client.IgnoreNotFound(err) != nil || !changed {
		return err
	}
	log.FromContext(ctx).Info("The seed is silent", "seed", seed.Name, "for",
		l.silence.of(seed.Name).Round(time.Millisecond).String())
	return nil
}
