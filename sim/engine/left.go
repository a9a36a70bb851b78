package engine

import (
	"context"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"

	"github.com/transplant-sim/transplant/sim/landscape"
	"github.com/transplant-sim/transplant/sim/probe"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/world"
)

// followHandOvers looks into the control-plane namespace of each shoot that its source lets go, before the source
// removes the namespace and everything in it. It does so until the returned function is called.
func (t *runner) followHandOvers(ctx context.Context) (stop func()) {
	if t.Unwatched {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var working sync.WaitGroup
	working.Go(func() {
		before := map[string]timeline.ShootSeen{}
		for e := range t.Journal.Follow(ctx) {
			now, is := e.Payload.(timeline.ShootSeen)
			if !is {
				continue
			}
			if source := timeline.HandedOver(before[e.Subject], now); source != "" {
				h := handOver{shoot: e.Subject, namespace: now.TechnicalID, source: source}
				working.Go(func() { t.unseen(h.String(), t.lookAtHandOver(ctx, h)) })
			}
			before[e.Subject] = now
		}
	})
	return func() {
		cancel()
		working.Wait()
	}
}

// handOver of a shoot, as its source lets it go.
type handOver struct{ shoot, namespace, source string }

// String is what is looked at.
func (h handOver) String() string {
	return fmt.Sprintf("what is left of %s on seed %s", h.shoot, h.source)
}

// lookAtHandOver records what is in the namespace once that has settled, or what was in it last before it went.
func (t *runner) lookAtHandOver(ctx context.Context, h handOver) error {
	var last *timeline.InventorySeen
	memory, err := t.settled(ctx, settleRule{
		look: func(ctx context.Context, to *timeline.Journal) error {
			seen, err := t.controlPlane(ctx, h)
			if err != nil && last == nil {
				return err
			}
			if last == nil || seen != nil && len(seen.Unreadable) == 0 {
				last = seen
			}
			to.Record(timeline.Event{Actor: world.Observer, Subject: h.source, Payload: *last})
			return nil
		},
		names: lasting, failing: 2 * t.Patience.Finale, changing: t.Patience.Changing,
	})
	if last == nil {
		return err
	}
	t.keep(memory)
	return nil
}

// controlPlane is one look. A namespace that is not there while the shoot is still being restored holds nothing: its
// source keeps it until then. What was in one that has gone, or goes, or is the shoot's again, is not known.
func (t *runner) controlPlane(ctx context.Context, h handOver) (*timeline.InventorySeen, error) {
	ctx, cancel := context.WithTimeout(ctx, t.Patience.Finale)
	defer cancel()
	config, err := t.World.Connect(h.source)
	if err != nil {
		return nil, fmt.Errorf("connect to seed %q: %w", h.source, err)
	}
	seen, stage, err := probe.ControlPlane(ctx, config, h.shoot, h.namespace)
	if err != nil {
		return nil, fmt.Errorf("look at %s: %w", h, err)
	}
	late, err := t.late(ctx, h, stage)
	if err != nil {
		return nil, err
	}
	if late {
		seen.Items = []timeline.Item{}
		seen.Unreadable = append(seen.Unreadable, "namespace "+h.namespace+": nobody looked into it in time")
	}
	return &seen, nil
}

// late says whether the namespace in this stage may have held something else when the source let the shoot go.
func (t *runner) late(ctx context.Context, h handOver, stage probe.Stage) (bool, error) {
	garden, err := t.clients.Cluster(landscape.Garden)
	if err != nil {
		return false, err
	}
	shoot := &gardencorev1beta1.Shoot{}
	if err := garden.Get(ctx, t.World.ShootKey(h.shoot), shoot); err != nil {
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	}
	switch stage {
	case probe.There:
		return ptr.Deref(shoot.Spec.SeedName, "") == h.source, nil
	case probe.Gone:
		o := shoot.Status.LastOperation
		isMigrate := o != nil && o.Type == gardencorev1beta1.LastOperationTypeMigrate
		return o == nil || !isMigrate && o.State == gardencorev1beta1.LastOperationStateSucceeded, nil
	}
	return true, nil
}
