package migration

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/api/core/v1beta1/constants"
	"github.com/transplant-sim/transplant/controllers/controlplane/lifecycle"
	"github.com/transplant-sim/transplant/controllers/controlplane/scope"
	"github.com/transplant-sim/transplant/controllers/migration/secondsign"
	"github.com/transplant-sim/transplant/controllers/patch"
	"github.com/transplant-sim/transplant/controllers/placement"
)

// DefaultAtOnce is how many shoots one destination restores at the same time (docs/ownership.md#spec-9-4).
const DefaultAtOnce = 20

// Evacuation binds the shoots of a seed that is lost to seeds that fit, and asks for their forced restore
// (docs/ownership.md#spec-9-4). It runs in the garden-controller-manager. That the lost seed does nothing any more is
// not its business: the destination makes sure of that by taking ownership.
type Evacuation struct {
	// Garden is an uncached client.
	Garden client.Client
	States scope.States
	Clock  clock.PassiveClock
	Events scope.Events
	// Grace is how long a seed's GardenletReady must have been Unknown, as seen from here without a break.
	Grace time.Duration
	// Interval is between two looks at all seeds.
	Interval time.Duration
	// AtOnce bounds the shoots that one destination restores at the same time.
	AtOnce int
	// Second is whom to ask for a second sign: a shoot that still answers is left where it is until it has not answered
	// for the grace period. Nil for none: then a seed that is silent is dead.
	Second secondsign.Listener
	// Manual leaves the choice of a seed, and the annotation, to an operator.
	Manual bool

	lost   map[string]time.Time // since when, by seed
	silent map[string]bool      // seeds that nobody hears, for however long
	last   time.Time            // when the garden was last seen to be there
	second secondsign.Sign
}

// Start looks at the seeds until ctx is done.
func (e *Evacuation) Start(ctx context.Context) error {
	logger := log.FromContext(ctx).WithName("evacuation")
	wait.UntilWithContext(log.IntoContext(ctx, logger), func(ctx context.Context) {
		if err := e.look(ctx); err != nil && ctx.Err() == nil {
			logger.Error(err, "The evacuation of lost seeds is tried again")
		}
	}, e.Interval)
	return nil
}

// look finds the seeds that have been lost for longer than the grace period, and works on their shoots.
func (e *Evacuation) look(ctx context.Context) error {
	seeds, shoots := &gardencorev1beta1.SeedList{}, &gardencorev1beta1.ShootList{}
	if err := e.Garden.List(ctx, seeds); err != nil {
		return fmt.Errorf("list the seeds: %w", err)
	}
	lost := e.lostNow(seeds.Items)
	if err := e.Garden.List(ctx, shoots); err != nil {
		return fmt.Errorf("list the shoots: %w", err)
	}
	begin := e.last
	if e.Second != nil {
		atMost := e.second.Listen(ctx, e.Second, e.last, e.lost, shoots.Items)
		e.last = e.last.Add(min(e.Clock.Since(e.last), atMost)) // it is no gap in which nobody looked
	}
	stranded, errs := e.stranded(ctx, shoots.Items, lost, begin)
	for _, shoot := range stranded {
		if err := e.evacuate(ctx, shoot, seeds.Items, shoots.Items, lost); err != nil {
			errs = append(errs, fmt.Errorf("evacuate shoot %q: %w", client.ObjectKeyFromObject(shoot), err))
			continue
		}
		if now := e.Clock.Now(); now.Sub(e.last) <= e.gap() {
			e.last = now // the garden has answered: however long all shoots take, nobody was away
		}
	}
	return errors.Join(errs...)
}

// gap is after how long without the garden the count begins anew.
func (e *Evacuation) gap() time.Duration { return 3 * e.Interval }

// lostNow are the seeds that have been lost for the grace period. Who has not looked for a while begins to count anew:
// a garden that was away must not take all its seeds for lost.
func (e *Evacuation) lostNow(seeds []gardencorev1beta1.Seed) map[string]bool {
	now := e.Clock.Now()
	if now.Sub(e.last) > e.gap() {
		e.lost = nil
	}
	since := map[string]time.Time{}
	lost := map[string]bool{}
	e.silent = map[string]bool{}
	for _, seed := range seeds {
		if statusOf(seed.Status.Conditions, gardencorev1beta1.SeedGardenletReady) != gardencorev1beta1.ConditionUnknown ||
			len(seed.Status.Conditions) == 0 {
			continue
		}
		begin, known := e.lost[seed.Name]
		if !known {
			begin = now
		}
		since[seed.Name], e.silent[seed.Name] = begin, true
		lost[seed.Name] = now.Sub(begin) >= e.Grace
	}
	e.lost, e.last = since, now
	if len(since) == len(seeds) {
		// Nobody is heard of: that is more likely the garden's own network. Who comes back first must not get everything.
		e.lost = nil
		return nil
	}
	return lost
}

