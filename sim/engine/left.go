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
	"github.com/transplant-sim/transplant/sim/probe/inventory"
	"github.com/transplant-sim/transplant/sim/state"
	"github.com/transplant-sim/transplant/sim/timeline"
	"github.com/transplant-sim/transplant/sim/world"
)

// handOvers are looked at while the source still has what it is about to remove.
type handOvers struct{ *scope }

// follow looks into the control-plane namespace of each shoot that its source releases, before the source removes the
// namespace and everything in it. It does so until the returned function is called.
func (o handOvers) follow(ctx context.Context) (stop func()) {
	if o.Unwatched {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var working sync.WaitGroup
	working.Go(func() {
		known := state.New()
		for e := range o.Journal.Follow(ctx) {
			before := known.Shoots[e.Subject]
			known.Take(e)
			now, is := e.Payload.(timeline.ShootSeen)
			if !is {
				continue
			}
			if source := timeline.HandedOver(before, now); source != "" {
				h := handOver{shoot: e.Subject, namespace: now.TechnicalID, source: source}
				working.Go(func() { o.unseen(h.String(), o.observe(ctx, h)) })
			}
		}
	})
	return func() {
		cancel()
		working.Wait()
	}
}

// handOver of a shoot, as its source releases it.
type handOver struct{ shoot, namespace, source string }

// String is what is looked at.
func (h handOver) String() string {
	return fmt.Sprintf("what is left of %s on seed %s", h.shoot, h.source)
}

// observe records what is in the namespace once that has settled, or what was in it last before it went.
func (o handOvers) observe(ctx context.Context, h handOver) error {
	var last *timeline.InventorySeen
	memory, err := settleRule{
		look: func(ctx context.Context, to *timeline.Journal) error {
			seen, err := o.controlPlane(ctx, h)
			if err != nil && last == nil {
				return err
			}
			if last == nil || seen != nil && len(seen.Unreadable) == 0 {
				last = seen
			}
			to.Record(timeline.Event{Actor: world.Observer, Subject: h.source, Payload: *last})
			return nil
		},
		names: lasting, failing: 2 * o.Patience.Finale, changing: o.Patience.Changing,
	}.settled(ctx, o.Clock, o.Patience.Round)
	if last == nil {
		return err
	}
	keep(o.Journal, memory)
	return nil
}

// controlPlane is one look. A namespace that is not there while the shoot is still being restored holds nothing: its
// source keeps it until then. What was in one that has gone, or goes, or is the shoot's again, is not known.
func (o handOvers) controlPlane(ctx context.Context, h handOver) (*timeline.InventorySeen, error) {
	ctx, cancel := context.WithTimeout(ctx, o.Patience.Finale)
	defer cancel()
	config, err := o.World.Connect(h.source)
	if err != nil {
		return nil, fmt.Errorf("connect to seed %q: %w", h.source, err)
	}
	seen, phase, err := inventory.ControlPlane(ctx, config, h.shoot, h.namespace)
	if err != nil {
		return nil, fmt.Errorf("look at %s: %w", h, err)
	}
	late, err := o.late(ctx, h, phase)
	if err != nil {
		return nil, err
	}
	if late {
		seen.Items = []timeline.Item{}
		seen.Unreadable = append(seen.Unreadable, "namespace "+h.namespace+": nobody looked into it in time")
	}
	return &seen, nil
}

// late says whether a namespace in this state may have contained something else when the source released the shoot.
func (o handOvers) late(ctx context.Context, h handOver, phase inventory.Phase) (bool, error) {
	garden, err := o.clients.Cluster(landscape.Garden)
	if err != nil {
		return false, err
	}
	shoot := &gardencorev1beta1.Shoot{}
	if err := garden.Get(ctx, o.World.ShootKey(h.shoot), shoot); err != nil {
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	}
	switch phase {
	case inventory.There:
		return ptr.Deref(shoot.Spec.SeedName, "") == h.source, nil
	case inventory.Gone:
		last := shoot.Status.LastOperation
		isMigrate := last != nil && last.Type == gardencorev1beta1.LastOperationTypeMigrate
		return last == nil || !isMigrate && last.State == gardencorev1beta1.LastOperationStateSucceeded, nil
	}
	return true, nil
}
