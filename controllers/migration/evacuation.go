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
	"github.com/transplant-sim/transplant/controllers/migration/refusals"
	"github.com/transplant-sim/transplant/controllers/migration/secondsign"
	"github.com/transplant-sim/transplant/controllers/patch"
)

// DefaultAtOnce is how many shoots one destination restores at the same time (docs/ownership.md#spec-9-4).
const DefaultAtOnce = 20

// Evacuation binds the shoots of a seed that is lost to seeds that fit, and asks for their forced restore
// (docs/ownership.md#spec-9-4). It runs in the garden-controller-manager. That the lost seed does nothing any more is
// not its business: the destination makes sure of that by taking ownership.
type Evacuation struct {
	// Garden is an uncached client: who is evacuated is read with it.
	Garden client.Client
	// Cached says when to read: it is what watches have shown of the garden.
	Cached     client.Reader
	Heartbeats Heartbeats
	States     scope.States
	Clock      clock.PassiveClock
	Events     scope.Events
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

	lost     map[string]time.Time // since when, by seed
	silent   map[string]time.Time // seeds that nobody hears, and since when their conditions say so
	declared map[string]bool      // seeds that were lost when the garden was last read and all was done
	last     time.Time            // when the garden was last seen to be there
	read     time.Time            // when the garden was last read
	refused  *refusals.Refusals
	second   secondsign.Sign
}

// Heartbeats are those of seeds, as seed.Lifecycle hears them.
type Heartbeats interface {
	// Heard is when the garden was last seen to be there, and the seeds that are silent though watches do not show it.
	Heard(ctx context.Context) (at time.Time, unseen []string, err error)
}

// fallback is for how long what watches show is believed while a seed is silent.
func (e *Evacuation) fallback() time.Duration { return min(20*e.Interval, e.Grace/2) }

