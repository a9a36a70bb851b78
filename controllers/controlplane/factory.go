package controlplane

import (
	"context"
	"fmt"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardencorev1beta1 "github.com/transplant-sim/transplant/api/core/v1beta1"
	"github.com/transplant-sim/transplant/controllers/ownership"
)

// Factory makes the Operations of one gardenlet.
type Factory struct {
	Settings
	Clock    clock.Clock
	Boottime ownership.Clock
	// Garden and Seed are uncached clients.
	Garden, Seed client.Client
	Bell         *Bell
	Shoots       ShootClients
	Owners       Authorities
	Bucket       Buckets
	States       States
	// Version is the gardenlet's own.
	Version string

	mu        sync.Mutex
	busy      map[client.ObjectKey]bool
	takeovers map[client.ObjectKey]takeover
}

// takeover is how far a shoot's take-over has come in this process, kept from one run of a flow to the next: who begins
// anew waits anew (docs/ownership.md#o6).
type takeover struct {
	shoot types.UID
	*ownership.Takeover
}

// Operation makes the Operation for one run. The shoot is read anew, uncached: a decision must not rest on a cache.
// A nil Operation without error means that the shoot is gone.
func (f *Factory) Operation(ctx context.Context, log logr.Logger, key client.ObjectKey) (*Operation, error) {
	shoot := &gardencorev1beta1.Shoot{}
	if err := f.Garden.Get(ctx, key, shoot); err != nil {
		if client.IgnoreNotFound(err) == nil {
			f.forget(key)
		}
		return nil, client.IgnoreNotFound(err)
	}
	seed := &gardencorev1beta1.Seed{}
	if err := f.Garden.Get(ctx, client.ObjectKey{Name: f.SeedName}, seed); err != nil {
		return nil, fmt.Errorf("read seed %q: %w", f.SeedName, err)
	}
	o := f.operation(log, shoot, seed)
	o.takeover = f.takeoverOf(shoot)
	return o, nil
}

func (f *Factory) operation(log logr.Logger, shoot *gardencorev1beta1.Shoot, seed *gardencorev1beta1.Seed) *Operation {
	return &Operation{
		Settings: f.Settings, Log: log, Clock: f.Clock, Boottime: f.Boottime, Garden: f.Garden, Seed: f.Seed, Bell: f.Bell,
		Shoots: f.Shoots, Owners: f.Owners, Bucket: f.Bucket, States: f.States, Shoot: shoot, SeedObject: seed,
	}
}

func (f *Factory) takeoverOf(shoot *gardencorev1beta1.Shoot) *ownership.Takeover {
	f.mu.Lock()
	defer f.mu.Unlock()
	key := client.ObjectKeyFromObject(shoot)
	if f.takeovers == nil {
		f.takeovers = map[client.ObjectKey]takeover{}
	}
	if f.takeovers[key].shoot != shoot.UID {
		f.takeovers[key] = takeover{shoot: shoot.UID, Takeover: &ownership.Takeover{}}
	}
	return f.takeovers[key].Takeover
}

func (f *Factory) forget(key client.ObjectKey) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.takeovers, key)
}

// TryLock makes sure that only one flow of this gardenlet works on a shoot, whichever duty it belongs to. It returns
// false if one does already.
func (f *Factory) TryLock(key client.ObjectKey) (unlock func(), ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.busy[key] {
		return nil, false
	}
	if f.busy == nil {
		f.busy = map[client.ObjectKey]bool{}
	}
	f.busy[key] = true
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.busy, key)
	}, true
}