// stranded are the shoots whose seed is lost, the most important first (docs/ownership.md#spec-9-4). Those whose seed
// is back lose the word that they cannot go anywhere. begin is that of the look, to which answers of shoots are dated.
func (e *Evacuation) stranded(ctx context.Context, shoots []gardencorev1beta1.Shoot, lost map[string]bool,
	begin time.Time) ([]*gardencorev1beta1.Shoot, []error) {
	var stranded []*gardencorev1beta1.Shoot
	var errs []error
	for i := range shoots {
		shoot := &shoots[i]
		switch seed := lostTo(shoot, lost); {
		case seed != "" && e.Second != nil && e.second.Spares(shoot, seed, begin, e.Grace):
		case seed != "":
			stranded = append(stranded, shoot)
		case statusOf(shoot.Status.Constraints,
			gardencorev1beta1.ShootEvacuationPossible) == gardencorev1beta1.ConditionFalse && !waitsForForce(shoot) &&
			!e.silent[lifecycle.ResponsibleSeedOf(shoot)]:
			errs = append(errs, e.report(ctx, shoot, nil))
		}
	}
	slices.SortFunc(stranded, func(a, b *gardencorev1beta1.Shoot) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return stranded, errs
}

// lostTo is the lost seed without which the shoot cannot go on; empty if there is none.
func lostTo(shoot *gardencorev1beta1.Shoot, lost map[string]bool) string {
	switch seed := lifecycle.ResponsibleSeedOf(shoot); {
	case lost[seed]:
		return seed
	case destinationLost(shoot, lost):
		return ptr.Deref(shoot.Spec.SeedName, "")
	}
	return ""
}

// destinationLost reports whether a shoot can neither arrive nor stay: its source lives, has failed to hand it over or
// was interrupted in it, and its destination is lost. While the source is at work it is left alone.
func destinationLost(shoot *gardencorev1beta1.Shoot, lost map[string]bool) bool {
	last := shoot.Status.LastOperation
	if last == nil || last.Type != gardencorev1beta1.LastOperationTypeMigrate {
		return false
	}
	stands := []gardencorev1beta1.LastOperationState{
		gardencorev1beta1.LastOperationStateError, gardencorev1beta1.LastOperationStateFailed,
		gardencorev1beta1.LastOperationStateAborted,
	}
	return slices.Contains(stands, last.State) && lost[ptr.Deref(shoot.Spec.SeedName, "")]
}

// rank is the importance of a shoot, the lowest first.
func rank(shoot *gardencorev1beta1.Shoot) int {
	switch ptr.Deref(shoot.Spec.Purpose, "") {
	case gardencorev1beta1.ShootPurposeInfrastructure:
		return 0
	case gardencorev1beta1.ShootPurposeProduction:
		return 1
	}
	return 2
}

// evacuate brings one shoot a step further: chooses its seed and asks for its restore there. What follows is
// ForcedRestore's.
func (e *Evacuation) evacuate(ctx context.Context, shoot *gardencorev1beta1.Shoot, seeds []gardencorev1beta1.Seed,
	shoots []gardencorev1beta1.Shoot, lost map[string]bool) error {
	bound := ptr.Deref(shoot.Spec.SeedName, "")
	switch {
	case e.Manual && waitsForForce(shoot):
		return nil // the operator has chosen
	case e.Manual:
		return e.report(ctx, shoot,
			errors.New("the seed is lost, and evacuation is manual: set spec.seedName and the annotation "+
				constants.ShootForceRestore+"=true"))
	case !lifecycle.Created(shoot) && shoot.DeletionTimestamp == nil:
		return e.report(ctx, shoot, errors.New("the shoot has never been created successfully: there is nothing to restore"))
	case bound != "" && !lost[bound] && lifecycle.Forced(shoot):
		return nil // on its way
	}
	destination := bound // on its way to a seed that lives, when its source was lost
	if bound == "" || lost[bound] {
		var err error
		if destination, err = e.choose(ctx, shoot, seeds, shoots); destination == "" || err != nil {
			return err
		}
	} else if restoring(shoots, bound) >= e.AtOnce {
		return nil
	}
	// A shoot that cannot be restored stays bound where it is: its seed may return with everything.
	_, _, err := checkGarden(ctx, e.Garden, e.States, shoot)
	if incomplete, is := errors.AsType[*IncompleteError](err); is {
		return e.report(ctx, shoot, incomplete)
	}
	if err != nil {
		return err
	}
	return e.bind(ctx, shoot, destination, lost)
}

// choose finds the destination. It is empty if the shoot has to wait; the shoot's constraint says so, unless the shoot
// waits for its turn only.
func (e *Evacuation) choose(ctx context.Context, shoot *gardencorev1beta1.Shoot, seeds []gardencorev1beta1.Seed,
	shoots []gardencorev1beta1.Shoot) (string, error) {
	profile, err := e.profile(ctx, shoot)
	if err != nil {
		return "", err
	}
	question := &placement.Question{
		Shoot: shoot, Profile: profile, Seeds: seeds, Usage: placement.UsageOf(shoots, shoot),
		Source: ptr.Deref(shoot.Status.SeedName, ""),
	}
	destination, _, err := placement.Schedule(question)
	if err != nil {
		return "", e.report(ctx, shoot, err)
	}
	if restoring(shoots, destination) >= e.AtOnce {
		return "", nil
	}
	return destination, nil
}

// restoring counts the shoots that are on their way to a seed by force. Those that have failed for good are not.
func restoring(shoots []gardencorev1beta1.Shoot, seed string) int {
	count := 0
	for i := range shoots {
		shoot := &shoots[i]
		last := shoot.Status.LastOperation
		failed := last != nil && last.State == gardencorev1beta1.LastOperationStateFailed
		if lifecycle.Forced(shoot) && ptr.Deref(shoot.Spec.SeedName, "") == seed && !failed {
			count++
		}
	}
	return count
}

func (e *Evacuation) profile(ctx context.Context, shoot *gardencorev1beta1.Shoot) (*gardencorev1beta1.CloudProfile,
	error) {
	name, _, unknown := placement.ProfileOf(shoot)
	if unknown != nil || name == "" {
		return nil, nil
	}
	profile := &gardencorev1beta1.CloudProfile{}
	if err := e.Garden.Get(ctx, client.ObjectKey{Name: name}, profile); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("read CloudProfile %q: %w", name, err)
	} else if err != nil {
		return nil, nil // a profile that is gone excludes no seed
	}
	return profile, nil
}