// observed is the garden as watches have shown it, or as it was read.
type observed struct {
	seeds  []gardencorev1beta1.Seed
	shoots []gardencorev1beta1.Shoot
	live   bool
	at     time.Time // when the garden was there
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

// look finds the seeds that have been lost for longer than the grace period, and works on their shoots. It counts by
// what watches show. As soon as there is something to do, it reads the garden: the decision is about what was read.
func (e *Evacuation) look(ctx context.Context) error {
	garden, err := e.observe(ctx)
	if err != nil {
		return err
	}
	lost := e.lostNow(garden)
	begin := e.last
	if e.Second != nil {
		atMost := e.second.Listen(ctx, e.Second, e.last, e.lost, garden.shoots)
		e.last = e.last.Add(min(e.Clock.Since(e.last), atMost)) // it is no gap in which nobody looked
	}
	stranded, back := e.stranded(garden.shoots, lost, begin)
	if e.refused == nil || len(stranded) == 0 {
		e.refused = &refusals.Refusals{Cached: e.Cached, AtMost: e.fallback()}
	}
	if !garden.live {
		if len(back) == 0 && !e.isPressing(ctx, stranded, garden, lost) {
			e.declared = lost
			return nil
		}
		if garden, err = e.ask(ctx); err != nil {
			return err
		}
		lost = e.lostNow(garden)
		stranded, back = e.stranded(garden.shoots, lost, begin)
	}
	e.declared = nil // what fails is tried again at the next look, also for a shoot that no watch shows
	if err = e.work(ctx, stranded, back, garden, lost); err == nil {
		e.declared = lost
	}
	return err
}

// observe is what watches show, unless that may be wrong: a seed is silent which they do not show, or all are; or one
// is silent and the garden was not seen, or not read for long. Who has a second sign asks all shoots that there are.
func (e *Evacuation) observe(ctx context.Context) (*observed, error) {
	garden, err := list(ctx, e.Cached)
	if err != nil {
		return nil, err
	}
	heard, unseen, err := e.Heartbeats.Heard(ctx)
	if err != nil {
		return nil, err
	}
	garden.at = heard
	silent := silentSince(garden.seeds)
	hidden := slices.ContainsFunc(unseen, func(seed string) bool {
		_, shown := silent[seed]
		return !shown
	})
	late := e.Clock.Since(heard) > 2*e.Interval || e.Clock.Since(e.read) >= e.fallback()
	if hidden || len(silent) > 0 && (late || len(silent) == len(garden.seeds) || e.Second != nil) {
		return e.ask(ctx)
	}
	return garden, nil
}

// ask reads the garden.
func (e *Evacuation) ask(ctx context.Context) (*observed, error) {
	garden, err := list(ctx, e.Garden)
	if err != nil {
		return nil, err
	}
	e.read = e.Clock.Now()
	garden.live, garden.at = true, e.read
	return garden, nil
}

func list(ctx context.Context, from client.Reader) (*observed, error) {
	seeds, shoots := &gardencorev1beta1.SeedList{}, &gardencorev1beta1.ShootList{}
	if err := from.List(ctx, seeds); err != nil {
		return nil, fmt.Errorf("list the seeds: %w", err)
	}
	if err := from.List(ctx, shoots); err != nil {
		return nil, fmt.Errorf("list the shoots: %w", err)
	}
	return &observed{seeds: seeds.Items, shoots: shoots.Items}, nil
}

// work evacuates the shoots that are stranded. Those whose seed is back lose the word that they cannot go anywhere.
func (e *Evacuation) work(ctx context.Context, stranded, back []*gardencorev1beta1.Shoot, garden *observed,
	lost map[string]bool) error {
	var errs []error
	for _, shoot := range back {
		errs = append(errs, e.report(ctx, shoot, nil))
	}
	e.refused.Begin()
	for _, shoot := range stranded {
		if err := e.evacuate(ctx, shoot, garden, lost); err != nil {
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

// lostNow are the seeds that have been lost for the grace period. Who has not seen the garden for a while begins to
// count anew: a garden that was away must not take all its seeds for lost. So does who has missed that a seed was back.
func (e *Evacuation) lostNow(garden *observed) map[string]bool {
	now := e.Clock.Now()
	if garden.at.Sub(e.last) > e.gap() {
		e.lost = nil
	}
	since := map[string]time.Time{}
	lost := map[string]bool{}
	silent := silentSince(garden.seeds)
	for name, changed := range silent {
		begin, known := e.lost[name]
		if !known || changed.After(e.silent[name]) {
			begin = now
		} else {
			silent[name] = e.silent[name] // watches may be behind
		}
		since[name] = begin
		lost[name] = now.Sub(begin) >= e.Grace
	}
	e.lost, e.silent = since, silent
	if garden.at.After(e.last) {
		e.last = garden.at
	}
	if len(since) == len(garden.seeds) {
		// Nobody is heard of: that is more likely the garden's own network. Who comes back first must not get everything.
		e.lost = nil
		return nil
	}
	return lost
}

// silentSince are the seeds that nobody hears, and since when their conditions say so.
func silentSince(seeds []gardencorev1beta1.Seed) map[string]time.Time {
	silent := map[string]time.Time{}
	for _, seed := range seeds {
		if statusOf(seed.Status.Conditions, gardencorev1beta1.SeedGardenletReady) != gardencorev1beta1.ConditionUnknown ||
			len(seed.Status.Conditions) == 0 {
			continue
		}
		silent[seed.Name] = time.Time{}
		for _, condition := range seed.Status.Conditions {
			if condition.Type == gardencorev1beta1.SeedGardenletReady {
				silent[seed.Name] = condition.LastTransitionTime.Time
			}
		}
	}
	return silent
}

// stranded are the shoots whose seed is lost, the most important first (docs/ownership.md#spec-9-4). Those in back
// still say that they cannot go anywhere, though their seed is back. begin is that of the look: answers of shoots have
// it as their date.
func (e *Evacuation) stranded(shoots []gardencorev1beta1.Shoot, lost map[string]bool,
	begin time.Time) (stranded, back []*gardencorev1beta1.Shoot) {
	for i := range shoots {
		shoot := &shoots[i]
		_, silent := e.silent[lifecycle.ResponsibleSeedOf(shoot)]
		switch seed := lostTo(shoot, lost); {
		case seed != "" && e.Second != nil && e.second.Spares(shoot, seed, begin, e.Grace):
		case seed != "":
			stranded = append(stranded, shoot)
		case statusOf(shoot.Status.Constraints,
			gardencorev1beta1.ShootEvacuationPossible) == gardencorev1beta1.ConditionFalse && !waitsForForce(shoot) && !silent:
			back = append(back, shoot)
		}
	}
	slices.SortFunc(stranded, func(a, b *gardencorev1beta1.Shoot) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return stranded, back
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

// isPressing reports whether there is something to do for one of the shoots, or a seed is lost by now.
func (e *Evacuation) isPressing(ctx context.Context, stranded []*gardencorev1beta1.Shoot, garden *observed,
	lost map[string]bool) bool {
	for seed, is := range lost {
		if is && !e.declared[seed] {
			return true
		}
	}
	e.refused.Begin()
	return slices.ContainsFunc(stranded, func(shoot *gardencorev1beta1.Shoot) bool {
		destination, why, err := e.plan(ctx, shoot, garden, lost)
		return err != nil || destination != "" || why != nil && e.reporter().changes(shoot, why)
	})
}

// evacuate brings one shoot a step further: chooses its seed and asks for its restore there. What follows is
// ForcedRestore's.
func (e *Evacuation) evacuate(ctx context.Context, shoot *gardencorev1beta1.Shoot, garden *observed,
	lost map[string]bool) error {
	destination, why, err := e.plan(ctx, shoot, garden, lost)
	switch {
	case err != nil:
		return err
	case why != nil:
		return e.report(ctx, shoot, why)
	case destination == "":
		return nil
	}
	// A shoot that cannot be restored stays bound where it is: its seed may return with everything.
	of := e.refused.Versions(ctx, shoot)
	_, _, err = checkGarden(ctx, e.Garden, e.States, shoot)
	if incomplete, is := errors.AsType[*IncompleteError](err); is {
		e.refused.Note(shoot, of, incomplete, e.Clock.Now())
		return e.report(ctx, shoot, incomplete)
	}
	if err != nil {
		return err
	}
	return e.bind(ctx, shoot, destination, lost)
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

func (e *Evacuation) reporter() reporter { return reporter{e.Garden, e.Clock, e.Events} }

func (e *Evacuation) report(ctx context.Context, shoot *gardencorev1beta1.Shoot, why error) error {
	return e.reporter().report(ctx, shoot, why)
}
