package seed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
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
	// Garden is an uncached client. It is asked before the conditions of a seed are set.
	Garden client.Client
	// Cached is what watches have shown of Seeds and their Leases. A seed that it shows to be there is not asked about.
	Cached client.Reader
	Clock  clock.PassiveClock
	// Monitor is how long a Lease may stay as it is.
	Monitor time.Duration
	// Interval is between two looks at all Leases.
	Interval time.Duration

	silence  silence
	asked    time.Time                // when Seeds and Leases were last read from the garden
	read     []gardencorev1beta1.Seed // then, with what was written
	declared map[string]time.Time     // the last renewal of seeds whose conditions were found, or made, Unknown
	begun    sync.Once
	unseen   atomic.Pointer[[]string]
}

// Heard is when the garden was last seen to be there, by a heartbeat or a read, and the seeds that are silent though
// Cached does not show it: its watch is late, or stuck.
func (l *Lifecycle) Heard(ctx context.Context) (at time.Time, unseen []string, err error) {
	if _, err := l.hear(ctx); err != nil {
		return time.Time{}, nil, err
	}
	return l.silence.last(), *cmp.Or(l.unseen.Load(), &[]string{}), nil
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
	seeds, err := l.hear(ctx)
	if err != nil {
		return err
	}
	if l.mustAsk(seeds) {
		err = l.ask(ctx)
	}
	var unseen []string
	for _, seed := range l.read {
		shown := slices.ContainsFunc(seeds, func(shown gardencorev1beta1.Seed) bool {
			return shown.UID == seed.UID && isUnknown(&shown)
		})
		if !shown && isUnknown(&seed) && l.isDeclared(seed.Name) {
			unseen = append(unseen, seed.Name)
		}
	}
	l.unseen.Store(&unseen)
	return err
}

// ask reads Seeds and Leases from the garden, and sets the conditions of the seeds that are silent.
func (l *Lifecycle) ask(ctx context.Context) error {
	seeds, leases, err := list(ctx, l.Garden)
	if err != nil {
		return err
	}
	l.asked, l.read = l.Clock.Now(), seeds
	all := renewals(seeds, leases)
	l.silence.take(all)
	maps.DeleteFunc(l.declared, func(name string, _ time.Time) bool {
		_, exists := all[name]
		return !exists
	})
	var errs []error
	for i := range seeds {
		if seed := &seeds[i]; l.silence.of(seed.Name) > l.Monitor {
			errs = append(errs, l.setUnknown(ctx, seed))
		}
	}
	return errors.Join(errs...)
}

// hear takes note of the heartbeats that watches have shown.
func (l *Lifecycle) hear(ctx context.Context) ([]gardencorev1beta1.Seed, error) {
	seeds, leases, err := list(ctx, l.Cached)
	if err != nil {
		return nil, err
	}
	l.begun.Do(func() { l.silence.clock, l.silence.gap, l.declared = l.Clock, l.Monitor, map[string]time.Time{} })
	l.silence.hint(renewals(seeds, leases))
	return seeds, nil
}

func list(ctx context.Context, from client.Reader) ([]gardencorev1beta1.Seed, []coordinationv1.Lease, error) {
	seeds, leases := &gardencorev1beta1.SeedList{}, &coordinationv1.LeaseList{}
	if err := errors.Join(from.List(ctx, seeds),
		from.List(ctx, leases, client.InNamespace(constants.SeedLeaseNamespace))); err != nil {
		return nil, nil, fmt.Errorf("list the seeds and their leases: %w", err)
	}
	return seeds.Items, leases.Items, nil
}

// mustAsk reports whether Seeds and Leases are to be read from the garden: once when a seed has been silent for half
// the monitor period, at every look after all of it, and while the watch is behind; and once in five monitor periods,
// to find out whether it is.
func (l *Lifecycle) mustAsk(seeds []gardencorev1beta1.Seed) bool {
	asked := l.Clock.Since(l.asked)
	return asked >= 5*l.Monitor || l.silence.isAhead() ||
		slices.ContainsFunc(slices.Concat(seeds, l.read), func(seed gardencorev1beta1.Seed) bool {
			silent := l.silence.of(seed.Name)
			half := silent - l.Monitor/2
			return l.isWatched(&seed) && (silent > l.Monitor || half >= 0 && asked > half)
		})
}

// renewals are what changes with every heartbeat. A Lease that another Seed of the same name has had is none.
func renewals(seeds []gardencorev1beta1.Seed, leases []coordinationv1.Lease) map[string]time.Time {
	all := make(map[string]time.Time, len(seeds))
	uids := make(map[string]string, len(seeds))
	for _, seed := range seeds {
		all[seed.Name], uids[seed.Name] = time.Time{}, string(seed.UID)
	}
	for _, lease := range leases {
		if uid, known := uids[lease.Name]; known && uid == ptr.Deref(lease.Spec.HolderIdentity, "") &&
			lease.Spec.RenewTime != nil {
			all[lease.Name] = lease.Spec.RenewTime.Time
		}
	}
	return all
}

// isWatched reports whether the silence of the seed would be news: its conditions are not Unknown, or it was heard
// since they were. Whether a seed without conditions has none yet is found out once.
func (l *Lifecycle) isWatched(seed *gardencorev1beta1.Seed) bool {
	return slices.ContainsFunc(seed.Status.Conditions, isKnown) || !l.isDeclared(seed.Name)
}

// isDeclared reports whether the conditions of the seed are Unknown, and it was not heard since.
func (l *Lifecycle) isDeclared(name string) bool {
	renewal, is := l.declared[name]
	return is && renewal.Equal(l.silence.renewal(name))
}

// isKnown reports whether the gardenlet keeps the condition, and it is not Unknown.
func isKnown(condition gardencorev1beta1.Condition) bool {
	kept := condition.Type == gardencorev1beta1.SeedGardenletReady ||
		condition.Type == gardencorev1beta1.SeedSystemComponentsHealthy
	return kept && condition.Status != gardencorev1beta1.ConditionUnknown
}

// isUnknown reports whether the conditions of the seed say that it is silent.
func isUnknown(seed *gardencorev1beta1.Seed) bool {
	_, is := silentSince(seed)
	return is && !slices.ContainsFunc(seed.Status.Conditions, isKnown)
}

// setUnknown makes the conditions that the gardenlet keeps Unknown, unless the seed was written since it was read.
func (l *Lifecycle) setUnknown(ctx context.Context, seed *gardencorev1beta1.Seed) error {
	renewal, now, changed := l.silence.renewal(seed.Name), metav1.NewTime(l.Clock.Now()), false
	err := patch.LockedStatus(ctx, l.Garden, seed, func() {
		for i := range seed.Status.Conditions {
			condition := &seed.Status.Conditions[i]
			if !isKnown(*condition) {
				continue
			}
			changed = true
			condition.Status, condition.Reason = gardencorev1beta1.ConditionUnknown, ReasonSilent
			condition.Message = fmt.Sprintf("The gardenlet has not renewed its lease for more than %v.", l.Monitor)
			condition.LastTransitionTime, condition.LastUpdateTime = now, now
		}
	})
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	l.declared[seed.Name] = renewal
	if !changed {
		return nil
	}
	log.FromContext(ctx).Info("The seed is silent", "seed", seed.Name, "for",
		l.silence.of(seed.Name).Round(time.Millisecond).String())
	return nil
}