// bind binds the shoot to the seed and asks for the restore, in one write. What a lost seed has begun is called off
// first: admission lets a shoot in the middle of a hand-over, or of its creation, go nowhere else.
func (e *Evacuation) bind(ctx context.Context, shoot *gardencorev1beta1.Shoot, destination string,
	lost map[string]bool) error {
	source := lifecycle.ResponsibleSeedOf(shoot)
	last := shoot.Status.LastOperation
	moving := last != nil && last.Type == gardencorev1beta1.LastOperationTypeMigrate &&
		last.State != gardencorev1beta1.LastOperationStateAborted
	gone := source
	if !lost[source] {
		gone = ptr.Deref(shoot.Spec.SeedName, "") // the source goes on, and hands over to the other destination
	}
	if lost[source] && moving || !lifecycle.Created(shoot) {
		if err := patch.LockedStatus(ctx, e.Garden, shoot, func() {
			shoot.Status.SeedName = &source
			shoot.Status.LastOperation = aborted(fmt.Sprintf("Seed %q was lost in the middle of the %s.", source, begun(last)),
				e.Clock)
		}); err != nil {
			return fmt.Errorf("call off what seed %q has begun: %w", source, err)
		}
	}
	before := shoot.DeepCopy()
	shoot.Spec.SeedName = &destination
	metav1.SetMetaDataAnnotation(&shoot.ObjectMeta, constants.ShootForceRestore, constants.LabelTrue)
	err := e.Garden.Patch(ctx, shoot, patch.AsRead(before))
	if apierrors.IsForbidden(err) || apierrors.IsInvalid(err) {
		*shoot = *before
		return e.report(ctx, shoot, err)
	}
	if err != nil {
		return fmt.Errorf("bind the shoot to seed %q: %w", destination, err)
	}
	e.Events.Event(shoot, corev1.EventTypeWarning, "Evacuated", fmt.Sprintf("Seed %q is lost: the shoot goes to seed %q.",
		gone, destination))
	return nil
}

func begun(last *gardencorev1beta1.LastOperation) string {
	if last != nil && last.Type == gardencorev1beta1.LastOperationTypeMigrate {
		return "migration"
	}
	return "creation"
}

// waitsForForce reports whether somebody has asked for a forced restore that has not begun:
// ForcedRestore then sets the shoot's constraint.
func waitsForForce(shoot *gardencorev1beta1.Shoot) bool {
	return lifecycle.Forced(shoot) && ptr.Deref(shoot.Spec.SeedName, "") != ptr.Deref(shoot.Status.SeedName, "")
}

func (e *Evacuation) report(ctx context.Context, shoot *gardencorev1beta1.Shoot, why error) error {
	return reporter{e.Garden, e.Clock, e.Events}.report(ctx, shoot, why)
}
